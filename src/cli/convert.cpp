// accel-profiler convert: a trace in another format.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/atomic_file.h"
#include "cli/anonymize_key.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/job_trace.h"
#include "cli/ranges.h"
#include "diagnosis/diagnosis.h"
#include "ingest/importer.h"
#include "report/anonymize/anonymize.h"
#include "report/chrome_json/chrome_json.h"
#include "report/perfetto/perfetto.h"
#include "report/plain_text.h"

namespace accel::cli {
namespace {

enum class Format { perfetto, json, packed_json };

struct Options {
  std::string input;
  std::string output;
  std::string steps;
  std::string time;
  ImportOptions import;
  AnalysisOptions analysis;
  AnonymizeOptions anonymize;
  bool quiet = false;
};

Result<Format> format_of(const std::string& output) {
  const auto ends = [&](std::string_view suffix) { return output.ends_with(suffix); };
  if (is_perfetto_name(output)) return Format::perfetto;
  if (ends(".json")) return Format::json;
  if (ends(".json.gz")) return Format::packed_json;
  std::string why = "the ending of the file says what to write: .perfetto, .json or .json.gz";
  if (ends(".parquet"))
    why =
        "Parquet is not written by this command: the Python package hands the tables to pyarrow; here .perfetto, .json "
        "and .json.gz are written";
  if (ends(".accel"))
    why =
        "the native format is written while a job runs, not from another trace; here .perfetto, .json and .json.gz "
        "are written";
  return Error{ErrorCode::invalid_argument, why, output};
}

// The file as its bytes come: it takes its name when all are there.
Result<void> write_file(const std::string& path, const std::function<void(const report::ByteSink&)>& write) {
  auto file = AtomicFile::create(path);
  if (!file) return file.error();
  Result<void> state;
  write([&](std::string_view bytes) {
    if (state) state = file->write(bytes);
  });
  if (!state) return state;
  if (auto flushed = file->flush(); !flushed) return flushed;
  if (interrupted()) return Error{ErrorCode::cancelled, "interrupted", ""};
  return file->publish();
}

Result<void> convert(const Options& options, Format format) {
  ConsoleProgress progress(options.quiet, options.input);
  ImportOptions import = options.import;
  import.progress = &progress;
  auto store = import_trace(options.input, import);
  if (!store) return store.error();
  if (!options.quiet && !(store->run_steps.empty() && store->counter_infos.empty()))
    print_warning("the record of the whole run and the units of counters have no place in the new file");
  report::Pseudonyms pseudonyms;
  if (options.anonymize.wanted) {
    auto key = load_key(options.anonymize.key);
    if (!key) return key.error();
    pseudonyms = std::move(*key);
    report::anonymize_names(*store, pseudonyms);
  }
  AnalysisResults results;
  if (format == Format::perfetto) {
    AnalysisOptions analysis = options.analysis;
    analysis.progress = &progress;
    auto made = run_analyses(*store, analysis);
    if (!made) return made.error();
    results = std::move(*made);
  }
  if (options.anonymize.wanted) {
    Diagnosis none;
    report::anonymize_shapes(*store, none, pseudonyms);
    if (auto saved = save_key(pseudonyms, options.anonymize.key); !saved) return saved;
  }
  if (interrupted()) return Error{ErrorCode::cancelled, "interrupted", ""};
  return write_file(options.output, [&](const report::ByteSink& sink) {
    if (format == Format::json) return report::write_chrome_json(*store, sink);
    if (format == Format::packed_json) {
      report::Deflater deflater(report::Deflater::Format::gzip, sink);
      report::write_chrome_json(*store, [&](std::string_view bytes) { deflater.append(bytes); });
      return deflater.finish();
    }
    report::PerfettoTrace trace(sink);
    trace.add(*store, results);
    trace.finish();
  });
}

int run(Options& options) {
  const auto format = format_of(options.output);
  if (!format) {
    print_error(format.error());
    return kUsage;
  }
  if (const auto set = set_ranges(options.steps, options.time, options.import); !set) {
    print_error(set.error());
    return kUsage;
  }
  options.analysis.threads = options.import.threads;
  install_interrupt_handlers();
  const auto done = convert(options, *format);
  if (!done) {
    if (done.error().code == ErrorCode::cancelled) die_of_interrupt();
    print_error(done.error().where.empty() ? Error{done.error().code, done.error().message, options.input}
                                           : done.error());
    return kUnreadable;
  }
  if (!options.quiet) {
    const char* reader = *format == Format::perfetto
                             ? "open it in https://ui.perfetto.dev (the file stays on this machine)"
                             : "for chrome://tracing, ui.perfetto.dev and other readers";
    fmt::print("{}: {}\n", report::visible_text(options.output), reader);
    if (options.anonymize.wanted) {
      print_warning(
          fmt::format("the names behind the pseudonyms stand in {}: it is for you alone; shapes are gone, so "
                      "an analysis of the new file has no FLOPs",
                      options.anonymize.key));
    }
  }
  return finish_output(kDone);
}

std::function<int()> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("IN", options->input, "any trace that analyze reads, or - for standard input")
      ->required()
      ->type_name("");
  app.add_option("OUT", options->output, "file to write; its ending says what: .perfetto, .json, .json.gz")
      ->required()
      ->type_name("");
  app.add_option("--steps", options->steps, "only these steps, by number: 3:8, 3:, :8 or 5")->type_name("A:B");
  app.add_option("--time", options->time, "only this stretch, from the start of the trace: 1.5s:2s, 200ms:")
      ->type_name("A:B");
  app.add_option("--rank", options->import.rank, "rank of the trace, where the file does not say it")->type_name("N");
  app.add_option("--step-annotation", options->analysis.step_annotation,
                 "the user range that marks a step, instead of ProfilerStep#N")
      ->type_name("NAME");
  app.add_option("--threads", options->import.threads, "threads to use [one per core]")
      ->check(CLI::Range(0U, 1024U).description(""))
      ->type_name("N");
  add_anonymize(app, options->anonymize);
  app.add_flag("--quiet", options->quiet, "print errors only");
  return [options] { return run(*options); };
}

}  // namespace

extern const CommandDescriptor convert_command;
const CommandDescriptor convert_command = {
    "convert",
    "write a trace in another format: Perfetto, Chrome JSON",
    "把 trace 转成其他格式：Perfetto、Chrome JSON",
    "  accel-profiler convert trace.json.gz trace.perfetto\n"
    "  accel-profiler convert capture.accel capture.json.gz\n"
    "  accel-profiler convert trace.json.gz steps.json --steps 3:5\n",
    declare,
};

}  // namespace accel::cli
