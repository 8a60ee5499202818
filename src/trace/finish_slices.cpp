#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "base/task_pool.h"
#include "trace/finish.h"

namespace accel {
namespace {

constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();

// Parents, depths and flags of the slices [first, last) of one thread, which are sorted.
struct Nesting {
  SliceTable& slices;
  const FrameDetailTable& frames;
  std::int64_t recorder_stop_ns;  // kOpen when it is not known
  std::uint64_t clamped = 0;

  struct Open {
    std::uint32_t id;
    std::int64_t end_ns;
  };
  std::vector<Open> stack;

  void run(std::uint32_t first, std::uint32_t last) {
    stack.clear();
    for (std::uint32_t i = first; i < last; ++i) {
      const std::int64_t start = slices.start_ns[i];
      while (!stack.empty() && stack.back().end_ns <= start) stack.pop_back();
      if (slices.kind[i] == SliceKind::frame) close_what_is_not_its_caller(i, start);
      const std::int64_t parent_end = stack.empty() ? kOpen : stack.back().end_ns;
      if (!stack.empty()) {
        slices.parent[i] = SliceId(stack.back().id);
        const std::uint16_t depth = slices.depth[stack.back().id];
        slices.depth[i] =
            depth == std::numeric_limits<std::uint16_t>::max() ? depth : static_cast<std::uint16_t>(depth + 1);
      }
      std::int64_t end = start + slices.dur_ns[i];
      if ((slices.flags[i] & kSliceUnfinished) != 0) {
        end = parent_end;
      } else if (end > parent_end) {
        // A frame that was open when the recorder stopped has that time for an end, whatever its caller did since.
        if (slices.kind[i] == SliceKind::frame && end >= recorder_stop_ns) {
          slices.flags[i] |= kSliceClamped;
          slices.dur_ns[i] = parent_end - start;
          end = parent_end;
          ++clamped;
        } else {
          slices.flags[i] |= kSliceCrossing;
        }
      }
      if (end > start) stack.push_back({i, end});
    }
  }

  // Frames that never got an end have the recorder's, and then hold all that came after them. A frame that names
  // another caller further out says that they were over by then.
  void close_what_is_not_its_caller(std::uint32_t frame, std::int64_t start) {
    const std::int32_t caller = frames.python_parent_id[slices.detail[frame].value];
    if (caller == kNotRecorded) return;
    const auto is_left_open = [&](const Open& open) {
      return slices.kind[open.id] == SliceKind::frame && open.end_ns >= recorder_stop_ns &&
             frames.python_id[slices.detail[open.id].value] != caller;
    };
    std::size_t kept = stack.size();
    while (kept > 0 && is_left_open(stack[kept - 1])) --kept;
    if (kept == 0 || kept == stack.size() || slices.kind[stack[kept - 1].id] != SliceKind::frame ||
        frames.python_id[slices.detail[stack[kept - 1].id].value] != caller) {
      return;
    }
    for (; stack.size() > kept; stack.pop_back()) {
      const std::uint32_t open = stack.back().id;
      if ((slices.flags[open] & kSliceClamped) == 0) ++clamped;
      slices.flags[open] |= kSliceClamped;
      slices.dur_ns[open] = start - slices.start_ns[open];
    }
  }
};

// When the recorder stopped, as far as the frames tell: frames that are open then all end there, to a nanosecond.
std::int64_t recorder_stop(const SliceTable& slices) {
  std::int64_t stop = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices.kind[i] == SliceKind::frame) stop = std::max(stop, slices.start_ns[i] + slices.dur_ns[i]);
  }
  return stop == std::numeric_limits<std::int64_t>::min() ? kOpen : stop - 1;
}

}  // namespace

void finish_slices(TraceBuilder::State& state, std::int64_t base_ns, bool want_final_rows,
                   std::vector<std::uint32_t>& final_row) {
  auto& staged = state.staged.slices;
  TraceStore& store = state.store;
  SliceTable& out = store.slices;
  const std::size_t rows = staged.rows;
  const std::size_t threads = store.threads.size();

  // Bucket by thread, in input order.
  std::vector<std::uint32_t> at(threads + 1, 0);
  for (std::size_t i = 0; i < rows; ++i) ++at[staged.thread[i].value + 1U];
  for (std::size_t t = 0; t < threads; ++t) at[t + 1] += at[t];
  store.thread_ranges.clear();
  for (std::size_t t = 0; t < threads; ++t) store.thread_ranges.emplace_back(at[t], at[t + 1]);
  std::vector<std::uint32_t> order(rows);
  for (std::size_t i = 0; i < rows; ++i) order[at[staged.thread[i].value]++] = static_cast<std::uint32_t>(i);
  staged.thread.clear();

  const auto duration = [&](std::uint32_t row) {
    return (staged.flags[row] & kSliceUnfinished) != 0 ? kOpen : staged.dur_ns[row];
  };
  parallel_for(state.thread_count, threads, [&](std::size_t t) {
    const auto [first, last] = store.thread_ranges[t];
    sort_runs(std::span(order).subspan(first, last - first), [&](std::uint32_t a, std::uint32_t b) {
      if (staged.start_ns[a] != staged.start_ns[b]) return staged.start_ns[a] < staged.start_ns[b];
      const std::int64_t dur_a = duration(a);
      const std::int64_t dur_b = duration(b);
      return dur_a != dur_b ? dur_a > dur_b : a < b;
    });
  });

  if (want_final_rows) {
    final_row.resize(rows);
    for (std::uint32_t i = 0; i < rows; ++i) final_row[order[i]] = i;
  }
  const std::vector<std::function<void()>> columns = {
      [&] {
        gather(staged.start_ns, order, out.start_ns);
        if (base_ns == 0) return;
        for (std::int64_t& start : out.start_ns) start += base_ns;
      },
      [&] { gather(staged.dur_ns, order, out.dur_ns); },
      [&] { gather(staged.name, order, out.name); },
      [&] { gather(staged.detail, order, out.detail); },
      [&] { gather(staged.kind, order, out.kind); },
      [&] { gather(staged.flags, order, out.flags); },
      [&] { reserve_column(out.parent, rows), out.parent.resize(rows); },
      [&] { out.depth.resize(rows); },
      [&] {
        out.thread.reserve(rows);
        for (std::size_t t = 0; t < threads; ++t) {
          const auto [first, last] = store.thread_ranges[t];
          out.thread.insert(out.thread.end(), last - first, ThreadIndex(static_cast<std::uint16_t>(t)));
        }
      },
  };
  parallel_for(state.thread_count, columns.size(), [&](std::size_t i) { columns[i](); });
  std::vector<std::uint32_t>().swap(order);

  const std::int64_t stop = recorder_stop(out);
  std::vector<std::uint64_t> clamped(threads, 0);
  parallel_for(state.thread_count, threads, [&](std::size_t t) {
    Nesting nesting{out, store.frame_details, stop, 0, {}};
    nesting.run(store.thread_ranges[t].first, store.thread_ranges[t].second);
    clamped[t] = nesting.clamped;
  });
  std::uint64_t total = 0;
  for (const std::uint64_t n : clamped) total += n;
  store.notes.add(NoteCode::unclosed_frames, total);
}

namespace {

DetailId add_empty_op_detail(StagedOpDetail& details) {
  const std::size_t row = details.rows++;
  details.sequence.reserve_rows(details.rows);
  details.external_id.reserve_rows(details.rows);
  details.args.reserve_rows(details.rows);
  details.forward_thread.reserve_rows(details.rows);
  const OpDetailRow empty;
  details.sequence[row] = empty.sequence;
  details.external_id[row] = empty.external_id;
  details.args[row] = empty.args;
  details.forward_thread[row] = empty.forward_thread;
  return DetailId(static_cast<std::uint32_t>(row));
}

}  // namespace

void pair_begin_ends(TraceBuilder::State& state) {
  std::vector<TraceBatch::BeginEnd> events;
  events.swap(state.begin_ends);
  if (events.empty()) return;
  std::stable_sort(events.begin(), events.end(), [](const TraceBatch::BeginEnd& a, const TraceBatch::BeginEnd& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.time_ns < b.time_ns;
  });
  auto& staged = state.staged.slices;
  const auto append = [&](const TraceBatch::BeginEnd& begin, std::int64_t dur_ns, std::uint8_t flags) {
    const std::size_t row = staged.rows++;
    staged.start_ns.reserve_rows(staged.rows);
    staged.dur_ns.reserve_rows(staged.rows);
    staged.name.reserve_rows(staged.rows);
    staged.detail.reserve_rows(staged.rows);
    staged.thread.reserve_rows(staged.rows);
    staged.kind.reserve_rows(staged.rows);
    staged.flags.reserve_rows(staged.rows);
    staged.start_ns[row] = begin.time_ns;
    staged.dur_ns[row] = dur_ns;
    staged.name[row] = begin.name.valid() ? begin.name : StringId(0);  // the empty name: every slice has one
    staged.detail[row] = begin.kind == SliceKind::other ? DetailId() : add_empty_op_detail(state.staged.op_details);
    staged.thread[row] = begin.thread;
    staged.kind[row] = begin.kind;
    staged.flags[row] = flags;
  };
  std::vector<TraceBatch::BeginEnd> open;
  std::uint64_t unmatched = 0;
  const auto leave_open = [&] {
    for (const TraceBatch::BeginEnd& begin : open) append(begin, 0, kSliceUnfinished);
    unmatched += open.size();
    open.clear();
  };
  for (std::size_t i = 0; i < events.size(); ++i) {
    const TraceBatch::BeginEnd& event = events[i];
    if (i > 0 && event.thread != events[i - 1].thread) leave_open();
    if (event.begin) {
      open.push_back(event);
      continue;
    }
    // An end closes the innermost begin of its name; one without a name closes the innermost of all.
    auto match = open.rbegin();
    if (event.name.valid()) {
      match = std::find_if(open.rbegin(), open.rend(),
                           [&](const TraceBatch::BeginEnd& begin) { return begin.name == event.name; });
    }
    if (match == open.rend()) {
      ++unmatched;
      continue;
    }
    append(*match, event.time_ns - match->time_ns, 0);
    open.erase(std::next(match).base());
  }
  leave_open();
  state.store.notes.add(NoteCode::unmatched_begin_end, unmatched);
}

}  // namespace accel
