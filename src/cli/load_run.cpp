#include "cli/load_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "cli/console.h"
#include "cli/interrupt.h"
#include "diagnosis/diagnosis.h"
#include "report/anonymize/anonymize.h"
#include "report/baseline.h"
#include "report/build_document.h"
#include "report/document_json.h"

namespace accel::cli {
namespace {

constexpr std::uintmax_t kLargestReport = std::uintmax_t{1} << 30;

enum class Content { trace, report, baseline };

// By the first keys, which our own files always write first.
Content content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(200, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  std::erase_if(head, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
  if (head.starts_with("{\"schema_version\":")) return Content::report;
  return head.starts_with("{\"format\":\"accel-profilerbaseline\"") ? Content::baseline : Content::trace;
}

Result<std::string> read_text(const std::string& path) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) > kLargestReport && !error)
    return Error{ErrorCode::out_of_range, "a report of more than 1 GiB is not read", path};
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::io, "cannot be read", path};
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

Result<LoadedRun> load_trace(const std::string& path, const LoadOptions& options, bool views) {
  ConsoleProgress progress(options.quiet, path);
  ImportOptions import = options.import;
  import.progress = &progress;
  auto store = import_trace(path, import);
  if (!store) return store.error();
  if (options.pseudonyms != nullptr) report::anonymize_names(*store, *options.pseudonyms);
  AnalysisOptions analysis = options.analysis;
  analysis.progress = &progress;
  const auto results = run_analyses(*store, analysis);
  if (!results) return results.error();
  if (interrupted()) return Error{ErrorCode::cancelled, "interrupted", ""};
  Diagnosis diagnosis = diagnose(*store, *results, analysis);
  if (options.pseudonyms != nullptr) report::anonymize_shapes(*store, diagnosis, *options.pseudonyms);
  LoadedRun run{report::build_document(*store, *results, diagnosis, {}), {}};
  if (views) run.views = report::make_views(*store, *results);
  run.views.call_tree = results->call_tree;
  return run;
}

// A report or baseline that was written before.
Result<report::Document> load_document(const std::string& path, Content content, const LoadOptions& options) {
  if (options.pseudonyms != nullptr)
    return Error{ErrorCode::invalid_argument, "--anonymize works on traces: this is a report, with the names in it",
                 path};
  const auto text = read_text(path);
  if (!text) return text.error();
  return content == Content::report ? report::parse_document(*text) : report::parse_baseline(*text);
}

}  // namespace

Result<LoadedRun> load_run(const std::string& path, const LoadOptions& options, bool views) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return Error{ErrorCode::invalid_argument, "is a folder; name one trace, report.json or baseline", path};
  const Content content = path == "-" ? Content::trace : content_of(path);
  auto run = [&]() -> Result<LoadedRun> {
    if (content == Content::trace) return load_trace(path, options, views);
    auto document = load_document(path, content, options);
    if (!document) return document.error();
    return LoadedRun{std::move(*document), {}};
  }();
  if (!run && run.error().where.find(path) == std::string::npos)
    return Error{run.error().code, run.error().message, path};
  return run;
}

Result<report::Document> load_run(const std::string& path, const LoadOptions& options) {
  auto run = load_run(path, options, false);
  if (!run) return run.error();
  return std::move(run->document);
}

}  // namespace accel::cli
