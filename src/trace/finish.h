// The second half of TraceBuilder: from staged rows to a sorted, nested, linked store. Private to trace; one thread
// calls, the work inside is spread over State::threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "trace/builder_state.h"

namespace accel {

Result<TraceStore> finish_store(TraceBuilder::State& state);

// Pairs begin and end events into staged slices of kind `other`.
void pair_begin_ends(TraceBuilder::State& state);

// Sorts and nests the slices. `final_row[input row]` is filled when `want_final_rows` is set.
void finish_slices(TraceBuilder::State& state, std::int64_t base_ns, bool want_final_rows,
                   std::vector<std::uint32_t>& final_row);

// Sorts the device events. `final_row` as above.
void finish_device_events(TraceBuilder::State& state, std::int64_t base_ns, bool want_final_rows,
                          std::vector<std::uint32_t>& final_row);

// Sets DeviceEvent::launch by correlation and checks External ids against time and thread.
void link_launches(TraceStore& store, unsigned threads);

// Sorts `rows` by `less`, which is a total order. Input that consists of a few sorted runs, as recordings do, costs one
// pass for each doubling of the run.
template <typename Less>
void sort_runs(std::span<std::uint32_t> rows, const Less& less) {
  std::vector<std::size_t> bounds = {0};  // starts of the runs, then the end
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (less(rows[i], rows[i - 1])) bounds.push_back(i);
  }
  if (bounds.size() == 1) return;
  bounds.push_back(rows.size());
  std::vector<std::uint32_t> other(rows.size());
  std::span<std::uint32_t> from = rows;
  std::span<std::uint32_t> to = other;
  while (bounds.size() > 2) {
    std::vector<std::size_t> merged = {0};
    for (std::size_t i = 0; i + 1 < bounds.size(); i += 2) {
      const std::size_t first = bounds[i];
      const std::size_t middle = bounds[i + 1];
      const std::size_t last = i + 2 < bounds.size() ? bounds[i + 2] : middle;
      std::size_t a = first;
      std::size_t b = middle;
      std::size_t out = first;
      while (a < middle && b < last) to[out++] = less(from[b], from[a]) ? from[b++] : from[a++];
      while (a < middle) to[out++] = from[a++];
      while (b < last) to[out++] = from[b++];
      merged.push_back(last);
    }
    bounds.swap(merged);
    std::swap(from, to);
  }
  if (from.data() != rows.data()) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = from[i];
  }
}

// The staged column in a new order: out[i] = staged[order[i]]. The staged rows are given back.
template <typename T>
void gather(StagedColumn<T>& staged, std::span<const std::uint32_t> order, std::vector<T>& out) {
  reserve_column(out, order.size());
  for (const std::uint32_t row : order) out.push_back(staged[row]);
  staged.clear();
}

}  // namespace accel
