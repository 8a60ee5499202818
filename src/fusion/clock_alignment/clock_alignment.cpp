#include "fusion/clock_alignment/clock_alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <utility>

#include "fusion/clock_alignment/weighted_fit.h"
#include "fusion/digest/collective_name.h"

namespace accel::fusion {
namespace {

// An end is expected to be off by this, plus a share of the transfer: ends of small collectives agree within 0.5 us,
// ends of large ones within a few percent of their transfer.
constexpr double kEndSigmaNs = 500;
constexpr double kEndShare = 0.03;
// Collectives whose transfer is within this of the smallest are enough to align by, if there are so many of them.
constexpr double kSmallFactor = 4;
constexpr double kSmallNs = 30'000;
constexpr std::size_t kEnoughSmall = 3;
constexpr std::size_t kEnoughForDrift = 4;
constexpr double kLargestBias = 0.17;  // of the transfer: the largest measured
constexpr double kDriftSigmas = 3;     // a slope below this many of its own errors is none
constexpr int kSweeps = 3;
constexpr std::size_t kMostAnchors = 4000;  // of one pair of clocks

// One collective as the clocks see it.
struct Anchor {
  double transfer_ns = 0;  // shortest local duration: that of the last arriver
  double bias_ns = 0;      // transfer, or the arrival spread where that is less
  // Sums over the hosts that are placed, so that what all others say is known without asking each of them.
  std::int64_t base_ns = 0;
  double above_ns = 0;  // of the ends on the common axis, above base_ns
  double last_share = 0;
  std::int64_t count = 0;
};

// A host's end of one anchor. Those of one host stand beside each other: a clock is fitted to them again and again.
struct End {
  std::uint32_t anchor = 0;
  bool counted = false;     // in the sums of its anchor, with above_ns
  std::int64_t end_ns = 0;  // mean over the host's ranks
  double last_share = 0;    // 1/n where one of its n ranks arrived last
  double above_ns = 0;
};

// Ends of one host's ranks in one collective.
struct HostEnds {
  std::int64_t first_ns = 0;
  double above_ns = 0;
  double count = 0;
};

// Clocks that contradict themselves may be fitted to anything: differences of such times must still be numbers.
std::int64_t on_axis(const HostClock& clock, std::int64_t time_ns) {
  constexpr std::int64_t kLast = (std::int64_t{1} << 62) - 1;
  constexpr double kMostFine = 1e18;
  const double fine = clock.shift_ns + clock.drift * static_cast<double>(time_ns - clock.origin_ns);
  const std::int64_t coarse = std::clamp(time_ns + clock.coarse_ns, -kLast, kLast);
  const std::int64_t rest = std::llround(std::clamp(fine, -kMostFine, kMostFine));
  return std::clamp(coarse + rest, -kLast, kLast);
}

class Aligner {
 public:
  Aligner(const RankSet& set, const CollectiveMatching& matching) : set_(set), matching_(matching) {}

  ClockAlignment align() {
    find_hosts();
    collect_anchors();
    place_all();
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (std::uint32_t host = 0; host < out_.hosts.size(); ++host)
        if (out_.hosts[host].aligned && host != reference_) fit(host);
    }
    check_causality();
    return std::move(out_);
  }

 private:
  void find_hosts() {
    std::map<std::string, std::uint32_t> by_name;
    for (std::uint32_t r = 0; r < set_.ranks.size(); ++r) {
      const RankDigest& digest = set_.ranks[r];
      const std::string name = digest.host.empty() ? fmt::format("rank {}", set_.rank_of(r)) : digest.host;
      const auto [at, is_new] = by_name.try_emplace(name, static_cast<std::uint32_t>(out_.hosts.size()));
      if (is_new) {
        HostClock clock;
        clock.host = name;
        clock.host_known = !digest.host.empty();
        clock.origin_ns = digest.time_range.start_ns;
        clock.method = "no collective in common with the others";
        out_.hosts.push_back(std::move(clock));
      }
      out_.hosts[at->second].ranks.push_back(r);
      out_.host_of_rank.push_back(at->second);
    }
  }

  void collect_anchors() {
    ends_.resize(out_.hosts.size());
    of_host_.resize(out_.hosts.size());
    for (const MatchedCollective& collective : matching_.collectives) {
      if (is_one_sided(collective.name) || !collective.complete) continue;
      double shortest = std::numeric_limits<double>::max();
      double longest = 0;
      std::uint32_t last = 0;
      for (const Member& member : collective.members) {
        const double length = member.length_ns();
        longest = std::max(longest, length);
        if (length >= shortest) continue;
        shortest = length;
        last = out_.host_of_rank[member.rank];
      }
      if (!add_ends(collective, last)) continue;
      anchors_.push_back({shortest, std::min(shortest, longest - shortest)});
    }
  }

  // Mean ends of the hosts that take part, of the anchor that comes next. False: there is only one. `last`: where the
  // last rank arrived.
  bool add_ends(const MatchedCollective& collective, std::uint32_t last) {
    taking_part_.clear();
    for (const Member& member : collective.members) {
      const std::uint32_t at = out_.host_of_rank[member.rank];
      HostEnds& host = ends_[at];
      if (host.count == 0) {
        host.first_ns = member.end_ns;
        taking_part_.push_back(at);
      }
      host.above_ns += static_cast<double>(member.end_ns - host.first_ns);
      ++host.count;
    }
    const bool several = taking_part_.size() > 1;
    for (const std::uint32_t at : taking_part_) {
      HostEnds& host = ends_[at];
      if (several) {
        of_host_[at].push_back({static_cast<std::uint32_t>(anchors_.size()), false,
                                host.first_ns + std::llround(host.above_ns / host.count),
                                at == last ? 1.0 / host.count : 0.0});
      }
      host = {};
    }
    if (several) hosts_of_.push_back(taking_part_);
    return several;
  }

  // Hosts one after the other, each against those that are placed: the one that shares most with them first, of equal
  // ones the first.
  void place_all() {
    std::vector<std::size_t> shared(out_.hosts.size(), 0);
    std::vector<bool> seen(anchors_.size(), false);
    std::priority_queue<std::pair<std::size_t, std::int64_t>> waiting;  // shared, minus the host; counts may be old
    std::vector<std::uint32_t> changed;
    std::vector<bool> is_changed(out_.hosts.size(), false);
    reference_ = 0;
    std::uint32_t next = reference_;
    out_.hosts[next].method = "reference: its clock is the common one";
    while (true) {
      out_.hosts[next].aligned = true;
      for (const End& end : of_host_[next]) {
        if (seen[end.anchor]) continue;
        seen[end.anchor] = true;
        for (const std::uint32_t host : hosts_of_[end.anchor]) {
          ++shared[host];
          if (!is_changed[host]) changed.push_back(host);
          is_changed[host] = true;
        }
      }
      for (const std::uint32_t host : changed) {
        if (!out_.hosts[host].aligned) waiting.emplace(shared[host], -std::int64_t{host});
        is_changed[host] = false;
      }
      changed.clear();
      if (next == reference_) {
        count_ends(next);
      } else {
        fit(next);
      }
      while (!waiting.empty() && out_.hosts[static_cast<std::size_t>(-waiting.top().second)].aligned) waiting.pop();
      if (waiting.empty()) return;
      next = static_cast<std::uint32_t>(-waiting.top().second);
    }
  }

  // The ends of a host as its clock is placed now.
  void count_ends(std::uint32_t host) {
    for (End& end : of_host_[host]) {
      Anchor& anchor = anchors_[end.anchor];
      const std::int64_t time = common(host, end.end_ns);
      if (anchor.count == 0) anchor.base_ns = time;
      if (end.counted) {
        anchor.above_ns -= end.above_ns;
      } else {
        end.counted = true;
        anchor.last_share += end.last_share;
        ++anchor.count;
      }
      end.above_ns = static_cast<double>(time - anchor.base_ns);
      anchor.above_ns += end.above_ns;
    }
  }

  // Where the others say that an anchor ended, and how far their last arriver biases that.
  struct Target {
    std::int64_t time_ns = 0;
    double bias_ns = 0;
    bool found = false;
  };
  static Target target(const Anchor& anchor, const End& except) {
    Target out;
    const std::int64_t count = anchor.count - (except.counted ? 1 : 0);
    if (count == 0) return out;
    const double above = anchor.above_ns - (except.counted ? except.above_ns : 0);
    const double share = anchor.last_share - (except.counted ? except.last_share : 0);
    out.time_ns = anchor.base_ns + std::llround(above / static_cast<double>(count));
    out.bias_ns = anchor.bias_ns * share / static_cast<double>(count);
    out.found = true;
    return out;
  }

  struct Sample {
    std::int64_t own_ns;
    std::int64_t difference_ns;  // the others' time less its own
    double bias_ns;
    double transfer_ns;
  };

  // The small collectives where there are enough of them: their ends say most.
  static void keep_small(std::vector<Sample>& samples) {
    std::stable_sort(samples.begin(), samples.end(),
                     [](const Sample& a, const Sample& b) { return a.transfer_ns < b.transfer_ns; });
    const double limit = std::max(kSmallFactor * samples.front().transfer_ns, kSmallNs);
    const auto small = static_cast<std::size_t>(
        std::partition_point(samples.begin(), samples.end(), [&](const Sample& s) { return s.transfer_ns <= limit; }) -
        samples.begin());
    if (small >= kEnoughSmall) samples.resize(small);
    if (samples.size() > kMostAnchors) samples.resize(kMostAnchors);
  }

  void fit(std::uint32_t host) {
    HostClock& clock = out_.hosts[host];
    std::vector<Sample> samples;
    samples.reserve(of_host_[host].size());
    for (const End& own : of_host_[host]) {
      const Anchor& anchor = anchors_[own.anchor];
      const Target other = target(anchor, own);
      if (!other.found) continue;
      samples.push_back({own.end_ns, other.time_ns - own.end_ns, other.bias_ns - anchor.bias_ns * own.last_share,
                         anchor.transfer_ns});
    }
    if (samples.empty()) return;
    keep_small(samples);
    const auto [first, last] = std::minmax_element(
        samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.own_ns < b.own_ns; });
    const std::int64_t middle = first->own_ns + (last->own_ns - first->own_ns) / 2;
    const double half_s = static_cast<double>(last->own_ns - first->own_ns) / 2e9;
    const std::int64_t coarse = samples[samples.size() / 2].difference_ns;
    std::vector<FitPoint> points;
    points.reserve(samples.size());
    for (const Sample& sample : samples) {
      points.push_back({static_cast<double>(sample.own_ns - middle) / 1e9, sample.bias_ns,
                        static_cast<double>(sample.difference_ns - coarse),
                        kEndSigmaNs + kEndShare * sample.transfer_ns});
    }
    Fit best = fit_clock(points, false);
    double open = 0;  // drift that the points cannot show
    if (points.size() >= kEnoughForDrift) {
      const Fit sloped = fit_clock(points, true);
      open = sloped.slope_error * half_s;
      if (std::abs(sloped.slope) > kDriftSigmas * sloped.slope_error) best = sloped;
    }
    clock.origin_ns = middle;
    clock.coarse_ns = coarse;
    clock.shift_ns = best.offset;
    clock.drift = best.slope / 1e9;
    clock.spread_ns = best.spread;
    // How a late arrival biases an end is known for some libraries and paths only: what a one-sided bias could hide
    // stays in the error, whatever the fit makes of it.
    double one_sided = 0;
    for (const FitPoint& point : points) one_sided += point.bias / static_cast<double>(points.size());
    clock.systematic_ns = 2 * best.offset_error + open + kLargestBias * std::abs(one_sided);
    clock.anchors = points.size();
    clock.method = fmt::format("ends of {} collective{}", points.size(), points.size() == 1 ? "" : "s");
    count_ends(host);
  }

  std::int64_t common(std::uint32_t host, std::int64_t time_ns) const { return on_axis(out_.hosts[host], time_ns); }

  void check_causality() {
    for (const MatchedCollective& collective : matching_.collectives) {
      if (is_one_sided(collective.name)) continue;
      std::optional<std::int64_t> first_end;
      std::optional<std::int64_t> last_start;
      std::uint32_t ender = 0;
      std::uint32_t starter = 0;
      for (const Member& member : collective.members) {
        if (!out_.aligned(member.rank)) continue;
        const std::int64_t start = out_.common_ns(member.rank, member.start_ns);
        const std::int64_t end = out_.common_ns(member.rank, member.end_ns);
        if (!first_end || end < *first_end) {
          first_end = end;
          ender = member.rank;
        }
        if (!last_start || start > *last_start) {
          last_start = start;
          starter = member.rank;
        }
      }
      if (!first_end || !last_start) continue;
      ++out_.causality_checked;
      const auto early = static_cast<double>(*last_start - *first_end);
      out_.causality_worst_ns = std::max(out_.causality_worst_ns, early);
      if (early > 3 * out_.error_ns(ender, starter) + kEndSigmaNs) ++out_.causality_violated;
    }
  }

  const RankSet& set_;
  const CollectiveMatching& matching_;
  ClockAlignment out_;
  std::vector<Anchor> anchors_;
  std::vector<std::vector<std::uint32_t>> hosts_of_;  // by anchor: which take part
  std::vector<std::vector<End>> of_host_;             // by host, in the order of anchors
  std::vector<HostEnds> ends_;                        // by host: of the collective at work
  std::vector<std::uint32_t> taking_part_;
  std::uint32_t reference_ = 0;
};

}  // namespace

std::int64_t ClockAlignment::common_ns(std::uint32_t rank, std::int64_t time_ns) const {
  return on_axis(hosts[host_of_rank[rank]], time_ns);
}

double ClockAlignment::error_ns(std::uint32_t a, std::uint32_t b) const {
  const std::uint32_t first = host_of_rank[a];
  const std::uint32_t second = host_of_rank[b];
  return first == second ? 0 : hosts[first].residual_ns() + hosts[second].residual_ns();
}

double ClockAlignment::worst_residual_ns() const {
  double worst = 0;
  for (const HostClock& clock : hosts)
    if (clock.aligned) worst = std::max(worst, clock.residual_ns());
  return worst;
}

ClockAlignment align_clocks(const RankSet& set, const CollectiveMatching& matching) {
  if (set.ranks.empty()) return {};
  return Aligner(set, matching).align();
}

}  // namespace accel::fusion
