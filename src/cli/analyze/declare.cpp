// accel-profiler analyze: its options.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "analysis/transformation.h"
#include "cli/analyze/options.h"
#include "cli/anonymize_key.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/fail_if.h"
#include "cli/find_topology.h"
#include "cli/interrupt.h"
#include "cli/output_formats.h"
#include "cli/ranges.h"

namespace accel::cli {
namespace {

// A check without a line of its own in the help.
CLI::Validator quiet(CLI::Validator check) { return check.description(""); }

// As typed; turned into AnalyzeOptions before the work begins.
struct Typed {
  AnalyzeOptions options;
  std::string steps;
  std::string time;
  std::string language = "en";
  std::vector<std::string> formats;
  AnonymizeOptions anonymize;
  std::vector<std::string> fail_if;
  std::vector<std::string> what_if;
};

Result<void> set_stretch(Typed& typed) { return set_ranges(typed.steps, typed.time, typed.options.import); }

Result<void> set_writers(Typed& typed) {
  auto writers = writers_for(typed.formats);
  if (!writers) return writers.error();
  typed.options.writers = std::move(*writers);
  return {};
}

Result<void> set_questions(Typed& typed) {
  for (const std::string& text : typed.what_if) {
    auto question = parse_transformations(text);
    if (!question) return question.error();
    typed.options.analysis.what_if.push_back(std::move(*question));
  }
  return {};
}

std::string what_if_help() {
  std::string text =
      "predict the undisturbed step with changes, joined by ';' (repeat for another question). A NAME is a part of the "
      "name of a kernel, op, range, frame or call; NAME|NAME takes either. There are:";
  for (const TransformationDescriptor& kind : transformation_kinds())
    text += fmt::format("\n  {}: {}", kind.example, kind.meaning);
  return text;
}

int run(Typed& typed) {
  for (const auto set : {set_stretch, set_writers, set_questions}) {
    if (const auto result = set(typed); !result) {
      print_error(result.error());
      return kUsage;
    }
  }
  auto conditions = parse_conditions(typed.fail_if, false);
  if (!conditions) return kUsage;
  typed.options.fail_if = std::move(*conditions);
  typed.options.language = report::parse_language(typed.language).value_or(report::Language::english);
  if (typed.anonymize.wanted) typed.options.anonymize_key = typed.anonymize.key;
  typed.options.analysis.threads = typed.options.import.threads;
  install_interrupt_handlers();
  return analyze(typed.options);
}

std::function<int()> declare(CLI::App& app) {
  auto typed = std::make_shared<Typed>();
  AnalyzeOptions& options = typed->options;
  app.add_option("PATH", options.paths, "a trace, a folder of traces, or - for standard input")
      ->required()
      ->type_name("");
  add_topology(app, options.topology);
  app.add_option("--counters", options.counters,
                 "output of ncu --csv on the same job: says why the heavy kernels of the trace are not faster")
      ->type_name("FILE");
  app.add_option("-o,--output", options.output,
                 fmt::format("folder for the report [{}/NAME of the trace]", kDefaultFolder))
      ->type_name("DIR");
  app.add_option("--format", typed->formats, "what to make, comma-separated: html, json, md, perfetto, terminal [all]")
      ->delimiter(',')
      ->type_name("LIST");
  app.add_option("--steps", typed->steps, "only these steps, by number: 3:8, 3:, :8 or 5")->type_name("A:B");
  app.add_option("--time", typed->time, "only this stretch, from the start of the trace: 1.5s:2s, 200ms:")
      ->type_name("A:B");
  app.add_option_function<std::int64_t>(
         "--rank", [typed](const std::int64_t& rank) { typed->options.import.rank = rank; },
         "one trace: it is of this rank; several: only that of this rank")
      ->check(quiet(CLI::NonNegativeNumber))
      ->type_name("N");
  app.add_option("--step-annotation", options.analysis.step_annotation,
                 "the user range that marks a step, instead of ProfilerStep#N")
      ->type_name("NAME");
  app.add_option("--samples-per-step", options.report.samples_per_step,
                 "samples in a step of one rank, for the throughput [what the recorded shapes say]")
      ->check(quiet(CLI::Range(1e-9, 1e15)))
      ->type_name("N");
  app.add_option("--tokens-per-step", options.report.tokens_per_step, "tokens in a step of one rank, likewise")
      ->check(quiet(CLI::Range(1e-9, 1e15)))
      ->type_name("N");
  app.add_option("--what-if", typed->what_if, what_if_help())->type_name("CHANGES")->allow_extra_args(false);
  app.add_option("--health-kernel-share", options.analysis.health_kernel_share,
                 "kernel share of a step that is still healthy [0.85]")
      ->check(quiet(CLI::Range(0.0, 1.0)))
      ->type_name("SHARE");
  app.add_option("--health-idle-share", options.analysis.health_idle_share,
                 "idle share of a step that is still healthy [0.2]")
      ->check(quiet(CLI::Range(0.0, 1.0)))
      ->type_name("SHARE");
  app.add_option("--threads", options.import.threads, "threads to use [one per core]")
      ->check(quiet(CLI::Range(0U, 1024U)))
      ->type_name("N");
  app.add_option("--lang", typed->language, "language of the readable reports: en or zh [en]")
      ->check(quiet(CLI::IsMember({"en", "zh"})))
      ->type_name("LANG");
  add_anonymize(app, typed->anonymize);
  add_fail_if(app, typed->fail_if, false);
  app.add_flag("--full", options.report.full, "cut no list in the report");
  app.add_flag("--strict", options.strict, "exit status 4 when something recorded is missing from a trace");
  app.add_flag("--quiet", options.quiet, "print errors only; write the files");
  app.add_flag("--no-color", options.no_colour, "no colours on the terminal (NO_COLOR works too)");
  return [typed] { return run(*typed); };
}

}  // namespace

extern const CommandDescriptor analyze_command;
const CommandDescriptor analyze_command = {
    "analyze",
    "find out why a recorded training job is slow, and what to change",
    "找出训练任务慢在何处以及如何修改",
    "  accel-profiler analyze trace.json.gz\n"
    "  accel-profiler analyze trace.json.gz -o report --steps 3:8\n"
    "  accel-profiler analyze traces/ --format json --quiet\n"
    "  accel-profiler analyze trace.json.gz --counters ncu.csv\n"
    "  accel-profiler analyze trace.json.gz --anonymize -o for-the-vendor\n"
    "  zcat trace.json.gz | accel-profiler analyze - --format terminal\n"
    "  accel-profiler analyze trace.json.gz --what-if 'data_ready;graph' --what-if 'scale(attention, 0.4)'\n",
    declare,
};

}  // namespace accel::cli
