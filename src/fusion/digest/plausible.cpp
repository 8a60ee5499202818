#include "fusion/digest/plausible.h"

#include <algorithm>
#include <cmath>

namespace accel::fusion {
namespace {

constexpr std::int64_t kLongest = std::int64_t{1} << 53;       // ns: 104 days
constexpr std::int64_t kLastTime = 4'000'000'000'000'000'000;  // ns since the epoch: the year 2096
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;     // of one message

bool is_length(std::int64_t ns) { return ns >= -kLongest && ns <= kLongest; }

bool is_plausible(const Segment& segment) {
  const bool lengths = is_length(segment.device_ns) && is_length(segment.compute_ns) && is_length(segment.memory_ns) &&
                       is_length(segment.host_ns) && is_length(segment.waits_ns) && is_length(segment.others_ns) &&
                       std::all_of(segment.idle.begin(), segment.idle.end(), is_length);
  return lengths &&
         std::all_of(segment.kernels.begin(), segment.kernels.end(),
                     [](const KernelShare& share) { return is_length(share.ns); }) &&
         std::all_of(segment.host.begin(), segment.host.end(),
                     [](const HostShare& share) { return is_length(share.ns) && is_length(share.longest_ns); });
}

bool is_plausible(const TimeParts& parts) {
  return is_length(parts.window_ns) && is_length(parts.compute_ns) && is_length(parts.memory_exposed_ns) &&
         is_length(parts.communication_exposed_ns) && is_length(parts.communication_overlapped_ns) &&
         is_length(parts.idle_ns) && std::all_of(parts.idle_causes.begin(), parts.idle_causes.end(), is_length);
}

bool is_plausible(const std::optional<TimeBand>& band) {
  return !band || (std::isfinite(band->expected_ns) && std::isfinite(band->low_ns) && std::isfinite(band->high_ns));
}

}  // namespace

bool is_plausible(const RankDigest& digest) {
  const std::int64_t start = digest.time_range.start_ns;
  if (start < -kLongest || start > kLastTime) return false;
  const auto is_time = [&](std::int64_t time) { return time >= start - kLongest && time <= start + kLongest; };
  const auto is_event = [&](const CommunicationEvent& event) {
    return is_time(event.start_ns) && is_time(event.end_ns) && event.end_ns >= event.start_ns &&
           (event.launch_ns == kNotRecorded || is_time(event.launch_ns)) && event.bytes <= kMostBytes &&
           is_length(event.overlapped_ns);
  };
  const auto is_step = [&](const DigestStep& step) {
    const bool no_device = step.device.start_ns == step.device.end_ns;  // then at no time at all
    return is_time(step.host.start_ns) && is_time(step.host.end_ns) &&
           (no_device || (is_time(step.device.start_ns) && is_time(step.device.end_ns))) &&
           is_length(step.communication_exposed_ns) && is_length(step.host_wait_ns) && is_plausible(step.work);
  };
  const RankTiming& timing = digest.timing;
  const bool finite = std::isfinite(timing.measured_step_ns) && std::isfinite(timing.record_cost_ns) &&
                      std::isfinite(timing.call_cost_ns) && std::isfinite(timing.frame_cost_ns) &&
                      is_plausible(timing.step) && is_plausible(timing.host) && is_plausible(timing.device);
  return finite && is_time(digest.time_range.end_ns) &&
         std::all_of(digest.events.begin(), digest.events.end(), is_event) &&
         std::all_of(digest.steps.begin(), digest.steps.end(), is_step) &&
         std::all_of(digest.segments.begin(), digest.segments.end(),
                     [](const Segment& segment) { return is_plausible(segment); }) &&
         std::all_of(digest.breakdown.begin(), digest.breakdown.end(), [](const DeviceParts& parts) {
           return is_plausible(parts.measured) && is_plausible(parts.undisturbed);
         });
}

}  // namespace accel::fusion
