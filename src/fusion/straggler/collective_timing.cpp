#include "fusion/straggler/collective_timing.h"

#include <algorithm>
#include <limits>

#include "fusion/digest/collective_name.h"
#include "fusion/straggler/statistics.h"

namespace accel::fusion {
namespace {

// Arrivals on a common axis are told apart from this multiple of the clocks' error on.
constexpr double kResolved = 3;

// Median of all values but one, for each of them. Only the two or three in the middle can be it.
std::vector<double> medians_of_others(const std::vector<double>& values) {
  const std::size_t rest = values.size() - 1;
  if (rest == 0) return values;
  std::vector<double> middle = values;
  const auto upper = middle.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(middle.begin(), upper, middle.end());
  const double high = *upper;
  const double low = *std::max_element(middle.begin(), upper);
  std::vector<double> out;
  out.reserve(values.size());
  if (rest % 2 == 1) {  // one of the two in the middle, on the other side of the value that is left out
    for (const double value : values) out.push_back(value <= low ? high : low);
    return out;
  }
  const double next = *std::min_element(upper + 1, middle.end());
  for (const double value : values)
    out.push_back(value < high ? (high + next) / 2 : value > high ? (low + high) / 2 : (low + next) / 2);
  return out;
}

class Timer {
 public:
  Timer(const ClockAlignment& clocks, const MatchedCollective& collective)
      : clocks_(clocks), collective_(collective), members_(collective.members) {}

  CollectiveTiming time() {
    CollectiveTiming timing;
    std::vector<double> lengths;
    std::vector<double> exposed;
    lengths.reserve(members_.size());
    exposed.reserve(members_.size());
    for (const Member& member : members_) {
      lengths.push_back(member.length_ns());
      exposed.push_back(lengths.back() - static_cast<double>(member.overlapped_ns));
    }
    timing.exposed_ns = mean_of(exposed);
    const bool synchronises = is_meeting(collective_);
    read_clocks(timing);
    if (synchronises) {
      read_durations(lengths, timing);
    } else if (timing.by_clock) {
      timing.transfer_ns = lengths[place(timing.last)];
    } else {
      timing.transfer_ns = *std::min_element(lengths.begin(), lengths.end());
    }
    const double factor = bus_factor(collective_.name, members_.size());
    if (synchronises && factor > 0 && collective_.bytes > 0 && timing.transfer_ns > 0)
      timing.busbw_bytes_per_s = static_cast<double>(collective_.bytes) * factor / (timing.transfer_ns / 1e9);
    return timing;
  }

 private:
  std::size_t place(std::uint32_t rank) const {
    return static_cast<std::size_t>(
        std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.rank == rank; }) -
        members_.begin());
  }

  // All ranks of a collective that synchronises end together: the shortest local duration is that of the last arrival.
  void read_durations(const std::vector<double>& lengths, CollectiveTiming& timing) const {
    const auto shortest = std::min_element(lengths.begin(), lengths.end());
    const auto longest = std::max_element(lengths.begin(), lengths.end());
    timing.by_clock = false;
    timing.last = members_[static_cast<std::size_t>(shortest - lengths.begin())].rank;
    timing.first = members_[static_cast<std::size_t>(longest - lengths.begin())].rank;
    timing.arrival_spread_ns = *longest - *shortest;
    timing.transfer_ns = *shortest;
    if (!timing.global_ns) timing.global_ns = *longest;
    double waited = 0;
    for (const double length : lengths) waited += length - *shortest;
    timing.wait_ns = waited / static_cast<double>(std::max<std::size_t>(1, lengths.size() - 1));
    const std::vector<double> others = medians_of_others(lengths);
    timing.lateness_ns.clear();
    for (std::size_t i = 0; i < lengths.size(); ++i) timing.lateness_ns.push_back(others[i] - lengths[i]);
  }

  void read_clocks(CollectiveTiming& timing) const {
    std::uint32_t worst = kNoRow;
    double error = 0;
    for (const Member& member : members_) {
      if (!clocks_.aligned(member.rank)) return;
      const double own = clocks_.hosts[clocks_.host_of_rank[member.rank]].residual_ns();
      if (worst == kNoRow || own > error) {
        error = own;
        worst = member.rank;
      }
    }
    for (const Member& member : members_)
      timing.clock_error_ns = std::max(timing.clock_error_ns, clocks_.error_ns(worst, member.rank));
    std::vector<std::int64_t> starts;
    starts.reserve(members_.size());
    std::int64_t end = std::numeric_limits<std::int64_t>::min();
    std::int64_t first_end = std::numeric_limits<std::int64_t>::max();
    for (const Member& member : members_) {
      starts.push_back(clocks_.common_ns(member.rank, member.start_ns));
      const std::int64_t own_end = clocks_.common_ns(member.rank, member.end_ns);
      end = std::max(end, own_end);
      first_end = std::min(first_end, own_end);
    }
    timing.end_spread_ns = static_cast<double>(end) - static_cast<double>(first_end);
    const auto first = std::min_element(starts.begin(), starts.end());
    const auto last = std::max_element(starts.begin(), starts.end());
    timing.global_ns = static_cast<double>(end - *first);
    timing.arrival_spread_ns = static_cast<double>(*last - *first);
    std::int64_t before = *first;  // the last but one
    for (auto at = starts.begin(); at != starts.end(); ++at)
      if (at != last) before = std::max(before, *at);
    const auto lead = static_cast<double>(*last - before);
    if (lead < kResolved * timing.clock_error_ns) return;
    timing.by_clock = true;
    timing.first = members_[static_cast<std::size_t>(first - starts.begin())].rank;
    timing.last = members_[static_cast<std::size_t>(last - starts.begin())].rank;
    timing.last_by_clock = timing.last;
  }

  const ClockAlignment& clocks_;
  const MatchedCollective& collective_;
  const std::vector<Member>& members_;
};

}  // namespace

std::vector<CollectiveTiming> time_collectives(const CollectiveMatching& matching, const ClockAlignment& clocks) {
  std::vector<CollectiveTiming> timings;
  timings.reserve(matching.collectives.size());
  for (const MatchedCollective& collective : matching.collectives) timings.push_back(Timer(clocks, collective).time());
  return timings;
}

}  // namespace accel::fusion
