#include "report/perfetto/lanes.h"

namespace accel::report::perfetto {

std::uint64_t Lanes::place(std::int64_t start_ns, std::int64_t end_ns) {
  for (Lane& lane : lanes_) {
    while (!lane.open_ends.empty() && lane.open_ends.back() <= start_ns) {
      end_(lane.track, lane.open_ends.back());
      lane.open_ends.pop_back();
    }
    if (!lane.open_ends.empty() && lane.open_ends.back() < end_ns) continue;
    lane.open_ends.push_back(end_ns);
    return lane.track;
  }
  if (lanes_.size() == kMostLanes) return 0;
  lanes_.push_back({open_(lanes_.size()), {end_ns}});
  return lanes_.back().track;
}

void Lanes::finish() {
  for (Lane& lane : lanes_) {
    for (; !lane.open_ends.empty(); lane.open_ends.pop_back()) end_(lane.track, lane.open_ends.back());
  }
}

}  // namespace accel::report::perfetto
