// Whether a rank's trace and its dump of the flight recorder tell of the same collectives: count and order per process
// group. The two were recorded apart, so an agreement vouches for both, and gives the trace's collectives the sequence
// numbers that it lacks. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fusion/digest/digest.h"
#include "ingest/flight_recorder.h"

namespace accel::fusion {

struct DumpAgreement {
  std::int64_t rank = 0;
  std::string group;
  std::uint64_t calls = 0;                     // collectives of the group in the trace
  std::uint64_t in_dump = 0;                   // of them within what the dump's ring buffer still holds
  std::uint64_t agreeing = 0;                  // with name and size
  std::optional<std::int64_t> first_sequence;  // of those in the dump
  std::optional<std::int64_t> last_sequence;
  bool agrees = false;   // all that can be compared
  bool by_time = false;  // the place was found by the time of the calls; else by order alone
  std::string sentence;
  std::string sentence_zh;
};

// Of every digest that has a dump of its rank, by rank and group.
std::vector<DumpAgreement> compare_with_dumps(std::span<const RankDigest> digests,
                                              std::span<const FlightRecorderDump> dumps);

}  // namespace accel::fusion
