// Which nodes and events of a step graph a transformation's patterns mean. Internal to what_if.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/step_graph/step_graph.h"
#include "analysis/what_if/transform.h"

namespace accel {

class Matching {
 public:
  // Without patterns everything matches.
  Matching(const TraceStore& store, const std::vector<std::string>& patterns);

  bool slice(SliceId id) const;  // or anything that encloses it
  bool event(DeviceEventId id) const;

 private:
  const TraceStore& store_;
  bool all_;
  std::vector<std::uint8_t> names_;
  std::vector<std::uint8_t> slices_;
};

// Slices of one of the classes, and what they enclose.
class ClassMatching {
 public:
  template <typename Fn>
  ClassMatching(const TraceStore& store, Fn&& is_one) : slices_(store.slices.size(), 0) {
    for (std::uint32_t i = 0; i < slices_.size(); ++i) {
      const SliceId parent = store.slices.parent[i];
      slices_[i] = (parent.valid() && slices_[parent.value] != 0) || is_one(i) ? 1 : 0;
    }
  }
  bool slice(SliceId id) const { return id.valid() && slices_[id.value] != 0; }

 private:
  std::vector<std::uint8_t> slices_;
};

}  // namespace accel
