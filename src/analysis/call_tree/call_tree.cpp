#include "analysis/call_tree/call_tree.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/analysis.h"
#include "analysis/call_tree/node_names.h"
#include "analysis/call_tree/node_table.h"
#include "analysis/call_tree/thin_tree.h"
#include "analysis/event_index.h"
#include "analysis/python_frame.h"
#include "analysis/step_segmentation.h"
#include "analysis/step_times.h"

namespace accel {
namespace {

constexpr std::uint32_t kNone = 0xffffffffU;

CallKind kind_of(SliceKind kind) {
  switch (kind) {
    case SliceKind::op:
      return CallKind::op;
    case SliceKind::annotation:
      return CallKind::annotation;
    case SliceKind::frame:
      return CallKind::frame;
    case SliceKind::runtime_call:
    case SliceKind::driver_call:
      return CallKind::call;
    case SliceKind::overhead:
    case SliceKind::other:
      break;
  }
  return CallKind::overhead;
}

CallKind kind_of(DeviceEventKind kind) {
  switch (kind) {
    case DeviceEventKind::memcpy:
      return CallKind::copy;
    case DeviceEventKind::memset:
      return CallKind::set;
    case DeviceEventKind::kernel:
      break;
  }
  return CallKind::kernel;
}

class TreeBuilder {
 public:
  TreeBuilder(const TraceStore& store, const AnalysisResults& results)
      : store_(store),
        index_(*results.event_index),
        segmentation_(*results.step_segmentation),
        times_(segmentation_),
        names_(store),
        entry_of_name_(store.strings.size(), kNone),
        node_of_slice_(store.slices.size(), kNone) {}

  CallTree build() {
    if (times_.total() <= 0) return {};
    tree_.steps = segmentation_.complete_count;
    table_.add_root();
    if (index_.main_thread.valid()) add_thread(index_.main_thread);
    for (std::size_t t = 0; t < store_.thread_ranges.size(); ++t) {
      const ThreadIndex thread(static_cast<std::uint16_t>(t));
      if (thread != index_.main_thread) add_thread(thread);
    }
    add_device_events();
    // Children come after their parents.
    for (std::size_t i = nodes_.size(); i-- > 1;) {
      CallNode& node = nodes_[i];
      node.device_total_ns += node.device_self_ns;
      nodes_[node.parent].device_total_ns += node.device_total_ns;
    }
    tree_.nodes = std::move(nodes_);
    thin(tree_, names_);
    return std::move(tree_);
  }

 private:
  struct Open {
    std::uint32_t slice;
    std::uint32_t node;
    std::int64_t start_ns;
    std::int64_t end_ns;
    bool counted = false;  // has a time of its own in `node`
  };
  // What the tree needs to know of a name, looked up once.
  struct NameEntry {
    std::uint32_t name;
    bool module = false;
    bool library = false;
  };

  const NameEntry& entry(StringId id, SliceKind kind) {
    std::uint32_t& at = entry_of_name_[id.value];
    if (at == kNone) {
      at = static_cast<std::uint32_t>(entries_.size());
      const std::string_view text = store_.text(id);
      NameEntry entry{};
      entry.module = kind == SliceKind::frame && is_module_frame(text);
      entry.library = kind == SliceKind::frame && is_library_frame(text);
      entry.name = kind == SliceKind::frame ? names_.of(frame_without_address(text)) : names_.of(id);
      entries_.push_back(entry);
    }
    return entries_[at];
  }

  std::string thread_name(ThreadIndex thread) const {
    const StringId name = store_.threads.name[thread.value];
    if (name.valid() && !store_.text(name).empty()) return std::string(store_.text(name));
    const StringId text = store_.threads.tid_text[thread.value];
    if (text.valid()) return "thread " + std::string(store_.text(text));
    return "thread " + std::to_string(store_.threads.tid[thread.value]);
  }

  void add_thread(ThreadIndex thread) {
    const auto [first, last] = store_.thread_ranges[thread.value];
    if (first == last) return;
    const bool main = thread == index_.main_thread;
    std::uint32_t top = kNone;
    if (main) {
      top = table_.child(0, names_.of(thread_name(thread)), CallKind::thread, kNodeMainThread);
      add_host(top, times_.total(), kNone);
      nodes_[top].count = 1;
    }
    open_.clear();
    early_.clear();
    for (std::uint32_t i = first; i < last; ++i) {
      if (!early_.empty() && early_.count(i) != 0) continue;
      // The store says that this one belongs to an op whose stamp is a little later than its own.
      const SliceId parent = store_.slices.parent[i];
      if (parent.valid() && parent.value > i && early_.insert(parent.value).second)
        place(parent.value, thread, top, main);
      place(i, thread, top, main);
    }
  }

  void place(std::uint32_t i, ThreadIndex thread, std::uint32_t& top, bool main) {
    const SliceId parent = store_.slices.parent[i];
    std::int64_t start = store_.slices.start_ns[i];
    const std::int64_t end = store_.slice_end_ns(SliceId(i));
    while (!open_.empty()) {
      const Open& last = open_.back();
      const bool stays =
          parent.valid() && (last.slice == parent.value || (last.slice < parent.value && last.end_ns > start));
      if (stays) break;
      open_.pop_back();
    }
    if (!open_.empty()) start = std::max(start, open_.back().start_ns);
    close_crossed(start, end);
    const bool starts_inside = times_.holds(start);
    const std::int64_t time = std::max<std::int64_t>(0, times_.between(start, end));
    if (time == 0 && !starts_inside) {
      open_.push_back({i, above(top), start, end});
      return;
    }
    if (top == kNone) {
      top = table_.child(0, names_.of(thread_name(thread)), CallKind::thread, 0);
      nodes_[top].count = 1;
    }
    add_slice(i, top, start, end, time, starts_inside, main);
  }

  std::uint32_t above(std::uint32_t top) const {
    return open_.empty() || open_.back().node == kNone ? top : open_.back().node;
  }

  // A range that begins inside a frame and ends after it (the frame entered it): the frame's time ends where the range
  // begins, and the range belongs to what encloses both. Time is counted once.
  void close_crossed(std::int64_t start, std::int64_t end) {
    std::int64_t lost = 0;
    std::uint32_t outermost = kNone;
    while (!open_.empty() && open_.back().end_ns < end) {
      const Open crossed = open_.back();
      open_.pop_back();
      if (!crossed.counted) continue;
      const std::int64_t own = std::max<std::int64_t>(0, times_.between(start, crossed.end_ns));
      nodes_[crossed.node].host_total_ns -= own;
      nodes_[crossed.node].host_self_ns -= own - lost;
      outermost = crossed.node;
      lost = own;
    }
    if (outermost == kNone || lost == 0) return;
    CallNode& around = nodes_[nodes_[outermost].parent];
    if (around.kind == CallKind::thread && (around.flags & kNodeMainThread) == 0) {
      around.host_total_ns -= lost;
      nodes_[0].host_total_ns -= lost;
    } else {
      around.host_self_ns += lost;
    }
  }

  void add_slice(std::uint32_t i, std::uint32_t top, std::int64_t start, std::int64_t end, std::int64_t time,
                 bool starts_inside, bool main) {
    const std::uint32_t around = above(top);
    const SliceKind kind = store_.slices.kind[i];
    // The mark of a step is what the root stands for.
    if (kind == SliceKind::annotation && index_.class_of(store_, i) == NameClass::profiler_step) {
      open_.push_back({i, around, start, end, false});
      return;
    }
    const NameEntry& name = entry(store_.slices.name[i], kind);
    std::uint8_t flags = name.library ? kNodeFolded : 0;
    if (index_.blocks(store_, i)) flags |= kNodeWaits;
    const std::uint32_t node = table_.child(around, name.name, name.module ? CallKind::module : kind_of(kind), flags);
    nodes_[node].flags |= flags;
    nodes_[node].count += starts_inside ? 1 : 0;
    // Threads other than the main one consist of what they did.
    if (around == top && !main) {
      nodes_[top].host_total_ns += time;
      nodes_[0].host_total_ns += time;
      add_host(node, time, kNone, false);
    } else {
      add_host(node, time, around, false);
    }
    node_of_slice_[i] = node;
    open_.push_back({i, node, start, end, true});
  }

  void add_host(std::uint32_t node, std::int64_t time, std::uint32_t out_of, bool to_root = true) {
    nodes_[node].host_total_ns += time;
    nodes_[node].host_self_ns += time;
    if (out_of != kNone) nodes_[out_of].host_self_ns -= time;
    if (to_root) nodes_[0].host_total_ns += time;
  }

  void add_device_events() {
    const DeviceEventTable& events = store_.device_events;
    for (std::size_t e = 0; e < events.size(); ++e) {
      if ((events.flags[e] & kDeviceNoTiming) != 0) continue;
      const std::int32_t step = segmentation_.step_of_device_event[e];
      const SliceId launch = events.launch[e];
      const bool counts = step >= 0 && segmentation_.steps[static_cast<std::size_t>(step)].complete;
      if (!counts) {
        tree_.device_other_ns += events.dur_ns[e];
        continue;
      }
      std::uint32_t above = launch.valid() ? node_of_slice_[launch.value] : kNone;
      if (above == kNone) above = table_.child(0, names_.of("device work without a launch"), CallKind::thread, 0);
      const std::uint32_t node = table_.child(above, names_.of(events.name[e]), kind_of(events.kind[e]), 0);
      ++nodes_[node].count;
      nodes_[node].device_self_ns += events.dur_ns[e];
    }
  }

  const TraceStore& store_;
  const EventIndex& index_;
  const StepSegmentation& segmentation_;
  StepTimes times_;
  CallTree tree_;
  NodeNames names_;
  NodeTable table_;
  std::vector<CallNode>& nodes_ = table_.nodes;
  std::vector<std::uint32_t> entry_of_name_;  // by StringId
  std::vector<NameEntry> entries_;
  std::vector<std::uint32_t> node_of_slice_;
  std::vector<Open> open_;
  std::unordered_set<std::uint32_t> early_;  // slices that were placed before their turn
};

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  results.call_tree = std::make_shared<CallTree>(TreeBuilder(store, results).build());
  return {};
}

}  // namespace

std::string_view to_string(CallKind kind) {
  switch (kind) {
    case CallKind::root:
      return "root";
    case CallKind::thread:
      return "thread";
    case CallKind::annotation:
      return "annotation";
    case CallKind::module:
      return "module";
    case CallKind::frame:
      return "frame";
    case CallKind::op:
      return "op";
    case CallKind::call:
      return "call";
    case CallKind::kernel:
      return "kernel";
    case CallKind::copy:
      return "copy";
    case CallKind::set:
      return "set";
    case CallKind::overhead:
      return "overhead";
    case CallKind::rest:
      break;
  }
  return "rest";
}

AnalysisDescriptor describe_call_tree() {
  return {
      "call_tree",
      "Call tree",
      "调用树",
      {"event_index", "step_segmentation"},
      "Annotation, module, Python frame, op, call, kernel: equal paths of the complete steps are one node, with the "
      "number of calls, self and total host time (clipped to the steps) and self and total device time (the sum of "
      "the durations of what the steps launched). The main thread's total is the steps' host time; what no record "
      "covers is its self time. Frames of libraries, imports and generated code are marked as folded. At most 6000 "
      "nodes stay, those with the largest share of host or of device time; below each the others are one node "
      "\"other\".",
      run};
}

}  // namespace accel
