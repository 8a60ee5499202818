// Helpers of the ingest tests: traces from text, and stores compared to the last row.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "ingest/importer.h"
#include "ingest/kineto_json/stream_import.h"

namespace accel::testing {

inline Result<TraceStore> import_text(std::string_view text, const ImportOptions& options = {}) {
  return import_source(memory_source("trace.json", text), options);
}

// A trace of these events, in the object form.
inline std::string trace_of(std::string_view events) {
  return R"({"schemaVersion": 1, "traceEvents": [)" + std::string(events) + "]}";
}

inline TraceStore store_of(std::string_view text) {
  Result<TraceStore> store = import_text(text);
  EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
  return store.ok() ? std::move(*store) : TraceStore();
}

inline std::string file_content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline std::string golden_path(std::string_view name) {
  return std::string(ACCEL_SOURCE_DIR) + "/tests/golden/pytorch-2.11_h200/" + std::string(name);
}

inline std::string unpacked(const std::string& path) {
  Result<std::unique_ptr<ByteSource>> file = open_file(path);
  if (!file) return {};
  const std::unique_ptr<ByteSource> source = gzip_source(std::move(*file));
  std::string text;
  std::string block(1 << 20, '\0');
  while (true) {
    const Result<std::size_t> n = source->read(block);
    if (!n) return {};
    text.append(block, 0, *n);
    if (*n < block.size()) return text;
  }
}

// The importer below its front door, where the size of the pieces and the reader can be chosen.
inline Result<TraceStore> import_with(std::string_view text, const kineto_json::StreamOptions& options) {
  const std::unique_ptr<ByteSource> source = memory_source("trace.json", text);
  TraceBuilder builder(options.threads);
  Result<kineto_json::Imported> imported = kineto_json::stream_import(*source, builder, options);
  if (!imported) return imported.error();
  builder.process() = imported->process;
  builder.notes().add_all(imported->notes);
  if (imported->truncated) builder.notes().add(NoteCode::truncated);
  return builder.finish();
}

// Empty if the stores are equal in every row, string and note, else the first difference.
inline std::string difference(const TraceStore& a, const TraceStore& b) {
  std::string found;
  const auto compare = [&](std::string_view table, const auto& x, const auto& y) {
    x.for_each_column([&](std::string_view column, std::string_view, const auto& left) {
      y.for_each_column([&](std::string_view other, std::string_view, const auto& right) {
        if (column != other || !found.empty()) return;
        if constexpr (std::is_same_v<decltype(left), decltype(right)>) {
          if (left.size() != right.size()) {
            found = std::string(table) + ": " + std::to_string(left.size()) + " rows against " +
                    std::to_string(right.size());
            return;
          }
          for (std::size_t i = 0; i < left.size(); ++i) {
            if (left[i] != right[i]) {
              found = std::string(table) + "." + std::string(column) + " row " + std::to_string(i);
              return;
            }
          }
        }
      });
    });
  };
#define TABLE_BEGIN(Name, accessor, doc) compare(#accessor, a.accessor, b.accessor);
#define COLUMN(type, name, unit, doc)
#define TABLE_END(Name)
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END
  if (!found.empty()) return found;
  if (a.strings.size() != b.strings.size()) return "number of strings";
  for (std::uint32_t i = 0; i < a.strings.size(); ++i) {
    if (a.text(StringId(i)) != b.text(StringId(i))) return "string " + std::to_string(i);
  }
  if (a.input.events != b.input.events || a.input.events_by_category != b.input.events_by_category)
    return "event counts";
  if (a.thread_ranges != b.thread_ranges) return "thread ranges";
  if (a.notes.notes().size() != b.notes.notes().size()) return "number of notes";
  for (std::size_t i = 0; i < a.notes.notes().size(); ++i) {
    const Note& x = a.notes.notes()[i];
    const Note& y = b.notes.notes()[i];
    if (x.code != y.code || x.count != y.count || x.where != y.where) return "note " + std::string(describe(x.code).id);
  }
  return {};
}

inline std::uint64_t count_of(const TraceStore& store, NoteCode code) {
  const Note* note = store.notes.find(code);
  return note == nullptr ? 0 : note->count;
}

}  // namespace accel::testing
