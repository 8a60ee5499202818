#include "analysis/what_if/matching.h"

#include <algorithm>

namespace accel {

Matching::Matching(const TraceStore& store, const std::vector<std::string>& patterns)
    : store_(store), all_(patterns.empty()) {
  if (all_) return;
  names_.resize(store.strings.size(), 0);
  for (std::uint32_t name = 0; name < names_.size(); ++name) {
    const std::string_view text = store.text(StringId(name));
    names_[name] = std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return text.find(pattern) != std::string_view::npos;
    });
  }
  slices_.resize(store.slices.size(), 0);
  for (std::uint32_t i = 0; i < slices_.size(); ++i) {
    const SliceId parent = store.slices.parent[i];
    slices_[i] = names_[store.slices.name[i].value] != 0 || (parent.valid() && slices_[parent.value] != 0) ? 1 : 0;
  }
}

bool Matching::slice(SliceId id) const { return all_ || (id.valid() && slices_[id.value] != 0); }

bool Matching::event(DeviceEventId id) const {
  return all_ || names_[store_.device_events.name[id.value].value] != 0 || slice(store_.device_events.launch[id.value]);
}

}  // namespace accel
