#include "fusion/flight_recorder/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fusion/flight_recorder/words.h"

namespace accel::fusion {
namespace {

// One rank's collectives in one group.
struct Track {
  const FlightRecorderDump* dump = nullptr;
  std::uint32_t group = 0;
  std::map<std::int64_t, const FlightRecord*> by_sequence;
  std::int64_t last_issued = -1;

  const FlightRecord* at(std::int64_t sequence) const {
    const auto found = by_sequence.find(sequence);
    return found == by_sequence.end() ? nullptr : found->second;
  }
};

// What every rank must give alike. Sizes may differ by rank in what splits unevenly.
std::string signature(const FlightRecord& record) {
  const bool uneven = record.name.find("all_to_all") != std::string::npos ||
                      record.name.find("alltoall") != std::string::npos || record.name.ends_with("_v") ||
                      record.name == "gather" || record.name == "scatter" ||
                      record.name.find("coalesced") != std::string::npos;
  return uneven ? record.name : call_words(record);
}

Track track_of(const FlightRecorderDump& dump, std::uint32_t group) {
  Track track{&dump, group, {}, -1};
  for (const FlightRecord& record : dump.records) {
    if (record.group != group || record.point_to_point || record.sequence == kNotRecorded) continue;
    track.by_sequence.try_emplace(record.sequence, &record);
  }
  if (!track.by_sequence.empty()) track.last_issued = track.by_sequence.rbegin()->first;
  if (dump.groups[group].last_enqueued != kNotRecorded)
    track.last_issued = std::max(track.last_issued, dump.groups[group].last_enqueued);
  return track;
}

RankProgress progress_of(const Track& track) {
  RankProgress progress;
  progress.rank = track.dump->rank;
  progress.source = track.dump->source;
  progress.calls = track.by_sequence.size();
  if (!track.by_sequence.empty()) progress.first_sequence = track.by_sequence.begin()->first;
  if (track.last_issued >= 0) progress.last_issued = track.last_issued;
  for (const auto& [sequence, record] : track.by_sequence) {
    if (record->state == FlightState::completed || record->state == FlightState::unknown || record->retired) continue;
    if (!progress.first_pending) {
      progress.first_pending = sequence;
      progress.pending_state = record->state;
    }
    ++progress.pending;
  }
  return progress;
}

class Group {
 public:
  Group(GroupProgress& result, std::vector<Track> tracks) : result_(result), tracks_(std::move(tracks)) {}

  void compare() {
    std::set<std::int64_t> with_dump;
    for (const Track& track : tracks_) {
      result_.progress.push_back(progress_of(track));
      if (track.dump->rank) with_dump.insert(*track.dump->rank);
    }
    std::set_difference(result_.ranks.begin(), result_.ranks.end(), with_dump.begin(), with_dump.end(),
                        std::back_inserter(result_.ranks_without_dump));
    if (!mismatch()) stuck();
    say(result_);
  }

 private:
  bool mismatch();
  void stuck();
  void blame(const std::vector<std::size_t>& tracks);

  GroupProgress& result_;
  std::vector<Track> tracks_;
};

void Group::blame(const std::vector<std::size_t>& tracks) {
  for (const std::size_t i : tracks) {
    if (tracks_[i].dump->rank) result_.culprits.push_back(*tracks_[i].dump->rank);
  }
  std::sort(result_.culprits.begin(), result_.culprits.end());
}

// The first number under which two ranks hold different calls.
bool Group::mismatch() {
  std::map<std::int64_t, std::pair<std::string, bool>> seen;
  for (const Track& track : tracks_) {
    for (const auto& [sequence, record] : track.by_sequence) {
      const auto [at, is_new] = seen.try_emplace(sequence, signature(*record), true);
      if (!is_new && at->second.first != signature(*record)) at->second.second = false;
    }
  }
  const auto first = std::find_if(seen.begin(), seen.end(), [](const auto& entry) { return !entry.second.second; });
  if (first == seen.end()) return false;
  std::map<std::string, std::vector<std::size_t>> by_call;
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    if (const FlightRecord* record = tracks_[i].at(first->first)) by_call[signature(*record)].push_back(i);
  }
  result_.state = GroupState::mismatch;
  result_.sequence = first->first;
  const auto most = std::max_element(by_call.begin(), by_call.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  const bool tie = std::count_if(by_call.begin(), by_call.end(),
                                 [&](const auto& entry) { return entry.second.size() == most->second.size(); }) > 1;
  std::string calls;
  for (const auto& [call, tracks] : by_call) {
    std::vector<std::int64_t> ranks;
    for (const std::size_t i : tracks) {
      if (tracks_[i].dump->rank) ranks.push_back(*tracks_[i].dump->rank);
    }
    std::sort(ranks.begin(), ranks.end());
    calls += fmt::format("{}{}: {}", calls.empty() ? "" : "; ", ranks.empty() ? "?" : rank_list(ranks), call);
    // With as many on either side nobody can say who is right.
    if (!tie && call != most->first) {
      blame(tracks);
      result_.frame = tracks_[tracks.front()].at(first->first)->frame;
    }
  }
  result_.collective = calls;
  return true;
}

// The first collective that is not completed, and who has not come to it.
void Group::stuck() {
  std::optional<std::int64_t> sequence;
  for (const RankProgress& progress : result_.progress) {
    if (progress.first_pending && (!sequence || *progress.first_pending < *sequence)) sequence = progress.first_pending;
  }
  if (!sequence) return;
  result_.sequence = sequence;
  std::vector<std::size_t> behind;
  std::vector<std::size_t> not_started;
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    const FlightRecord* record = tracks_[i].at(*sequence);
    if (record != nullptr && record->state != FlightState::completed) {
      if (result_.collective.empty()) result_.collective = call_words(*record);
      if (result_.frame.empty()) result_.frame = record->frame;
      if (record->state == FlightState::scheduled) not_started.push_back(i);
    } else if (record == nullptr && tracks_[i].last_issued < *sequence) {
      behind.push_back(i);
    }
  }
  result_.state = behind.empty() ? GroupState::in_progress : GroupState::behind;
  if (!behind.empty()) {
    blame(behind);
  } else if (not_started.size() < tracks_.size()) {
    // Where nothing notes the start every rank says "scheduled", which then tells nobody apart.
    blame(not_started);
  }
}

struct Key {
  std::string name;
  std::vector<std::int64_t> ranks;
  auto operator<=>(const Key&) const = default;
};

std::optional<std::int64_t> global_rank(const FlightGroup& group, std::int64_t local) {
  if (local < 0) return std::nullopt;
  if (static_cast<std::size_t>(local) >= group.ranks.size()) return std::nullopt;
  return group.ranks[static_cast<std::size_t>(local)];
}

bool pending(const FlightRecord& record) {
  return !record.retired && (record.state == FlightState::scheduled || record.state == FlightState::started);
}

void compare_transfers(std::span<const FlightRecorderDump> dumps, FlightReport& report) {
  using Half = std::pair<std::int64_t, std::int64_t>;  // from, to, global
  std::map<std::int64_t, std::set<std::pair<Half, bool>>> halves;
  std::set<std::int64_t> with_dump;
  const auto half_of = [](const FlightRecorderDump& dump, const FlightRecord& record) -> std::optional<Half> {
    const auto from = global_rank(dump.groups[record.group], record.source);
    const auto to = global_rank(dump.groups[record.group], record.destination);
    return from && to ? std::optional(Half(*from, *to)) : std::nullopt;
  };
  for (const FlightRecorderDump& dump : dumps) {
    if (!dump.rank) continue;
    with_dump.insert(*dump.rank);
    for (const FlightRecord& record : dump.records) {
      if (!record.point_to_point || !pending(record)) continue;
      if (const auto half = half_of(dump, record)) halves[*dump.rank].insert({*half, record.name == "send"});
    }
  }
  for (const auto& [rank, list] : halves) {
    for (const auto& [half, send] : list) {
      PendingTransfer transfer;
      transfer.rank = rank;
      transfer.send = send;
      transfer.peer = send ? half.second : half.first;
      transfer.peer_has_dump = with_dump.contains(transfer.peer);
      const auto peer = halves.find(transfer.peer);
      transfer.peer_waits_too = peer != halves.end() && peer->second.contains({half, !send});
      say(transfer);
      report.transfers.push_back(std::move(transfer));
    }
  }
}

void remark(const FlightRecorderDump& dump, std::set<std::int64_t>& seen, FlightReport& report) {
  const auto add = [&](std::string english, std::string chinese) {
    report.remarks.push_back(dump.source + ": " + std::move(english));
    report.remarks_zh.push_back(dump.source + "：" + std::move(chinese));
  };
  if (dump.cut) add("the file ends early; what came before the cut was used", "文件不完整；只使用了截断之前的内容");
  if (dump.unreadable_records > 0)
    add(fmt::format("{} records could not be read", dump.unreadable_records),
        fmt::format("{} 条记录无法读取", dump.unreadable_records));
  if (!dump.rank) {
    add("the file's name does not tell its rank, and a dump does not state it", "文件名与内容都未给出 rank");
  } else if (!seen.insert(*dump.rank).second) {
    add(fmt::format("a second dump of rank {}; the first one is used", *dump.rank),
        fmt::format("rank {} 的第二份转储；使用第一份", *dump.rank));
  }
  if (std::any_of(dump.records.begin(), dump.records.end(), [](const auto& record) { return record.duration_ms; }))
    add("TORCH_NCCL_ENABLE_TIMING was on, which takes overlap from the job: it ran slower than it does without",
        "TORCH_NCCL_ENABLE_TIMING 处于开启状态，会减少通信与计算的重叠，作业比平时更慢");
}

}  // namespace

std::vector<std::vector<std::size_t>> jobs_of_dumps(std::span<const FlightRecorderDump> dumps) {
  std::set<std::int64_t> ranks;
  bool twice = false;
  for (const FlightRecorderDump& dump : dumps) twice = twice || (dump.rank && !ranks.insert(*dump.rank).second);
  std::map<std::string, std::vector<std::size_t>> by_stem;
  for (std::size_t i = 0; i < dumps.size(); ++i) {
    const std::string& path = dumps[i].source;
    const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
    const std::size_t end = std::min(path.find("rank", name), path.find('.', name));
    by_stem[twice ? path.substr(0, end) : std::string()].push_back(i);
  }
  std::vector<std::vector<std::size_t>> jobs;
  jobs.reserve(by_stem.size());
  for (auto& [stem, members] : by_stem) jobs.push_back(std::move(members));
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

FlightReport compare_dumps(std::span<const FlightRecorderDump> dumps) {
  FlightReport report;
  report.sources.reserve(dumps.size());
  for (const FlightRecorderDump& dump : dumps) report.sources.push_back(dump.source);
  std::map<Key, std::vector<Track>> groups;
  std::map<Key, std::string> descriptions;
  std::set<std::int64_t> seen;
  for (const FlightRecorderDump& dump : dumps) {
    const std::size_t ranks = seen.size();
    remark(dump, seen, report);
    if (dump.rank && seen.size() == ranks) continue;
    for (std::uint32_t group = 0; group < dump.groups.size(); ++group) {
      const FlightGroup& said = dump.groups[group];
      const Key key{said.name, said.ranks};
      groups[key].push_back(track_of(dump, group));
      if (descriptions[key].empty()) descriptions[key] = said.description;
    }
  }
  for (auto& [key, tracks] : groups) {
    GroupProgress group;
    group.name = key.name;
    group.description = descriptions[key];
    group.ranks = key.ranks;
    std::stable_sort(tracks.begin(), tracks.end(),
                     [](const Track& a, const Track& b) { return a.dump->rank < b.dump->rank; });
    Group(group, std::move(tracks)).compare();
    report.groups.push_back(std::move(group));
  }
  compare_transfers(dumps, report);
  return report;
}

}  // namespace accel::fusion
