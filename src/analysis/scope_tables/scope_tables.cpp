#include "analysis/scope_tables/scope_tables.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/event_index.h"
#include "analysis/host_activity.h"
#include "analysis/python_frame.h"
#include "analysis/scope_tables/launched_work.h"
#include "analysis/step_segmentation.h"
#include "analysis/step_times.h"

namespace accel {
namespace {

constexpr std::uint32_t kNone = 0xffffffffU;
constexpr std::int32_t kUnset = -2;
constexpr std::int64_t kLongAgo = std::numeric_limits<std::int64_t>::min();

// What is self time of whom: the innermost row of a lane. Every frame is in `frame`, which is the own time of
// libraries.
enum Lane : std::uint8_t { module, annotation, user_frame, frame };
constexpr std::size_t kLanes = 4;
// More lists of input types than this say no more of a row.
constexpr std::size_t kTypeLists = 64;

struct Row {
  ScopeRow values;
  std::int64_t covered_until = kLongAgo;
  ThreadIndex covered_on;
  StringId last_types;
  bool elsewhere = false;  // also on a thread whose work the main thread's ranges hold
};

struct Open {
  std::int64_t end_ns;
  std::uint32_t row;
};

struct Stretch {
  std::uint32_t row;
  Interval time;
};

class Scopes {
 public:
  Scopes(const TraceStore& store, const AnalysisResults& results)
      : store_(store),
        index_(*results.event_index),
        times_(*results.step_segmentation),
        main_(index_.main_thread),
        work_(launched_work(store, *results.step_segmentation)),
        backward_(backward_work(store, work_, main_)),
        row_of_frame_(store.strings.size(), kNone),
        row_of_annotation_(store.strings.size(), kNone) {
    result_.steps = results.step_segmentation->complete_count;
    result_.backward_known = !backward_.list().empty();
    for (const HostThread& thread : results.host_activity->threads) {
      if (thread.role == HostRole::autograd && main_.valid()) lent_.push_back(thread.thread);
    }
    std::sort(lent_.begin(), lent_.end());
    if (!main_.valid()) return;
    for (const LaunchedWork& launch : work_[main_.value].list()) of_main_.add(launch);
    for (const ThreadIndex thread : lent_) {
      for (const LaunchedWork& launch : work_[thread.value].list()) of_main_.add(launch);
    }
    of_main_.finish();
  }

  ScopeTables take() {
    if (times_.total() > 0) {
      for (std::size_t t = 0; t < store_.thread_ranges.size(); ++t) {
        const ThreadIndex thread(static_cast<std::uint16_t>(t));
        if (thread != main_) add_thread(thread, std::binary_search(lent_.begin(), lent_.end(), thread));
      }
      if (main_.valid()) add_thread(main_, false);
      add_lent_stretches();
    }
    result_.modules = table(Lane::module);
    result_.annotations = table(Lane::annotation);
    result_.frames = table(Lane::frame);
    return std::move(result_);
  }

 private:
  // The row of a slice, and the lane that it opens; kNone for what belongs into no table.
  std::uint32_t row_of(std::uint32_t slice) {
    const StringId id = store_.slices.name[slice];
    const SliceKind kind = store_.slices.kind[slice];
    if (kind == SliceKind::annotation) {
      if (index_.class_of(store_, slice) == NameClass::profiler_step) return kNone;
      std::uint32_t& row = row_of_annotation_[id.value];
      if (row == kNone) row = new_row(std::string(store_.text(id)), Lane::annotation);
      return row;
    }
    if (kind != SliceKind::frame) return kNone;
    std::uint32_t& row = row_of_frame_[id.value];
    if (row != kNone) return row;
    const std::string_view text = store_.text(id);
    std::string name = frame_without_address(text);
    const auto known = frame_rows_.find(name);
    if (known != frame_rows_.end()) return row = known->second;
    const Lane lane = is_module_frame(text) ? Lane::module : is_library_frame(text) ? Lane::frame : Lane::user_frame;
    row = new_row(name, lane);
    frame_rows_.emplace(std::move(name), row);
    return row;
  }

  std::uint32_t new_row(std::string name, Lane lane) {
    Row row;
    row.values.name = std::move(name);
    row.values.inside = kUnset;
    row.values.library = lane == Lane::frame;
    rows_.push_back(std::move(row));
    lanes_.push_back(lane);
    return static_cast<std::uint32_t>(rows_.size() - 1);
  }

  void add_thread(ThreadIndex thread, bool lent) {
    for (auto& open : open_) open.clear();
    std::fill(std::begin(clock_), std::end(clock_), kLongAgo);
    const bool main = thread == main_;
    const WorkOverTime& work = main ? of_main_ : work_[thread.value];
    const auto list = work.list();
    const auto made_here = main ? backward_.list() : std::span<const LaunchedWork>();
    std::size_t next = 0, made = 0;
    const auto pass_until = [&](std::int64_t until_ns) {
      while (true) {
        const bool launched = next < list.size() && list[next].time_ns < until_ns;
        const bool node = made < made_here.size() && made_here[made].time_ns < until_ns;
        if (!launched && !node) return;
        if (launched && (!node || list[next].time_ns <= made_here[made].time_ns))
          launch(list[next++], main);
        else
          make_node(made_here[made++]);
      }
    };
    const auto [first, last] = store_.thread_ranges[thread.value];
    for (std::uint32_t i = first; i < last; ++i) {
      const SliceKind kind = store_.slices.kind[i];
      if (kind != SliceKind::annotation && kind != SliceKind::frame) continue;
      const std::int64_t start = store_.slices.start_ns[i];
      pass_until(start);
      const std::uint32_t row = row_of(i);
      if (row != kNone) enter(row, {start, store_.slice_end_ns(SliceId(i))}, work, thread, lent);
    }
    pass_until(std::numeric_limits<std::int64_t>::max());
    for (std::size_t lane = 0; lane < kLanes; ++lane) advance(lane, std::numeric_limits<std::int64_t>::max());
  }

  // Gives the time up to `until_ns` to the innermost rows.
  void advance(std::size_t lane, std::int64_t until_ns) {
    std::vector<Open>& open = open_[lane];
    std::int64_t& clock = clock_[lane];
    while (!open.empty() && clock < until_ns) {
      const Open top = open.back();
      if (top.end_ns > clock) {
        const std::int64_t to = std::min(top.end_ns, until_ns);
        if (owns(lane, top.row)) rows_[top.row].values.host_self_ns += times_.between(clock, to);
        clock = to;
      }
      if (top.end_ns > until_ns) break;
      open.pop_back();
    }
    while (!open.empty() && open.back().end_ns <= until_ns) open.pop_back();
    clock = std::max(clock, until_ns);
  }

  bool owns(std::size_t lane, std::uint32_t row) const { return lanes_[row] == lane; }

  void enter(std::uint32_t row, Interval time, const WorkOverTime& work, ThreadIndex thread, bool lent) {
    ScopeRow& values = rows_[row].values;
    const Lane own = lanes_[row];
    advance(own, time.start_ns);
    if (own == Lane::user_frame) advance(Lane::frame, time.start_ns);
    if (times_.holds(time.start_ns)) {
      ++values.count;
      const std::int32_t around = open_[own].empty() ? -1 : static_cast<std::int32_t>(open_[own].back().row);
      if (around != static_cast<std::int32_t>(row)) {
        if (values.inside == kUnset) values.inside = around;
        if (values.inside != around) values.inside = -1;
      }
    }
    open_[own].push_back({time.end_ns, row});
    if (own == Lane::user_frame) open_[Lane::frame].push_back({time.end_ns, row});
    Row& entered = rows_[row];
    if (entered.covered_on != thread) entered.covered_until = kLongAgo;
    entered.covered_on = thread;
    const Interval fresh{std::max(time.start_ns, entered.covered_until), time.end_ns};
    if (fresh.length_ns() <= 0) return;
    entered.covered_until = time.end_ns;
    values.host_ns += times_.between(fresh.start_ns, fresh.end_ns);
    if (lent) {
      entered.elsewhere = true;
      lent_stretches_.push_back({row, fresh});
      lent_thread_.push_back(&work);
      return;
    }
    values.device_ns += work.between(fresh.start_ns, fresh.end_ns);
    if (thread != main_) return;
    values.backward_device_ns += backward_.between(fresh.start_ns, fresh.end_ns);
    if (entered.elsewhere) main_stretches_[row].push_back(fresh);
  }

  // A launch is the own work of the innermost row on its thread; else, on a thread that the main thread waits for, of
  // the innermost row there.
  void launch(const LaunchedWork& work, bool main) {
    const bool own = store_.slices.thread[work.call.value] == main_ || !main;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (!own && claimed(work.call, lane)) continue;
      advance(lane, work.time_ns);
      if (open_[lane].empty()) continue;
      const std::uint32_t row = open_[lane].back().row;
      if (!main) claim(work.call, lane);
      if (!owns(lane, row)) continue;
      rows_[row].values.device_self_ns += work.ns;
      add_types(rows_[row], work.call);
    }
  }

  // Work of a backward node, at the time at which its op ran.
  void make_node(const LaunchedWork& work) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      advance(lane, work.time_ns);
      if (open_[lane].empty() || !owns(lane, open_[lane].back().row)) continue;
      rows_[open_[lane].back().row].values.backward_self_ns += work.ns;
    }
  }

  void claim(SliceId call, std::size_t lane) {
    claimed_[call.value] = static_cast<std::uint8_t>(claimed_[call.value] | (1U << lane));
  }
  bool claimed(SliceId call, std::size_t lane) const {
    const auto known = claimed_.find(call.value);
    return known != claimed_.end() && (known->second & (1U << lane)) != 0;
  }

  void add_types(Row& row, SliceId call) {
    const SliceId op = store_.enclosing_op(call);
    if (!op.valid() || store_.slices.kind[op.value] != SliceKind::op) return;
    const DetailId detail = store_.slices.detail[op.value];
    if (!detail.valid() || !store_.op_details.args[detail.value].valid()) return;
    const StringId types = store_.op_args.types[store_.op_details.args[detail.value].value];
    if (!types.valid() || types.value == 0 || types == row.last_types) return;
    row.last_types = types;
    auto& known = row.values.types;
    if (known.size() == kTypeLists) return;
    const auto at =
        std::lower_bound(known.begin(), known.end(), types, [](StringId a, StringId b) { return a.value < b.value; });
    if (at == known.end() || *at != types) known.insert(at, types);
  }

  // A range of the autograd thread that the main thread has open, too, holds that work already.
  void add_lent_stretches() {
    std::unordered_map<std::uint32_t, IntervalSet> of_main;
    for (auto& [row, stretches] : main_stretches_) of_main.emplace(row, IntervalSet::from_sorted(stretches));
    for (std::size_t k = 0; k < lent_stretches_.size(); ++k) {
      const Stretch& stretch = lent_stretches_[k];
      std::int64_t& device_ns = rows_[stretch.row].values.device_ns;
      const auto known = of_main.find(stretch.row);
      if (known == of_main.end()) {
        device_ns += lent_thread_[k]->between(stretch.time.start_ns, stretch.time.end_ns);
        continue;
      }
      const IntervalSet rest = known->second.gaps_in(stretch.time);
      for (const Interval& gap : rest.intervals()) device_ns += lent_thread_[k]->between(gap.start_ns, gap.end_ns);
    }
  }

  std::vector<ScopeRow> table(Lane wanted) {
    std::vector<std::uint32_t> order;
    std::int64_t host = 1, device = 1;
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      const ScopeRow& row = rows_[i].values;
      const Lane lane = lanes_[i] == Lane::user_frame ? Lane::frame : lanes_[i];
      if (lane != wanted || (row.count == 0 && row.host_ns == 0 && row.device_ns == 0)) continue;
      order.push_back(i);
      host = std::max(host, row.host_ns);
      device = std::max(device, row.device_ns + row.backward_device_ns);
    }
    const auto weight = [&](std::uint32_t i) {
      const ScopeRow& row = rows_[i].values;
      return std::max(static_cast<double>(row.host_ns) / static_cast<double>(host),
                      static_cast<double>(row.device_ns + row.backward_device_ns) / static_cast<double>(device));
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return weight(a) > weight(b); });
    std::vector<std::int32_t> place(rows_.size(), -1);
    for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = static_cast<std::int32_t>(k);
    std::vector<ScopeRow> rows;
    rows.reserve(order.size());
    for (const std::uint32_t i : order) {
      rows.push_back(std::move(rows_[i].values));
      ScopeRow& row = rows.back();
      row.inside = row.inside < 0 ? -1 : place[static_cast<std::size_t>(row.inside)];
    }
    return rows;
  }

  const TraceStore& store_;
  const EventIndex& index_;
  StepTimes times_;
  ThreadIndex main_;
  std::vector<ThreadIndex> lent_;  // threads whose work belongs to what the main thread has open
  std::vector<WorkOverTime> work_;
  WorkOverTime backward_;
  WorkOverTime of_main_;
  std::vector<Row> rows_;
  std::vector<Lane> lanes_;  // by row
  std::vector<std::uint32_t> row_of_frame_;
  std::vector<std::uint32_t> row_of_annotation_;
  std::unordered_map<std::string, std::uint32_t> frame_rows_;
  std::vector<Open> open_[kLanes];
  std::int64_t clock_[kLanes] = {};
  std::unordered_map<std::uint32_t, std::uint8_t> claimed_;  // by launching call: lanes with a row of its own thread
  std::vector<Stretch> lent_stretches_;
  std::vector<const WorkOverTime*> lent_thread_;
  std::unordered_map<std::uint32_t, std::vector<Interval>> main_stretches_;
  ScopeTables result_;
};

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  results.scope_tables = std::make_shared<ScopeTables>(Scopes(store, results).take());
  return {};
}

}  // namespace

AnalysisDescriptor describe_scope_tables() {
  return {
      "scope_tables",
      "Modules, annotations and Python frames",
      "模块、标注与 Python 帧",
      {"event_index", "step_segmentation", "host_activity"},
      "Time of the complete steps by module, by annotation and by Python frame. In each table self is what no other "
      "row "
      "of it encloses more closely, total all between begin and end, a recursion once. Frames of libraries are own "
      "time "
      "of the user's frame that called them and have rows of their own. Device time is summed over what was launched "
      "inside; what the autograd thread launches belongs to the ranges that the main thread has open. Backward device "
      "time is that of the backward nodes of the ops inside, by their sequence numbers.",
      run};
}

}  // namespace accel
