// Names of the nodes of a call tree, each text once. Texts of the trace are not copied: they may be as many as its
// events. Internal to call_tree.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/trace_store.h"

namespace accel {

class NodeNames {
 public:
  explicit NodeNames(const TraceStore& store) : store_(store), of_trace_(store.strings.size(), kNone) {
    of(StringId(0));
  }

  // Number of a name; the empty one is 0.
  std::uint32_t of(StringId id) {
    std::uint32_t& at = of_trace_[id.value];
    if (at == kNone) at = add(store_.text(id));
    return at;
  }
  std::uint32_t of(std::string_view text) {
    if (const StringId known = store_.strings.find(text); known.valid()) return of(known);
    const StringId id = own_.intern(text);
    if (id.value >= of_own_.size()) of_own_.resize(id.value + 1, kNone);
    if (of_own_[id.value] == kNone) of_own_[id.value] = add(own_.view(id));
    return of_own_[id.value];
  }
  std::string_view text(std::uint32_t name) const { return texts_[name]; }
  std::size_t size() const { return texts_.size(); }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  std::uint32_t add(std::string_view text) {
    texts_.push_back(text);
    return static_cast<std::uint32_t>(texts_.size() - 1);
  }

  const TraceStore& store_;
  StringPool own_;  // what is no text of the trace
  std::vector<std::uint32_t> of_trace_;
  std::vector<std::uint32_t> of_own_;
  std::vector<std::string_view> texts_;
};

}  // namespace accel
