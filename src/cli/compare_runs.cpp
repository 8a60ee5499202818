#include "cli/compare_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/atomic_file.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/fail_if.h"
#include "cli/interrupt.h"
#include "cli/output_formats.h"
#include "report/compare_documents.h"

namespace accel::cli {
namespace {

int failed(const Error& error) {
  if (error.code == ErrorCode::cancelled) {
    print_error("interrupted; nothing was written");
    die_of_interrupt();
  }
  print_error(error);
  return error.code == ErrorCode::invalid_argument ? kUsage : kUnreadable;
}

Result<std::vector<std::string>> write_reports(const std::vector<const report::WriterDescriptor*>& writers,
                                               const report::Document& document, const CompareOptions& options,
                                               const report::WriterOptions& writer_options) {
  std::vector<std::string> paths;
  std::vector<std::string> contents;
  for (const report::WriterDescriptor* writer : writers) {
    if (writer->file_name.empty()) continue;
    paths.push_back((std::filesystem::path(options.output) / writer->file_name).string());
    contents.push_back(writer->write(document, writer_options));
  }
  std::vector<OutputFile> files;
  files.reserve(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) files.push_back({paths[i], contents[i]});
  if (auto written = write_files(files, interrupted); !written) return written.error();
  return paths;
}

}  // namespace

int compare_runs(const CompareOptions& options) {
  const auto conditions = parse_conditions(options.fail_if, true);
  if (!conditions) return kUsage;
  const auto writers = writers_for(options.formats, false);
  if (!writers) return failed(writers.error());
  LoadOptions load = options.load;
  report::Pseudonyms pseudonyms;
  if (options.anonymize.wanted) {
    auto key = load_key(options.anonymize.key);
    if (!key) return failed(key.error());
    pseudonyms = std::move(*key);
    load.pseudonyms = &pseudonyms;
  }
  const bool page = !options.output.empty() && std::any_of(writers->begin(), writers->end(),
                                                           [](const auto* writer) { return writer->id == "html"; });
  auto before = load_run(options.before, load, page);
  if (!before) return failed(before.error());
  auto after = load_run(options.after, load, page);
  if (!after) return failed(after.error());
  after->views.call_tree_before = before->views.call_tree;
  const report::Document document = report::compare_documents(
      before->document, std::move(after->document), before->views.call_tree.get(), after->views.call_tree.get());
  if (options.anonymize.wanted) {
    if (auto saved = save_key(pseudonyms, options.anonymize.key); !saved) return failed(saved.error());
  }

  report::WriterOptions writer_options;
  writer_options.language = report::parse_language(options.language).value_or(report::Language::english);
  writer_options.views = &after->views;
  if (!options.output.empty()) {
    auto files = write_reports(*writers, document, options, writer_options);
    if (!files) return failed(files.error());
    writer_options.files = std::move(*files);
  }
  if (!options.load.quiet) {
    writer_options.colour = colour_wanted(options.no_colour);
    writer_options.columns = terminal_columns();
    for (const report::WriterDescriptor* writer : *writers) {
      if (!writer->file_name.empty()) continue;
      const std::string text = writer->write(document, writer_options);
      std::fwrite(text.data(), 1, text.size(), stdout);
    }
  }
  return finish_output(check_conditions(*conditions, &before->document, document));
}

}  // namespace accel::cli
