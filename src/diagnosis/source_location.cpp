#include "diagnosis/source_location.h"

namespace accel {
namespace {

std::string_view kind_word(SliceKind kind) {
  switch (kind) {
    case SliceKind::op:
      return "op";
    case SliceKind::annotation:
      return "annotation";
    case SliceKind::frame:
      return "frame";
    case SliceKind::runtime_call:
    case SliceKind::driver_call:
      return "call";
    case SliceKind::overhead:
    case SliceKind::other:
      break;
  }
  return "annotation";
}

}  // namespace

SliceId user_frame_of(const TraceStore& store, SliceId slice) {
  SliceId any;
  for (; slice.valid(); slice = store.slices.parent[slice.value]) {
    if (store.slices.kind[slice.value] != SliceKind::frame) continue;
    const std::string_view name = store.text(store.slices.name[slice.value]);
    if (!parse_frame(name)) continue;
    if (!is_library_frame(name)) return slice;
    if (!any.valid()) any = slice;
  }
  return any;
}

Location locate(const TraceStore& store, SliceId slice) {
  Location location;
  if (!slice.valid()) return location;
  location.kind = kind_word(store.slices.kind[slice.value]);
  location.name = store.text(store.slices.name[slice.value]);
  location.rank = store.process.rank;
  location.host = store.process.host;
  const SliceId frame = user_frame_of(store, slice);
  if (frame.valid()) {
    if (const std::optional<SourceLine> line = parse_frame(store.text(store.slices.name[frame.value]))) {
      location.file = line->file;
      location.line = line->line;
    }
  }
  return location;
}

}  // namespace accel
