// What an importer is: plain data that says what it reads, a sniff over the first bytes, and one function that fills a
// TraceBuilder. Importers are listed in catalog.def. Pure functions: any thread, no state between calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/trace_store.h"

namespace accel {

class ByteSource;
class Progress;

struct ImportOptions {
  unsigned threads = 0;  // 0 = one per core
  Progress* progress = nullptr;
  // Filters; events outside are counted in the note `filtered`. Device events follow their launch.
  std::optional<std::int64_t> first_step;  // numbers of the step marks, inclusive
  std::optional<std::int64_t> last_step;
  std::optional<std::int64_t> from_ns;  // relative to the trace's first event
  std::optional<std::int64_t> to_ns;
  std::optional<std::int64_t> rank;  // --rank: overrides or supplies the rank
};

struct ImporterDescriptor {
  std::string_view id;     // kineto_json
  std::string_view title;  // PyTorch profiler (Kineto) Chrome trace
  std::string_view title_zh;
  std::string_view extensions;  // ".json .json.gz" for --list
  // 0 = surely not, 100 = surely. `head` is the start of the decompressed content, `path` its name.
  int (*sniff)(std::span<const char> head, std::string_view path);
  Result<TraceStore> (*read)(ByteSource& source, const ImportOptions& options);
};

// All importers, in the order of catalog.def.
std::span<const ImporterDescriptor* const> importers();

// Opens `path` ("-" = standard input), unpacks what is packed (gz, zst, zip, tar.gz), finds the importer and reads. An
// input that is something else fails with ErrorCode::not_a_trace and a message that names it and says what to do.
Result<TraceStore> import_trace(const std::string& path, const ImportOptions& options);
// The same for bytes from anywhere, but for archives.
Result<TraceStore> import_source(std::unique_ptr<ByteSource> source, const ImportOptions& options);

}  // namespace accel
