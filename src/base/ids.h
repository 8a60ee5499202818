// Typed indices: a row of one table cannot be used as a row of another. Plain 32- or 16-bit values, free to copy.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace accel {

template <typename Tag, typename Rep>
struct Id {
  static constexpr Rep kNone = std::numeric_limits<Rep>::max();

  Rep value = kNone;

  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  constexpr bool valid() const { return value != kNone; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using StringId = Id<struct StringTag, std::uint32_t>;              // StringPool
using SliceId = Id<struct SliceTag, std::uint32_t>;                // TraceStore::slices
using DeviceEventId = Id<struct DeviceEventTag, std::uint32_t>;    // TraceStore::device_events
using DetailId = Id<struct DetailTag, std::uint32_t>;              // row of the kind's own detail table
using ThreadIndex = Id<struct ThreadTag, std::uint16_t>;           // TraceStore::threads
using StreamIndex = Id<struct StreamTag, std::uint16_t>;           // TraceStore::streams
using ArgsId = Id<struct ArgsTag, std::uint32_t>;                  // TraceStore::op_args
using LaunchConfigId = Id<struct LaunchConfigTag, std::uint32_t>;  // TraceStore::launch_configs

}  // namespace accel
