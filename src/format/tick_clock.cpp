#include "format/tick_clock.h"

#include <algorithm>
#include <limits>

namespace accel::format {
namespace {

__extension__ using Wide = __int128;
constexpr std::uint64_t kGiga = 1'000'000'000;

// Two pairs nearer than this say little about the speed of the clock.
constexpr std::int64_t kShortestBaseNs = 5'000'000;

// Damaged or foreign numbers must not overflow; sane ones never come near the ends.
std::int64_t clamped(Wide value) {
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(value, -kMost, kMost));
}

std::int64_t difference(std::int64_t a, std::int64_t b) { return clamped(Wide{a} - Wide{b}); }

}  // namespace

TickClock::TickClock(std::vector<Pair> pairs, std::uint64_t tick_hz) : tick_hz_(tick_hz == 0 ? kGiga : tick_hz) {
  if (pairs.empty()) return;
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.ticks < b.ticks; });
  std::vector<std::int64_t> offsets;
  for (const Pair& pair : pairs) offsets.push_back(difference(pair.realtime_ns, pair.monotonic_ns));
  std::sort(offsets.begin(), offsets.end());
  offset_ns_ = offsets[offsets.size() / 2];
  shift_ns_ = difference(offsets.back(), offsets.front());
  for (const Pair& pair : pairs) {
    // A pair that is too near or goes backwards in time (a suspended machine, a moved process) bends nothing.
    if (!pairs_.empty() && (difference(pair.monotonic_ns, pairs_.back().monotonic_ns) < kShortestBaseNs ||
                            pair.ticks == pairs_.back().ticks))
      continue;
    pairs_.push_back(pair);
  }
}

std::int64_t TickClock::to_ns(std::uint64_t ticks) const {
  if (pairs_.empty()) return clamped(Wide{ticks} * kGiga / tick_hz_);
  Wide ns_per = kGiga;
  Wide ticks_per = tick_hz_;
  auto base = pairs_.begin();
  if (pairs_.size() > 1) {
    auto next = std::upper_bound(pairs_.begin(), pairs_.end(), ticks,
                                 [](std::uint64_t t, const Pair& pair) { return t < pair.ticks; });
    next = std::clamp(next, pairs_.begin() + 1, pairs_.end() - 1);
    base = next - 1;
    ns_per = difference(next->monotonic_ns, base->monotonic_ns);
    ticks_per = Wide{next->ticks} - base->ticks;
  }
  // Below 2^64 ticks times below 2^63 ns: the product fits 128 bits with its sign.
  const std::int64_t since = clamped((Wide{ticks} - base->ticks) * ns_per / ticks_per);
  return clamped(Wide{base->monotonic_ns} + offset_ns_ + since);
}

}  // namespace accel::format
