// Any bytes: the importer answers with a store or an error, never with a crash or a hang; the fast and the exact reader
// find the same, on one thread or several, and in pieces of any size where the text is sound.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/byte_source.h"
#include "ingest/importer.h"
#include "ingest/kineto_json/stream_import.h"

namespace {

using namespace accel;  // NOLINT(google-build-using-namespace)

void require(bool held) {
  if (!held) std::abort();
}

Result<TraceStore> read_with(std::string_view text, const kineto_json::StreamOptions& options) {
  const std::unique_ptr<ByteSource> source = memory_source("fuzz", text);
  TraceBuilder builder(options.threads);
  Result<kineto_json::Imported> imported = kineto_json::stream_import(*source, builder, options);
  if (!imported) return imported.error();
  builder.process() = imported->process;
  builder.notes().add_all(imported->notes);
  return builder.finish();
}

template <typename Table>
bool same_table(const Table& a, const Table& b) {
  bool same = true;
  std::vector<const void*> columns;
  a.for_each_column([&](std::string_view, std::string_view, const auto& column) { columns.push_back(&column); });
  std::size_t next = 0;
  b.for_each_column([&](std::string_view, std::string_view, const auto& column) {
    same = same && column == *static_cast<const std::remove_cvref_t<decltype(column)>*>(columns[next++]);
  });
  return same;
}

void require_same(const Result<TraceStore>& a, const Result<TraceStore>& b) {
  require(a.ok() == b.ok());
  if (!a.ok()) return;
#define TABLE_BEGIN(Name, accessor, doc) require(same_table(a->accessor, b->accessor));
#define COLUMN(type, name, unit, doc)
#define TABLE_END(Name)
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END
  require(a->input.events == b->input.events);
  require(a->strings.size() == b->strings.size());
  for (std::uint32_t i = 0; i < a->strings.size(); ++i) require(a->text(StringId(i)) == b->text(StringId(i)));
  require(a->notes.notes().size() == b->notes.notes().size());
  for (std::size_t i = 0; i < a->notes.notes().size(); ++i) {
    require(a->notes.notes()[i].code == b->notes.notes()[i].code);
    require(a->notes.notes()[i].count == b->notes.notes()[i].count);
  }
}

// What every reader of a store relies on.
void require_sound(const TraceStore& store) {
  for (std::uint32_t i = 0; i < store.slices.size(); ++i) {
    const SliceId parent = store.slices.parent[i];
    require(!parent.valid() || parent.value < i);
    require(store.slices.dur_ns[i] >= 0);
    require(store.slices.thread[i].value < store.threads.size());
  }
  for (std::size_t i = 0; i < store.device_events.size(); ++i) {
    const SliceId launch = store.device_events.launch[i];
    require(!launch.valid() || store.is_call(launch));
    require(store.device_events.dur_ns[i] >= 0);
  }
  require(store.time_range.start_ns <= store.time_range.end_ns);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ImportOptions options;
  options.threads = 1;
  const Result<TraceStore> whole = import_source(memory_source("fuzz.json", text), options);
  if (whole.ok()) {
    require_sound(*whole);
  } else {
    require(!whole.error().message.empty());
  }
  const Result<TraceStore> fast = read_with(text, {.threads = 1});
  require_same(fast, read_with(text, {.threads = 1, .exact_only = true}));
  const Result<TraceStore> pieces = read_with(text, {.threads = 1, .chunk_bytes = 256});
  require_same(pieces, read_with(text, {.threads = 2, .chunk_bytes = 256}));
  require_same(pieces, read_with(text, {.threads = 1, .chunk_bytes = 256, .exact_only = true}));
  // Where a damaged text goes on may depend on how far one can see; a sound text reads the same in any pieces.
  const auto damaged = [](const Result<TraceStore>& read) {
    return read.ok() && (read->notes.find(NoteCode::malformed_event) != nullptr ||
                         read->notes.find(NoteCode::interleaved_writers) != nullptr);
  };
  if (!damaged(fast) && !damaged(pieces)) require_same(fast, pieces);
  return 0;
}
