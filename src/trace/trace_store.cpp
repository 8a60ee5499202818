#include "trace/trace_store.h"

namespace accel {

SliceId TraceStore::enclosing_op(SliceId id) const {
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
