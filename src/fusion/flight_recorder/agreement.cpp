#include "fusion/flight_recorder/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "fusion/digest/collective_name.h"

namespace accel::fusion {
namespace {

struct Call {
  std::string_view name;
  std::int64_t bytes = kNotRecorded;
  std::int64_t time_ns = kNotRecorded;
  std::int64_t sequence = kNotRecorded;
};

// What is not recorded on one side contradicts nothing.
bool same(const Call& a, const Call& b) {
  if (a.name != b.name && !a.name.empty() && !b.name.empty()) return false;
  return a.bytes == b.bytes || a.bytes == kNotRecorded || b.bytes == kNotRecorded;
}

std::string words(const Call& call) {
  std::string text(call.name.empty() ? "an operation" : call.name);
  return call.bytes == kNotRecorded ? text : text + fmt::format(" of {} bytes", call.bytes);
}

std::vector<Call> calls_of(const RankDigest& digest, std::uint32_t group) {
  std::vector<Call> calls;
  for (const CommunicationEvent& event : digest.events) {
    const std::string_view name = digest.text(event.name);
    if (event.group != group || is_point_to_point(name)) continue;
    calls.push_back({name, event.bytes, event.launch_ns, kNotRecorded});
  }
  return calls;
}

std::vector<Call> calls_of(const FlightRecorderDump& dump, std::uint32_t group) {
  std::vector<Call> calls;
  for (const FlightRecord& record : dump.records) {
    if (record.group != group || record.point_to_point) continue;
    const std::int64_t size = element_bytes(record.dtype);
    const std::int64_t elements = std::max(record.in_elements, record.out_elements);
    std::int64_t bytes = kNotRecorded;
    if (size > 0 && elements >= 0 && __builtin_mul_overflow(elements, size, &bytes)) bytes = kNotRecorded;
    calls.push_back({canonical_collective(record.name), bytes, record.created_ns, record.sequence});
  }
  return calls;
}

// Lays the trace's calls over the dump's: call i of the trace is call i + shift of the dump.
class Overlay {
 public:
  Overlay(const std::vector<Call>& trace, const std::vector<Call>& dump) : trace_(trace), dump_(dump) {}

  struct Place {
    std::int64_t shift = 0;
    std::uint64_t compared = 0;
    std::uint64_t agreeing = 0;
    std::optional<std::size_t> first_difference;  // call of the trace
  };

  Place at(std::int64_t shift) const {
    Place place{shift, 0, 0, std::nullopt};
    const auto begin = static_cast<std::size_t>(std::max<std::int64_t>(0, -shift));
    for (std::size_t i = begin; i < trace_.size(); ++i) {
      const auto row = static_cast<std::size_t>(static_cast<std::int64_t>(i) + shift);
      if (row >= dump_.size()) break;
      ++place.compared;
      if (same(trace_[i], dump_[row])) {
        ++place.agreeing;
      } else if (!place.first_difference) {
        place.first_difference = i;
      }
    }
    return place;
  }

  // The dump notes a call shortly before its kernel is launched.
  std::optional<std::int64_t> by_time() const {
    constexpr std::int64_t kSlack = 50'000;  // ns; two clocks of one host read by two recorders
    const std::int64_t launch = trace_.back().time_ns;
    if (launch == kNotRecorded) return std::nullopt;
    const auto later = std::partition_point(dump_.begin(), dump_.end(),
                                            [&](const Call& call) { return call.time_ns <= launch + kSlack; });
    if (later == dump_.begin()) return std::nullopt;
    // Another recording altogether: the call would lie minutes away.
    constexpr std::int64_t kNear = 60'000'000'000;
    if ((later - 1)->time_ns == kNotRecorded || launch - (later - 1)->time_ns > kNear) return std::nullopt;
    return (later - dump_.begin()) - static_cast<std::int64_t>(trace_.size());
  }

  static bool all_agree(const Place& place) { return place.compared > 0 && place.agreeing == place.compared; }

  // Near `guess` the place where most agrees; the nearest one of equals.
  Place best_near(std::int64_t guess) const {
    constexpr std::int64_t kReach = 16;
    Place best = at(guess);
    for (std::int64_t off = 1; off <= kReach && !all_agree(best); ++off) {
      for (const std::int64_t shift : {guess - off, guess + off}) {
        const Place place = at(shift);
        if (place.agreeing > best.agreeing) best = place;
      }
    }
    return best;
  }

  // Without times: the last place where all agrees, since dumps are written after what was recorded.
  Place best_anywhere() const {
    constexpr std::int64_t kMostPlaces = 4096;
    const auto last = static_cast<std::int64_t>(dump_.size()) - static_cast<std::int64_t>(trace_.size());
    Place best = at(last);
    for (std::int64_t shift = last - 1; shift >= 0 && last - shift < kMostPlaces && best.agreeing < trace_.size();
         --shift) {
      const Place place = at(shift);
      if (place.agreeing > best.agreeing) best = place;
    }
    return best;
  }

 private:
  const std::vector<Call>& trace_;
  const std::vector<Call>& dump_;
};

void say(const std::vector<Call>& trace, const std::vector<Call>& dump, const Overlay::Place& place,
         DumpAgreement& result) {
  const std::string who = fmt::format("rank {}, group {}", result.rank, result.group);
  if (result.in_dump == 0) {
    result.sentence =
        fmt::format("{}: none of the {} collectives of the trace is in the flight recorder's dump", who, result.calls);
    result.sentence_zh = fmt::format("{}：跟踪中的 {} 个集合通信都不在飞行记录器转储中", who, result.calls);
    return;
  }
  std::string range;
  if (result.first_sequence && result.last_sequence)
    range = fmt::format(" (numbers {} to {})", *result.first_sequence, *result.last_sequence);
  if (result.agrees) {
    result.sentence = fmt::format(
        "{}: {} of {} collectives of the trace are in the flight recorder's dump, in the same "
        "order{}",
        who, result.agreeing, result.calls, range);
    result.sentence_zh = fmt::format("{}：跟踪中的 {}/{} 个集合通信与飞行记录器转储数量、顺序一致{}", who,
                                     result.agreeing, result.calls, range);
    return;
  }
  const std::size_t i = *place.first_difference;
  const Call& other = dump[static_cast<std::size_t>(static_cast<std::int64_t>(i) + place.shift)];
  result.sentence = fmt::format(
      "{}: trace and flight recorder disagree from collective {} of the trace on: it has {}, the dump {} (number {}); "
      "{} "
      "of {} agree",
      who, i + 1, words(trace[i]), words(other), other.sequence, result.agreeing, result.in_dump);
  result.sentence_zh =
      fmt::format("{}：从跟踪的第 {} 个集合通信起与飞行记录器不一致：跟踪为 {}，转储为 {}（编号 {}）；{}/{} 一致", who,
                  i + 1, words(trace[i]), words(other), other.sequence, result.agreeing, result.in_dump);
}

DumpAgreement compare(const RankDigest& digest, std::uint32_t group, const FlightRecorderDump& dump,
                      std::uint32_t dump_group) {
  DumpAgreement result;
  result.rank = digest.rank.value_or(-1);
  result.group = digest.groups[group].name;
  const std::vector<Call> trace = calls_of(digest, group);
  const std::vector<Call> kept = calls_of(dump, dump_group);
  result.calls = trace.size();
  const Overlay overlay(trace, kept);
  const auto guess = digest.absolute_time ? overlay.by_time() : std::nullopt;
  Overlay::Place place = guess ? overlay.best_near(*guess) : overlay.best_anywhere();
  result.by_time = guess.has_value();
  result.in_dump = place.compared;
  result.agreeing = place.agreeing;
  result.agrees = place.compared > 0 && place.agreeing == place.compared;
  if (place.compared > 0) {
    const auto first = static_cast<std::size_t>(std::max<std::int64_t>(0, place.shift));
    const auto number = [&](std::size_t row) {
      return kept[row].sequence == kNotRecorded ? std::nullopt : std::optional(kept[row].sequence);
    };
    result.first_sequence = number(first);
    result.last_sequence = number(first + place.compared - 1);
  }
  say(trace, kept, place, result);
  return result;
}

}  // namespace

std::vector<DumpAgreement> compare_with_dumps(std::span<const RankDigest> digests,
                                              std::span<const FlightRecorderDump> dumps) {
  std::vector<DumpAgreement> results;
  for (const RankDigest& digest : digests) {
    const auto dump = std::find_if(dumps.begin(), dumps.end(), [&](const FlightRecorderDump& one) {
      return one.rank && digest.rank && *one.rank == *digest.rank;
    });
    if (dump == dumps.end()) continue;
    for (std::uint32_t group = 0; group < digest.groups.size(); ++group) {
      const auto same_group = [&](const FlightGroup& other) {
        const ProcessGroup& own = digest.groups[group];
        return own.name == other.name && (own.ranks.empty() || other.ranks.empty() || own.ranks == other.ranks);
      };
      const auto found = std::find_if(dump->groups.begin(), dump->groups.end(), same_group);
      const bool any = std::any_of(digest.events.begin(), digest.events.end(), [&](const CommunicationEvent& event) {
        return event.group == group && !is_point_to_point(digest.text(event.name));
      });
      if (found == dump->groups.end() || !any) continue;
      results.push_back(compare(digest, group, *dump, static_cast<std::uint32_t>(found - dump->groups.begin())));
    }
  }
  return results;
}

}  // namespace accel::fusion
