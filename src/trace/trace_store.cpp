#include "trace/trace_store.h"

namespace accel {

namespace {

// Stamps of a call and of the op that makes it are taken apart: the call may seem to start this much before its op.
constexpr std::int64_t kStampToleranceNs = 1000;

// The op that starts inside the call, at once, and outlasts it: no call makes an op, so it is the op that made the
// call.
SliceId op_that_starts_late(const TraceStore& store, SliceId call) {
  const SliceTable& slices = store.slices;
  const std::uint32_t next = call.value + 1;
  if (next >= slices.size() || slices.parent[next] != call || slices.kind[next] != SliceKind::op) return {};
  if ((slices.flags[next] & kSliceCrossing) == 0) return {};
  return slices.start_ns[next] - slices.start_ns[call.value] <= kStampToleranceNs ? SliceId(next) : SliceId();
}

}  // namespace

SliceId TraceStore::enclosing_op(SliceId id) const {
  if (id.valid() && is_call(id)) {
    const SliceId late = op_that_starts_late(*this, id);
    if (late.valid()) return late;
  }
  SliceId annotation;
  for (SliceId at = id; at.valid(); at = slices.parent[at.value]) {
    const SliceKind kind = slices.kind[at.value];
    if (kind == SliceKind::op) return at;
    if (kind == SliceKind::annotation && !annotation.valid()) annotation = at;
  }
  return annotation;
}

std::size_t TraceStore::column_bytes() const {
  std::size_t bytes = 0;
  const auto add = [&](std::string_view, std::string_view, const auto& column) {
    bytes += column.capacity() * sizeof(column[0]);
  };
#define TABLE_BEGIN(Name, accessor, doc) accessor.for_each_column(add);
#define COLUMN(type, name, unit, doc)
#define TABLE_END(Name)
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END
  return bytes;
}

}  // namespace accel
