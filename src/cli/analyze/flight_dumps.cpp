#include "cli/analyze/flight_dumps.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "fusion/flight_recorder/agreement.h"
#include "report/plain_text.h"

namespace accel::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* word(fusion::GroupState state) {
  switch (state) {
    case fusion::GroupState::complete:
      return "complete";
    case fusion::GroupState::behind:
      return "behind";
    case fusion::GroupState::in_progress:
      return "in_progress";
    case fusion::GroupState::mismatch:
      break;
  }
  return "mismatch";
}

Json number(const std::optional<std::int64_t>& value) { return value ? Json(*value) : Json(); }

Json group_json(const fusion::GroupProgress& group) {
  Json progress = Json::array();
  for (const fusion::RankProgress& rank : group.progress) {
    progress.push_back({{"rank", number(rank.rank)},
                        {"file", rank.source},
                        {"collectives", rank.calls},
                        {"first_seq", number(rank.first_sequence)},
                        {"last_seq", number(rank.last_issued)},
                        {"first_pending_seq", number(rank.first_pending)},
                        {"pending", rank.pending}});
  }
  return {{"name", group.name},
          {"description", group.description},
          {"ranks", group.ranks},
          {"ranks_without_dump", group.ranks_without_dump},
          {"state", word(group.state)},
          {"seq", number(group.sequence)},
          {"collective", group.collective},
          {"called_at", group.frame},
          {"culprits", group.culprits},
          {"sentence", group.sentence},
          {"progress", progress}};
}

}  // namespace

bool FlightDumps::take(const std::string& path) {
  if (path == "-") return false;  // read once already
  auto dump = read_flight_recorder(path);
  if (!dump) return false;
  dumps_.push_back(std::move(*dump));
  return true;
}

std::vector<fusion::FlightReport> FlightDumps::reports() const {
  std::vector<fusion::FlightReport> reports;
  for (const std::vector<std::size_t>& job : fusion::jobs_of_dumps(dumps_)) {
    std::vector<FlightRecorderDump> dumps;
    dumps.reserve(job.size());
    for (const std::size_t i : job) dumps.push_back(dumps_[i]);
    reports.push_back(fusion::compare_dumps(dumps));
  }
  return reports;
}

std::string FlightDumps::text(bool chinese) const {
  std::string text;
  for (const fusion::FlightReport& report : reports()) text += fusion::flight_text(report, chinese);
  return text;
}

std::string FlightDumps::agreement(std::span<const fusion::RankDigest> ranks, bool chinese) const {
  std::string text;
  for (const fusion::DumpAgreement& one : fusion::compare_with_dumps(ranks, dumps_))
    text += report::visible_text(chinese ? one.sentence_zh : one.sentence) + "\n";
  return text;
}

std::string FlightDumps::json() const {
  Json jobs = Json::array();
  for (const fusion::FlightReport& report : reports()) {
    Json groups = Json::array();
    for (const fusion::GroupProgress& group : report.groups) groups.push_back(group_json(group));
    Json transfers = Json::array();
    for (const fusion::PendingTransfer& transfer : report.transfers) {
      transfers.push_back({{"rank", number(transfer.rank)},
                           {"peer", transfer.peer},
                           {"send", transfer.send},
                           {"peer_waits_too", transfer.peer_waits_too},
                           {"sentence", transfer.sentence}});
    }
    jobs.push_back(
        {{"files", report.sources}, {"groups", groups}, {"transfers", transfers}, {"remarks", report.remarks}});
  }
  return Json({{"jobs", jobs}}).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace accel::cli
