#include "analysis/operator_table.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/event_index.h"

namespace accel {
namespace {

// Names that are no rows and no nodes of the tree: their time stays in the self time of what encloses them.
constexpr std::string_view kNeverRows[] = {"[memory]",
                                           "[OutOfMemory]",
                                           "profiler::_record_function_enter",
                                           "profiler::_record_function_enter_new",
                                           "profiler::_record_function_exit",
                                           "aten::is_leaf",
                                           "aten::output_nr",
                                           "aten::_version"};

constexpr std::uint32_t kNoNode = 0xffffffffU;

// One node of the CPU tree; nodes of one tree are in the order of (start, longer first).
struct Node {
  std::uint32_t slice;
  std::uint32_t parent = kNoNode;  // index into the nodes of its tree
  std::int64_t children_cpu_ns = 0;
  std::int64_t own_device_ns = 0;
  std::int64_t device_ns = 0;  // own and children's
  std::uint32_t children = 0;
  std::uint32_t only_child = kNoNode;
  bool dropped = false;  // a duplicate of its parent
};

// Rows by key. Names have dense numbers, so that the rows of one name are a short chain: kinds, or shapes.
class Rows {
 public:
  explicit Rows(std::size_t names) : first_of_name_(names, kNoNode) {}

  OperatorRow& row(StringId name, SliceKind kind, std::uint32_t dims) {
    const std::uint32_t first = first_of_name_[name.value];
    if (first != kNoNode && matches(first, kind, dims)) return rows_[first];
    if (dims != 0 && first != kNoNode) return row_of_shape(name, kind, dims);
    std::uint32_t last = kNoNode;
    for (std::uint32_t at = first; at != kNoNode; at = keys_[at].next) {
      if (matches(at, kind, dims)) return rows_[at];
      last = at;
    }
    const std::uint32_t added = append(name, kind, dims);  // keys_ may move: no pointer into it is kept over this
    (last == kNoNode ? first_of_name_[name.value] : keys_[last].next) = added;
    return rows_.back();
  }

  std::vector<OperatorRow> sorted() && {
    std::sort(rows_.begin(), rows_.end(), [](const OperatorRow& a, const OperatorRow& b) {
      if (a.self_device_ns != b.self_device_ns) return a.self_device_ns > b.self_device_ns;
      if (a.self_cpu_ns != b.self_cpu_ns) return a.self_cpu_ns > b.self_cpu_ns;
      if (a.name != b.name) return a.name < b.name;
      if (a.kind != b.kind) return a.kind < b.kind;
      return a.args < b.args;
    });
    return std::move(rows_);
  }

 private:
  struct Key {
    std::uint32_t dims;
    SliceKind kind;
    std::uint32_t next;
  };

  bool matches(std::uint32_t row, SliceKind kind, std::uint32_t dims) const {
    return keys_[row].dims == dims && keys_[row].kind == kind;
  }

  std::uint32_t append(StringId name, SliceKind kind, std::uint32_t dims) {
    OperatorRow row;
    row.name = name;
    row.kind = kind;
    rows_.push_back(row);
    keys_.push_back({dims, kind, kNoNode});
    return static_cast<std::uint32_t>(rows_.size() - 1);
  }

  // An op may be called with very many shapes: those after the first are found by hash.
  OperatorRow& row_of_shape(StringId name, SliceKind kind, std::uint32_t dims) {
    const std::uint64_t key =
        (static_cast<std::uint64_t>(name.value) << 32 | dims) * 8 + static_cast<std::uint64_t>(kind);
    const auto [at, is_new] = shapes_.try_emplace(key, 0);
    if (is_new) at->second = append(name, kind, dims);
    return rows_[at->second];
  }

  std::vector<std::uint32_t> first_of_name_;
  std::vector<Key> keys_;
  std::vector<OperatorRow> rows_;
  std::unordered_map<std::uint64_t, std::uint32_t> shapes_;
};

class TableBuilder {
 public:
  TableBuilder(const TraceStore& store, const EventIndex& index)
      : store_(store),
        index_(index),
        never_row_(store.strings.size(), 0),
        by_name_(store.strings.size()),
        by_shape_(store.strings.size()) {
    for (const std::string_view name : kNeverRows) {
      const StringId id = store.strings.find(name);
      if (id.valid()) never_row_[id.value] = 1;
    }
    sum_device_time_by_call();
  }

  OperatorTable build() {
    std::vector<std::uint32_t> adopted = calls_of_no_op();
    for (std::size_t t = 0; t < store_.thread_ranges.size(); ++t) {
      const ThreadIndex thread(static_cast<std::uint16_t>(t));
      const bool main = thread == index_.main_thread;
      build_tree(thread, main ? adopted : std::vector<std::uint32_t>{});
      add_rows();
    }
    OperatorTable table;
    table.profiler_step_name = folded_step_name_;
    table.by_name = std::move(by_name_).sorted();
    // Without recorded shapes the rows are the same.
    table.by_shape = store_.op_args.empty() ? table.by_name : std::move(by_shape_).sorted();
    return table;
  }

 private:
  bool is_node(std::uint32_t slice) const {
    const SliceKind kind = store_.slices.kind[slice];
    if (kind == SliceKind::frame || kind == SliceKind::other) return false;
    return never_row_[store_.slices.name[slice].value] == 0;
  }

  bool belongs_to_op(std::uint32_t slice) const {
    const DetailId detail = store_.slices.detail[slice];
    if (!detail.valid()) return false;
    const std::int64_t id = store_.call_details.external_id[detail.value];
    return id != kNotRecorded && id != 0;
  }

  // Calls outside every op and overhead rows are nodes of the main thread's tree, wherever they ran.
  bool moves_to_main(std::uint32_t slice) const {
    if (store_.slices.kind[slice] == SliceKind::overhead) return true;
    if (!any_external_id_ || !store_.is_call(SliceId(slice)) || belongs_to_op(slice)) return false;
    const SliceId around = store_.enclosing_op(SliceId(slice));
    return !around.valid() || store_.slices.kind[around.value] != SliceKind::op;
  }

  std::vector<std::uint32_t> calls_of_no_op() {
    for (std::uint32_t i = 0; i < store_.slices.size() && !any_external_id_; ++i)
      any_external_id_ = store_.is_call(SliceId(i)) && belongs_to_op(i);
    std::vector<std::uint32_t> adopted;
    if (!index_.main_thread.valid()) return adopted;
    for (std::size_t thread = 0; thread < store_.thread_ranges.size(); ++thread) {
      if (ThreadIndex(static_cast<std::uint16_t>(thread)) == index_.main_thread) continue;
      const auto [first, last] = store_.thread_ranges[thread];
      for (std::uint32_t i = first; i < last; ++i) {
        if (is_node(i) && moves_to_main(i)) adopted.push_back(i);
      }
    }
    std::stable_sort(adopted.begin(), adopted.end(), [&](std::uint32_t a, std::uint32_t b) { return before(a, b); });
    return adopted;
  }

  bool before(std::uint32_t a, std::uint32_t b) const {
    const SliceTable& s = store_.slices;
    return s.start_ns[a] != s.start_ns[b] ? s.start_ns[a] < s.start_ns[b] : s.dur_ns[a] > s.dur_ns[b];
  }

  void sum_device_time_by_call() {
    device_of_call_.assign(store_.slices.size(), 0);
    for (std::size_t i = 0; i < store_.device_events.size(); ++i) {
      const SliceId launch = store_.device_events.launch[i];
      if (!launch.valid() || (store_.device_events.flags[i] & kDeviceNoTiming) != 0) continue;
      // An op whose stamp is later than its own call's takes the time itself.
      const SliceId op = store_.enclosing_op(launch);
      const bool late = op.valid() && op.value > launch.value;
      device_of_call_[late ? op.value : launch.value] += store_.device_events.dur_ns[i];
    }
  }

  void push_node(std::uint32_t slice) {
    const std::int64_t end = store_.slice_end_ns(SliceId(slice));
    while (!stack_.empty() && store_.slice_end_ns(SliceId(nodes_[stack_.back()].slice)) < end) stack_.pop_back();
    Node node;
    node.slice = slice;
    if (!stack_.empty()) node.parent = stack_.back();
    const auto own = static_cast<std::uint32_t>(nodes_.size());
    if (node.parent != kNoNode) {
      Node& parent = nodes_[node.parent];
      parent.only_child = parent.children++ == 0 ? own : kNoNode;
    }
    nodes_.push_back(node);
    stack_.push_back(own);
  }

  // The call's device time belongs to the innermost op around it; a range has it only when the recorder says so.
  void attach_device_time(std::uint32_t node) {
    const std::uint32_t slice = nodes_[node].slice;
    const std::int64_t time = device_of_call_[slice];
    const bool moved_here = node_thread_ != store_.slices.thread[slice];
    if (time == 0 || moved_here) return;
    std::uint32_t range = kNoNode;
    const bool is_op = store_.slices.kind[slice] == SliceKind::op;
    for (std::uint32_t at = is_op ? node : nodes_[node].parent; at != kNoNode; at = nodes_[at].parent) {
      const SliceKind kind = store_.slices.kind[nodes_[at].slice];
      if (kind == SliceKind::annotation && range == kNoNode) range = at;
      if (kind != SliceKind::op) continue;
      nodes_[at].own_device_ns += time;
      return;
    }
    if (range != kNoNode && belongs_to_op(slice)) nodes_[range].own_device_ns += time;
  }

  void build_tree(ThreadIndex thread, const std::vector<std::uint32_t>& adopted) {
    nodes_.clear();
    stack_.clear();
    node_thread_ = thread;
    const bool main = thread == index_.main_thread;
    const auto [first, last] = store_.thread_ranges[thread.value];
    auto other = adopted.begin();
    for (std::uint32_t i = first; i < last; ++i) {
      if (!is_node(i) || (!main && index_.main_thread.valid() && moves_to_main(i))) continue;
      for (; other != adopted.end() && before(*other, i); ++other) push_node(*other);
      push_node(i);
    }
    for (; other != adopted.end(); ++other) push_node(*other);
    drop_duplicates();
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (device_of_call_[nodes_[n].slice] != 0) attach_device_time(n);
    }
    for (std::uint32_t n = static_cast<std::uint32_t>(nodes_.size()); n-- > 0;) {
      Node& node = nodes_[n];
      node.device_ns += node.own_device_ns;
      if (node.dropped || node.parent == kNoNode) continue;
      nodes_[node.parent].device_ns += node.device_ns;
      nodes_[node.parent].children_cpu_ns += store_.slices.dur_ns[node.slice];
    }
  }

  // An op whose only child bears its name is one op to the reader: the child goes, its children move up.
  void drop_duplicates() {
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      Node& node = nodes_[n];
      // A parent that was dropped hands its children on; parents come before their children.
      while (node.parent != kNoNode && nodes_[node.parent].dropped) node.parent = nodes_[node.parent].parent;
      if (node.parent == kNoNode) continue;
      const Node& parent = nodes_[node.parent];
      const bool same = store_.slices.name[parent.slice] == store_.slices.name[node.slice] &&
                        store_.slices.kind[parent.slice] == store_.slices.kind[node.slice];
      if (same && parent.children == 1 && parent.only_child == n) {
        node.dropped = true;
        // The parent takes over the children and their number.
        nodes_[node.parent].children = node.children;
        nodes_[node.parent].only_child = node.only_child;
      }
    }
  }

  void add_rows() {
    for (const Node& node : nodes_) {
      if (node.dropped) continue;
      const SliceKind kind = store_.slices.kind[node.slice];
      StringId name = store_.slices.name[node.slice];
      if (kind == SliceKind::annotation && index_.name_class[name.value] == NameClass::profiler_step) {
        if (!folded_step_name_.valid()) folded_step_name_ = name;
        name = folded_step_name_;
      }
      const ArgsId args = args_of(node.slice, kind);
      const std::uint32_t dims = args.valid() ? store_.op_args.dims[args.value].value : 0;
      add(by_name_.row(name, kind, 0), node, ArgsId());
      if (!store_.op_args.empty()) add(by_shape_.row(name, kind, dims), node, args);
    }
  }

  ArgsId args_of(std::uint32_t slice, SliceKind kind) const {
    if ((kind != SliceKind::op && kind != SliceKind::annotation) || !store_.slices.detail[slice].valid()) return {};
    const ArgsId args = store_.op_details.args[store_.slices.detail[slice].value];
    return args.valid() && store_.op_args.dims[args.value].valid() ? args : ArgsId();
  }

  void add(OperatorRow& row, const Node& node, ArgsId args) const {
    if (row.count == 0) row.args = args;
    ++row.count;
    row.cpu_ns += store_.slices.dur_ns[node.slice];
    row.self_cpu_ns += store_.slices.dur_ns[node.slice] - node.children_cpu_ns;
    row.device_ns += node.device_ns;
    row.self_device_ns += node.own_device_ns;
  }

  const TraceStore& store_;
  const EventIndex& index_;
  std::vector<std::uint8_t> never_row_;
  std::vector<std::int64_t> device_of_call_;
  bool any_external_id_ = false;
  StringId folded_step_name_;
  ThreadIndex node_thread_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> stack_;
  Rows by_name_;
  Rows by_shape_;
};

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  results.operator_table = std::make_shared<OperatorTable>(TableBuilder(store, *results.event_index).build());
  return {};
}

}  // namespace

AnalysisDescriptor describe_operator_table() {
  return {"operator_table",
          "Operators",
          "算子表",
          {"event_index"},
          "Self and total CPU and device time per op, range and call, as torch's key_averages has them. Calls are "
          "nodes of the "
          "tree. Device time is the sum of the durations of the device events launched under an op. The device time "
          "that torch "
          "counts twice under overhead rows is counted once.",
          run};
}

}  // namespace accel
