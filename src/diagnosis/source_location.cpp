#include "diagnosis/source_location.h"

#include <charconv>

namespace accel {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

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

std::optional<SourceLine> parse_frame(std::string_view frame) {
  // The path may hold parentheses of its own: the line number is the last "(digits): ".
  for (std::size_t close = frame.rfind("): "); close != std::string_view::npos && close > 0;
       close = frame.rfind("): ", close - 1)) {
    const std::size_t open = frame.rfind('(', close);
    if (open == std::string_view::npos || open == 0) continue;
    std::int64_t line = 0;
    const char* end = frame.data() + close;
    const auto [stopped, error] = std::from_chars(frame.data() + open + 1, end, line);
    if (error == std::errc() && stopped == end && open + 1 < close) {
      return SourceLine{frame.substr(0, open), line, frame.substr(close + 3)};
    }
  }
  return std::nullopt;
}

bool is_library_frame(const SourceLine& line) {
  const std::string_view file = line.file;
  if (file.empty() || file.front() == '<') return true;
  for (const std::string_view part : {"site-packages/", "dist-packages/", "/lib/python", "<frozen"}) {
    if (contains(file, part)) return true;
  }
  // The profiler strips the package folder of installed modules: "torch/nn/modules/module.py".
  for (const std::string_view package :
       {"torch/", "torchvision/", "torch_xla/", "numpy/", "PIL/", "transformers/", "accelerate/", "lightning/",
        "pytorch_lightning/", "deepspeed/", "threading.py", "contextlib.py", "runpy.py", "multiprocessing/",
        "importlib/", "concurrent/", "queue.py", "selectors.py", "socket.py"}) {
    if (file.starts_with(package)) return true;
  }
  return false;
}

SliceId user_frame_of(const TraceStore& store, SliceId slice) {
  SliceId any;
  for (; slice.valid(); slice = store.slices.parent[slice.value]) {
    if (store.slices.kind[slice.value] != SliceKind::frame) continue;
    const std::optional<SourceLine> line = parse_frame(store.text(store.slices.name[slice.value]));
    if (!line) continue;
    if (!is_library_frame(*line)) return slice;
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
