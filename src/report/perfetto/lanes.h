// Slices of one track into begins and ends that nest. What crosses an earlier slice goes to a second track of the same
// name, and so on: a viewer closes crossing slices at the wrong place, or loses them. One thread per object.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace accel::report::perfetto {

// As many as overlap at a time; recorders write two or three.
inline constexpr std::size_t kMostLanes = 32;

class Lanes {
 public:
  // Called when the first slice needs it: the uuid of lane number n.
  using Open = std::function<std::uint64_t(std::size_t lane)>;
  using End = std::function<void(std::uint64_t track, std::int64_t time_ns)>;

  Lanes(Open open, End end) : open_(std::move(open)), end_(std::move(end)) {}

  // Track on which a slice of [start, end) has to begin now; what ended before is ended. 0: it crosses too many others.
  // Slices come in the order of their starts.
  std::uint64_t place(std::int64_t start_ns, std::int64_t end_ns);
  void finish();

 private:
  struct Lane {
    std::uint64_t track;
    std::vector<std::int64_t> open_ends;
  };

  Open open_;
  End end_;
  std::vector<Lane> lanes_;
};

}  // namespace accel::report::perfetto
