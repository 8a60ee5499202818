// accel-profiler baseline: keeps the figures of a run in one small file, and checks a new run against it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/atomic_file.h"
#include "cli/command.h"
#include "cli/compare_runs.h"
#include "cli/console.h"
#include "cli/fail_if.h"
#include "cli/interrupt.h"
#include "report/baseline.h"

namespace accel::cli {
namespace {

// What `check` asks when nothing else is asked: noise is weighed besides.
constexpr const char* kDefaultCondition = "step_time > 1.05x";

int save(const CompareOptions& options) {
  const auto run = load_run(options.before, options.load);
  if (!run) {
    if (run.error().code == ErrorCode::cancelled) die_of_interrupt();
    print_error(run.error());
    return run.error().code == ErrorCode::invalid_argument ? kUsage : kUnreadable;
  }
  if (!run->step_time.mean_ms) {
    print_error(Error{ErrorCode::unreadable, "holds no complete step: it cannot be a baseline", options.before});
    return kUnreadable;
  }
  const std::string text = report::baseline_text(*run);
  const OutputFile files[] = {{options.after, text}};
  if (const auto written = write_files(files, interrupted); !written) {
    print_error(written.error());
    return kUnreadable;
  }
  if (!options.load.quiet) fmt::print("{}\n", options.after);
  return finish_output(kDone);
}

void add_common(CLI::App& app, CompareOptions& options) {
  app.add_option("--step-annotation", options.load.analysis.step_annotation,
                 "the user range that marks a step, instead of ProfilerStep#N")
      ->type_name("NAME");
  app.add_option("--threads", options.load.import.threads, "threads to use [one per core]")
      ->check(CLI::Range(0U, 1024U).description(""))
      ->type_name("N");
  app.add_flag("--quiet", options.load.quiet, "print errors and failed conditions only");
}

std::function<int()> declare(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  app.require_subcommand(1);
  CLI::App* saving = app.add_subcommand("save", "keep the figures of a run");
  saving->add_option("RUN", options->before, "a trace or a report.json")->required()->type_name("");
  saving->add_option("FILE", options->after, "the baseline to write")->required()->type_name("");
  add_common(*saving, *options);
  CLI::App* checking = app.add_subcommand("check", "compare a run with a baseline; exit status 1 when it got worse");
  checking->add_option("BASELINE", options->before, "a file that `baseline save` wrote")->required()->type_name("");
  checking->add_option("RUN", options->after, "a trace or a report.json")->required()->type_name("");
  checking->add_option("-o,--output", options->output, "folder for the report [none: print only]")->type_name("DIR");
  add_fail_if(*checking, options->fail_if, true);
  checking->add_flag("--no-color", options->no_colour, "no colours on the terminal (NO_COLOR works too)");
  add_common(*checking, *options);
  return [options, saving] {
    install_interrupt_handlers();
    options->load.analysis.threads = options->load.import.threads;
    if (saving->parsed()) return save(*options);
    if (options->fail_if.empty()) options->fail_if.emplace_back(kDefaultCondition);
    return compare_runs(*options);
  };
}

}  // namespace

extern const CommandDescriptor baseline_command;
const CommandDescriptor baseline_command = {
    "baseline",
    "keep the figures of a run, and check a new run against them",
    "保存一次运行的数值，并用以检查新的运行",
    "  accel-profiler baseline save trace.json.gz baseline.json\n"
    "  accel-profiler baseline check baseline.json new.json.gz --fail-if 'memory.peak > +5%'\n",
    declare,
};

}  // namespace accel::cli
