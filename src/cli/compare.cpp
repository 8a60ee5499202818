// accel-profiler compare: what changed between two runs, and by what.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/compare_runs.h"
#include "cli/fail_if.h"
#include "cli/interrupt.h"

namespace accel::cli {
namespace {

std::function<int()> declare(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  app.add_option("BEFORE", options->before, "a trace, a report.json or a saved baseline")->required()->type_name("");
  app.add_option("AFTER", options->after, "likewise")->required()->type_name("");
  app.add_option("-o,--output", options->output, "folder for the report [none: print only]")->type_name("DIR");
  app.add_option("--format", options->formats, "what to make, comma-separated: json, md, html, terminal [all]")
      ->delimiter(',')
      ->type_name("LIST");
  add_fail_if(app, options->fail_if, true);
  add_anonymize(app, options->anonymize);
  app.add_option("--step-annotation", options->load.analysis.step_annotation,
                 "the user range that marks a step, instead of ProfilerStep#N")
      ->type_name("NAME");
  app.add_option("--threads", options->load.import.threads, "threads to use [one per core]")
      ->check(CLI::Range(0U, 1024U).description(""))
      ->type_name("N");
  app.add_option("--lang", options->language, "language of the readable reports: en or zh [en]")
      ->check(CLI::IsMember({"en", "zh"}).description(""))
      ->type_name("LANG");
  app.add_flag("--quiet", options->load.quiet, "print errors and failed conditions only");
  app.add_flag("--no-color", options->no_colour, "no colours on the terminal (NO_COLOR works too)");
  return [options] {
    install_interrupt_handlers();
    options->load.analysis.threads = options->load.import.threads;
    return compare_runs(*options);
  };
}

}  // namespace

extern const CommandDescriptor compare_command;
const CommandDescriptor compare_command = {
    "compare",
    "show what changed between two runs, and by what",
    "比较两次运行：什么变了，由什么引起",
    "  accel-profiler compare before.json.gz after.json.gz -o evidence\n"
    "  accel-profiler compare last-week.json today.json.gz --fail-if 'step_time > 1.05x'\n",
    declare,
};

}  // namespace accel::cli
