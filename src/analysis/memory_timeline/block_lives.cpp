#include "analysis/memory_timeline/block_lives.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>

#include "analysis/event_index.h"

namespace accel {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_optimizer_kernel(std::string_view name) {
  return contains(name, "_fused_adam") || contains(name, "_fused_sgd");
}

bool is_adam(std::string_view name) { return contains(name, "Adam") || contains(name, "adam"); }

// The phase that a slice of this name begins, whatever is around it; -1 = none.
std::vector<std::int8_t> phases_by_name(const TraceStore& store, const EventIndex& index) {
  std::vector<std::int8_t> phases(store.strings.size(), -1);
  for (std::uint32_t id = 0; id < phases.size(); ++id) {
    const NameClass c = index.name_class[id];
    const std::string_view name = store.text(StringId(id));
    if (c == NameClass::optimizer_step || (c == NameClass::backward && is_optimizer_kernel(name))) {
      phases[id] = static_cast<std::int8_t>(MemoryPhase::optimizer);
    } else if (c == NameClass::backward) {
      phases[id] = static_cast<std::int8_t>(MemoryPhase::backward);
    } else if (name.starts_with("Optimizer.zero_grad#")) {
      phases[id] = static_cast<std::int8_t>(MemoryPhase::zero_grad);
    }
  }
  return phases;
}

std::size_t bytes_of_type(std::string_view type) {
  if (type == "double" || type == "long int" || type == "long" || type == "c10::complex<float>") return 8;
  if (type == "float" || type == "int") return 4;
  if (type == "c10::Half" || type == "c10::BFloat16" || type == "short int") return 2;
  if (type == "signed char" || type == "unsigned char" || type == "bool" || contains(type, "Float8")) return 1;
  return 0;
}

// Bytes of the first tensor of an argument list: dims "[[32000, 768]]", types ["float"]. Rounded up to the allocator's
// unit. 0 = not recorded.
std::int64_t first_tensor_bytes(const TraceStore& store, ArgsId args) {
  constexpr std::int64_t kUnit = 512;
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  if (!args.valid()) return 0;
  const StringId dims_id = store.op_args.dims[args.value];
  const StringId types_id = store.op_args.types[args.value];
  if (!dims_id.valid() || !types_id.valid()) return 0;
  std::string_view types = store.text(types_id);
  const std::size_t open = types.find('"');
  if (open == std::string_view::npos) return 0;
  types.remove_prefix(open + 1);
  const auto each = static_cast<std::int64_t>(bytes_of_type(types.substr(0, types.find('"'))));
  std::string_view dims = store.text(dims_id);
  const std::size_t first = dims.find('[', dims.find('[') + 1);
  if (each == 0 || first == std::string_view::npos) return 0;
  std::int64_t elements = 1;
  std::int64_t number = -1;
  for (const char c : dims.substr(first + 1)) {
    if (c >= '0' && c <= '9') {
      number = std::max<std::int64_t>(number, 0) * 10 + (c - '0');
      if (number > kMost) return 0;
      continue;
    }
    if (c != ',' && c != ']' && c != ' ') return 0;
    if (number == 0) return 0;
    if (number > 0) {
      if (elements > kMost / number) return 0;
      elements *= number;
    }
    number = -1;
    if (c == ']') break;
  }
  if (elements > kMost / each) return 0;
  return (elements * each + kUnit - 1) / kUnit * kUnit;
}

// The size of what one backward accumulates. Several backwards in the list (accumulation, several steps) repeat it: the
// shortest piece that the list is a repetition of counts once.
std::int64_t one_period(const std::vector<std::int64_t>& sizes) {
  // The classic prefix function: the smallest period in linear time.
  std::vector<std::size_t> border(sizes.size(), 0);
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    std::size_t k = border[i - 1];
    while (k > 0 && sizes[i] != sizes[k]) k = border[k - 1];
    border[i] = sizes[i] == sizes[k] ? k + 1 : 0;
  }
  if (sizes.empty()) return 0;
  const std::size_t period = sizes.size() - border.back();
  const std::size_t count = sizes.size() % period == 0 ? period : sizes.size();
  return std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(count), std::int64_t{0});
}

// Phase and outermost op of every slice: parents stand before their children.
struct SliceContext {
  std::vector<MemoryPhase> phase;
  std::vector<SliceId> outer_op;
};

SliceContext contexts(const TraceStore& store, const EventIndex& index, TrainingPhases& phases) {
  const std::vector<std::int8_t> by_name = phases_by_name(store, index);
  const SliceTable& slices = store.slices;
  SliceContext context;
  context.phase.assign(slices.size(), MemoryPhase::forward);
  context.outer_op.assign(slices.size(), SliceId());
  std::vector<std::pair<std::int64_t, std::int64_t>> accumulated;  // start, bytes of one AccumulateGrad
  for (std::uint32_t i = 0; i < slices.size(); ++i) {
    const SliceId parent = slices.parent[i];
    const MemoryPhase around = parent.valid() ? context.phase[parent.value] : MemoryPhase::forward;
    context.phase[i] = around;
    context.outer_op[i] = parent.valid() ? context.outer_op[parent.value] : SliceId();
    const SliceKind kind = slices.kind[i];
    if (kind != SliceKind::op && kind != SliceKind::annotation) continue;
    if (kind == SliceKind::op && !context.outer_op[i].valid()) context.outer_op[i] = SliceId(i);
    const std::uint32_t name = slices.name[i].value;
    if (by_name[name] < 0) continue;
    if (around == MemoryPhase::forward) {
      context.phase[i] = static_cast<MemoryPhase>(by_name[name]);
      if (context.phase[i] == MemoryPhase::backward) phases.backward_starts.push_back(slices.start_ns[i]);
      if (context.phase[i] == MemoryPhase::optimizer) {
        phases.optimizer_starts.push_back(slices.start_ns[i]);
        phases.adam = phases.adam || is_adam(store.text(slices.name[i]));
      }
    }
    if (kind == SliceKind::op && slices.detail[i].valid() &&
        store.text(slices.name[i]) == "torch::autograd::AccumulateGrad") {
      const std::int64_t bytes = first_tensor_bytes(store, store.op_details.args[slices.detail[i].value]);
      if (bytes > 0) accumulated.emplace_back(slices.start_ns[i], bytes);
    }
  }
  std::sort(phases.backward_starts.begin(), phases.backward_starts.end());
  std::sort(phases.optimizer_starts.begin(), phases.optimizer_starts.end());
  std::stable_sort(accumulated.begin(), accumulated.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::int64_t> sizes;
  sizes.reserve(accumulated.size());
  for (const auto& [start, bytes] : accumulated) sizes.push_back(bytes);
  phases.accumulated_bytes = one_period(sizes);
  return context;
}

// The first of the ascending times that comes after `time`; kNotRecorded if none.
std::int64_t next_after(const std::vector<std::int64_t>& times, std::int64_t time) {
  const auto at = std::upper_bound(times.begin(), times.end(), time);
  return at == times.end() ? kNotRecorded : *at;
}

}  // namespace

PlacedEvents place_memory_events(const TraceStore& store, const EventIndex& index) {
  PlacedEvents placed;
  const MemoryEventTable& events = store.memory_events;
  placed.places.resize(events.size());
  const SliceContext context = contexts(store, index, placed.phases);
  std::vector<std::uint32_t> order(events.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return events.thread[a] != events.thread[b] ? events.thread[a] < events.thread[b]
                                                : events.time_ns[a] < events.time_ns[b];
  });
  ThreadIndex thread;
  std::uint32_t next = 0;
  std::uint32_t last = 0;
  SliceId open;
  for (const std::uint32_t row : order) {
    if (events.thread[row] != thread || !thread.valid()) {
      thread = events.thread[row];
      open = SliceId();
      next = last = 0;
      if (thread.valid() && thread.value < store.thread_ranges.size())
        std::tie(next, last) = store.thread_ranges[thread.value];
    }
    const std::int64_t time = events.time_ns[row];
    // Each slice is entered once and left once: linear over the thread.
    while (next < last && store.slices.start_ns[next] <= time) open = SliceId(next++);
    while (open.valid() && store.slice_end_ns(open) < time) open = store.slices.parent[open.value];
    if (open.valid()) placed.places[row] = {open, context.outer_op[open.value], context.phase[open.value]};
  }
  return placed;
}

std::vector<BlockLife> block_lives(const TraceStore& store, const std::vector<std::uint32_t>& rows) {
  const MemoryEventTable& events = store.memory_events;
  std::vector<BlockLife> lives;
  std::unordered_map<std::int64_t, std::size_t> alive;  // by address
  for (std::uint32_t at = 0; at < rows.size(); ++at) {
    const std::uint32_t row = rows[at];
    const std::int64_t bytes = events.bytes[row];
    if (bytes > 0) {
      alive[events.address[row]] = lives.size();
      lives.push_back({row, BlockLife::kNone, bytes, at, 0});
      continue;
    }
    const auto found = alive.find(events.address[row]);
    if (found != alive.end() && lives[found->second].bytes == -bytes) {
      lives[found->second].end = row;
      lives[found->second].end_at = at;
      alive.erase(found);
    } else {
      lives.push_back({BlockLife::kNone, row, -bytes, 0, at});
    }
  }
  return lives;
}

MemoryCategory category_of(const TraceStore& store, const PlacedEvents& placed, const BlockLife& life) {
  const MemoryEventTable& events = store.memory_events;
  const bool ends = life.end != BlockLife::kNone;
  const MemoryPlace end = ends ? placed.places[life.end] : MemoryPlace{};
  if (life.begin == BlockLife::kNone) {
    if (end.phase == MemoryPhase::zero_grad) return MemoryCategory::gradients;
    return end.phase == MemoryPhase::backward ? MemoryCategory::activations : MemoryCategory::unknown;
  }
  const MemoryPlace& begin = placed.places[life.begin];
  const std::int64_t from = events.time_ns[life.begin];
  const std::int64_t until = ends ? events.time_ns[life.end] : kNotRecorded;
  const auto outlives = [&](std::int64_t time) { return time != kNotRecorded && (!ends || time < until); };
  switch (begin.phase) {
    case MemoryPhase::optimizer:
      return ends ? MemoryCategory::workspace : MemoryCategory::optimizer_state;
    case MemoryPhase::backward:
      if (outlives(next_after(placed.phases.optimizer_starts, from))) return MemoryCategory::gradients;
      if (ends && (end.phase == MemoryPhase::zero_grad || end.phase == MemoryPhase::optimizer))
        return MemoryCategory::gradients;
      return ends ? MemoryCategory::workspace : MemoryCategory::unknown;
    case MemoryPhase::zero_grad:
    case MemoryPhase::forward:
      break;
  }
  if (!ends) return MemoryCategory::unknown;
  if (outlives(next_after(placed.phases.backward_starts, from))) return MemoryCategory::activations;
  if (!placed.phases.backward_starts.empty()) return MemoryCategory::workspace;
  // Without a backward: what an op keeps for itself is scratch, what it hands on is an activation.
  const bool same_op = begin.outer_op.valid() && begin.outer_op == end.outer_op;
  return same_op ? MemoryCategory::workspace : MemoryCategory::activations;
}

}  // namespace accel
