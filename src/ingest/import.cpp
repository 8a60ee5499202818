#include <sys/stat.h>

#include <algorithm>
#include <string>

#include "base/byte_source.h"
#include "ingest/archive.h"
#include "ingest/catalog.h"
#include "ingest/foreign_formats.h"
#include "ingest/importer.h"
#include "ingest/native_stacks.h"
#include "ingest/open_input.h"
#include "trace/window.h"

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

using Opened = OpenInput;

Result<void> peek(Opened& opened) {
  opened.head.resize(kHeadBytes);
  const Result<std::size_t> n = opened.source->read(opened.head);
  if (!n) return n.error();
  opened.head.resize(*n);
  opened.source = prefixed_source(opened.head, std::move(opened.source));
  return {};
}

// Takes off layers of gzip and zstd. A few: a file that is packed over and over is no trace.
Result<void> unpack(Opened& opened) {
  for (int layer = 0; layer < 4; ++layer) {
    Result<void> ok = peek(opened);
    if (!ok) return ok;
    if (opened.head.starts_with("\x1f\x8b")) {
      opened.source = gzip_source(std::move(opened.source));
    } else if (opened.head.starts_with("\x28\xb5\x2f\xfd")) {
      opened.source = zstd_source(std::move(opened.source));
    } else {
      return {};
    }
  }
  return {};
}

Result<std::unique_ptr<ByteSource>> open_unpacked(const std::string& path) {
  Result<std::unique_ptr<ByteSource>> file = open_file(path);
  if (!file) return file.error();
  Opened opened{std::move(*file), {}};
  const Result<void> ok = unpack(opened);
  if (!ok) return ok.error();
  return std::move(opened.source);
}

// "FILE" or, where there is no such file, "ARCHIVE:MEMBER".
std::pair<std::string, std::string> split_member(const std::string& path) {
  struct stat status{};
  if (path == "-" || stat(path.c_str(), &status) == 0) return {path, {}};
  for (std::size_t colon = path.rfind(':'); colon != std::string::npos && colon > 0;
       colon = path.rfind(':', colon - 1)) {
    if (stat(path.substr(0, colon).c_str(), &status) == 0) return {path.substr(0, colon), path.substr(colon + 1)};
  }
  return {path, {}};
}

Result<Opened> open_trace(const std::string& given) {
  const auto [path, member] = split_member(given);
  struct stat status{};
  if (path != "-" && stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return Error{ErrorCode::not_a_trace, "This is a folder, not a trace. Give a trace file.", path};
  }
  Result<std::unique_ptr<ByteSource>> file = open_file(path);
  if (!file) return file.error();
  Opened opened{std::move(*file), {}};
  if (const Result<void> ok = unpack(opened); !ok) return ok.error();
  const bool zip = looks_like_zip(opened.head);
  const bool tar = looks_like_tar(opened.head);
  if (!zip && !tar) {
    if (!member.empty())
      return Error{ErrorCode::invalid_argument, "A member can only be chosen from a .zip or .tar archive.", path};
    return opened;
  }
  if (path == "-")
    return Error{ErrorCode::invalid_argument, "An archive cannot be read from standard input. Save it to a file first.",
                 path};
  Result<std::unique_ptr<ByteSource>> inside =
      zip ? open_zip_member(path, member) : open_tar_member(path, member, open_unpacked);
  if (!inside) return inside.error();
  opened.source = std::move(*inside);
  if (const Result<void> ok = unpack(opened); !ok) return ok.error();
  return opened;
}

// The part of the store that was asked for.
Result<void> apply_filters(TraceStore& store, const ImportOptions& options, const std::string& path) {
  Interval window{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  if (options.first_step || options.last_step) {
    const std::int64_t first = options.first_step.value_or(0);
    const std::int64_t last = options.last_step.value_or(std::numeric_limits<std::int64_t>::max());
    window = window_of_steps(store, first, last);
    if (window.start_ns == window.end_ns) {
      return Error{ErrorCode::not_found,
                   "The trace has no step of the range that was asked for (steps are numbered as in ProfilerStep#N or "
                   "accel::step#N).",
                   path};
    }
  }
  if (options.from_ns) window.start_ns = std::max(window.start_ns, store.time_range.start_ns + *options.from_ns);
  if (options.to_ns) window.end_ns = std::min(window.end_ns, store.time_range.start_ns + *options.to_ns);
  if (window.start_ns == std::numeric_limits<std::int64_t>::min() &&
      window.end_ns == std::numeric_limits<std::int64_t>::max())
    return {};
  if (window.start_ns >= window.end_ns || window.start_ns >= store.time_range.end_ns ||
      window.end_ns <= store.time_range.start_ns) {
    return Error{ErrorCode::not_found, "Nothing was recorded in the time that was asked for.", path};
  }
  store.notes.add(NoteCode::filtered, keep_window(store, window));
  return {};
}

Result<TraceStore> read_opened(Result<Opened> opened, const std::string& path, const ImportOptions& options) {
  if (!opened) return opened.error();
  const ImporterDescriptor* best = nullptr;
  int best_score = 0;
  for (const ImporterDescriptor* importer : kAll) {
    const int score = importer->sniff(opened->head, opened->source->name());
    if (score > best_score) {
      best = importer;
      best_score = score;
    }
  }
  // A weak guess gives way to a format that is known to be another.
  constexpr int kSure = 50;
  if (best_score < kSure) {
    if (const std::optional<std::string> foreign = describe_foreign(opened->head, opened->source->name())) {
      const bool cut = !opened->source->damage().empty();
      return Error{ErrorCode::not_a_trace, cut ? opened->source->damage() : *foreign, path};
    }
  }
  if (best == nullptr) return Error{ErrorCode::not_a_trace, describe_unknown(opened->head), path};
  Result<TraceStore> store = best->read(*opened->source, options);
  if (!store) {
    if (store.error().code == ErrorCode::not_a_trace)
      return Error{ErrorCode::not_a_trace, describe_unknown(opened->head), path};
    return store;
  }
  native_binary::add_stacks_of_capture(*store, path, native_binary::kImporter.read);
  if (const Result<void> ok = apply_filters(*store, options, path); !ok) return ok.error();
  return store;
}

}  // namespace

Result<OpenInput> open_input(const std::string& path) { return open_trace(path); }

std::span<const ImporterDescriptor* const> importers() { return kAll; }

Result<TraceStore> import_trace(const std::string& path, const ImportOptions& options) {
  return read_opened(open_trace(path), path, options);
}

Result<TraceStore> import_source(std::unique_ptr<ByteSource> source, const ImportOptions& options) {
  Opened opened{std::move(source), {}};
  const std::string name = opened.source->name();
  if (const Result<void> ok = unpack(opened); !ok) return ok.error();
  return read_opened(std::move(opened), name, options);
}

}  // namespace accel
