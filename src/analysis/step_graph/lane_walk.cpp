#include "analysis/step_graph/lane_walk.h"

#include <algorithm>

namespace accel {
namespace {

// One node per call: what a call does inside belongs to it.
bool is_atom(const TraceStore& store, const EventIndex& index, std::uint32_t row) {
  if (!store.is_call(SliceId(row))) return false;
  const NameClass c = index.class_of(store, row);
  return index.launches(store, row) || index.blocks(store, row) || c == NameClass::device_memory ||
         c == NameClass::copy_call || c == NameClass::set_call;
}

class Walk {
 public:
  Walk(const TraceStore& store, const EventIndex& index, std::uint16_t lane, Interval window)
      : store_(store), index_(index), window_(window), cursor_(window.start_ns), lane_(lane) {}

  // Slices that were open before the window.
  void open_before(std::uint32_t row) {
    std::vector<std::uint32_t> chain;
    for (SliceId at = store_.slices.parent[row]; at.valid(); at = store_.slices.parent[at.value])
      if (store_.slices.start_ns[at.value] < window_.start_ns) chain.push_back(at.value);
    for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
      if (store_.slice_end_ns(SliceId(*at)) <= window_.start_ns) continue;
      open_.push_back({SliceId(*at), end_of(*at)});
    }
    before_ = open_.size();
  }

  void take(std::uint32_t row) {
    const std::int64_t start = store_.slices.start_ns[row];
    while (!open_.empty() && open_.back().end_ns <= start) close();
    if (start < cursor_) return;  // inside a call that is one node
    advance(start);
    count(row);
    if (open_.size() <= before_) roots_ = true;
    if (is_atom(store_, index_, row)) {
      const std::int64_t end = std::min(end_of(row), open_.empty() ? window_.end_ns : open_.back().end_ns);
      emit(SliceId(row), std::max(end, start), false);
    } else {
      open_.push_back({SliceId(row), end_of(row)});
    }
  }

  std::vector<LaneNode> finish(bool fill) {
    while (!open_.empty()) close();
    if (fill) advance(window_.end_ns);
    return std::move(nodes_);
  }

 private:
  struct Open {
    SliceId slice;
    std::int64_t end_ns;
  };

  std::int64_t end_of(std::uint32_t row) const {
    std::int64_t end = std::min(store_.slice_end_ns(SliceId(row)), window_.end_ns);
    if (!open_.empty()) end = std::min(end, open_.back().end_ns);
    return end;
  }
  void close() {
    advance(open_.back().end_ns);
    open_.pop_back();
    before_ = std::min(before_, open_.size());
  }
  void advance(std::int64_t to) {
    if (to > cursor_) emit(open_.empty() ? SliceId() : open_.back().slice, to, open_.size() <= before_);
  }
  void emit(SliceId slice, std::int64_t end, bool gap) {
    LaneNode made;
    made.node.start_ns = cursor_;
    made.node.work_ns = end - cursor_;
    made.node.slice = slice;
    made.node.lane = lane_;
    made.node.records = records_;
    made.node.calls = calls_;
    made.node.frames = frames_;
    made.end_ns = end;
    made.starts_root = roots_;
    made.gap = gap;
    nodes_.push_back(made);
    records_ = calls_ = frames_ = 0;
    roots_ = false;
    cursor_ = end;
  }
  void count(std::uint32_t row) {
    const SliceKind kind = store_.slices.kind[row];
    if (kind == SliceKind::frame) {
      frames_ += 1;
    } else if (store_.is_call(SliceId(row))) {
      calls_ += 1;
    } else if (kind != SliceKind::overhead) {
      records_ += 1;
    }
  }

  const TraceStore& store_;
  const EventIndex& index_;
  Interval window_;
  std::int64_t cursor_;
  std::uint16_t lane_;
  std::vector<Open> open_;
  std::size_t before_ = 0;
  std::vector<LaneNode> nodes_;
  float records_ = 0, calls_ = 0, frames_ = 0;
  bool roots_ = false;
};

}  // namespace

std::vector<LaneNode> walk_lane(const TraceStore& store, const EventIndex& index, std::uint16_t lane,
                                std::pair<std::uint32_t, std::uint32_t> rows, Interval window, bool fill) {
  const auto begin = store.slices.start_ns.begin();
  const auto from = std::lower_bound(begin + rows.first, begin + rows.second, window.start_ns);
  const auto to = std::lower_bound(from, begin + rows.second, window.end_ns);
  Walk walk(store, index, lane, window);
  if (from != to) walk.open_before(static_cast<std::uint32_t>(from - begin));
  for (auto at = from; at != to; ++at) walk.take(static_cast<std::uint32_t>(at - begin));
  return walk.finish(fill);
}

}  // namespace accel
