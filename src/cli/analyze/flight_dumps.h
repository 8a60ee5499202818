// Dumps of the flight recorder among the files that a command was given: kept aside, compared with each other and with
// the traces at the end. One thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fusion/digest/digest.h"
#include "fusion/flight_recorder/progress.h"
#include "ingest/flight_recorder.h"

namespace accel::cli {

class FlightDumps {
 public:
  // Whether `path` is such a dump; it is then kept.
  bool take(const std::string& path);
  bool empty() const { return dumps_.empty(); }
  const std::vector<FlightRecorderDump>& dumps() const { return dumps_; }
  std::string text(bool chinese) const;
  // Whether the traces of the same ranks tell of the same collectives: a line for each rank and group.
  std::string agreement(std::span<const fusion::RankDigest> ranks, bool chinese) const;
  std::string json() const;

 private:
  std::vector<fusion::FlightReport> reports() const;  // one for each job

  std::vector<FlightRecorderDump> dumps_;
};

}  // namespace accel::cli
