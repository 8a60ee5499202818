#include <array>
#include <string>

#include "base/byte_source.h"
#include "ingest/catalog.h"
#include "ingest/importer.h"

namespace accel {
namespace {

const ImporterDescriptor* const kAll[] = {
#define FRAMEWORK(name)
#define IMPORTER(name) &name::kImporter,
#include "ingest/catalog.def"
#undef IMPORTER
#undef FRAMEWORK
};

constexpr std::size_t kHeadBytes = 64 * 1024;

// Reads the start of `source` and puts it back.
Result<std::string> peek(std::unique_ptr<ByteSource>& source) {
  std::string head(kHeadBytes, '\0');
  const Result<std::size_t> n = source->read(head);
  if (!n) return n.error();
  head.resize(*n);
  source = prefixed_source(head, std::move(source));
  return head;
}

}  // namespace

std::span<const ImporterDescriptor* const> importers() { return kAll; }

Result<TraceStore> import_trace(const std::string& path, const ImportOptions& options) {
  Result<std::unique_ptr<ByteSource>> opened = open_file(path);
  if (!opened) return opened.error();
  std::unique_ptr<ByteSource> source = std::move(*opened);
  Result<std::string> head = peek(source);
  if (!head) return head.error();
  if (head->starts_with("\x1f\x8b")) {
    source = gzip_source(std::move(source));
    head = peek(source);
  } else if (head->starts_with("\x28\xb5\x2f\xfd")) {
    source = zstd_source(std::move(source));
    head = peek(source);
  }
  if (!head) return head.error();
  const ImporterDescriptor* best = nullptr;
  int best_score = 0;
  for (const ImporterDescriptor* importer : kAll) {
    const int score = importer->sniff(*head, path);
    if (score > best_score) {
      best = importer;
      best_score = score;
    }
  }
  if (best == nullptr) return Error{ErrorCode::not_a_trace, "This is no trace that accel-profiler knows.", path};
  return best->read(*source, options);
}

}  // namespace accel
