// accel-profiler kernels: the history of kernels over runs, what got slower, and single kernels under the microscope.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <memory>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/kernels/options.h"
#include "report/plain_text.h"

namespace accel::cli {

int kernels_failed(const Error& error) {
  if (error.code == ErrorCode::cancelled) die_of_interrupt();
  print_error(error);
  return error.code == ErrorCode::invalid_argument ? kUsage : kUnreadable;
}

std::string work_text(const history::Work& work) {
  if (work.op.empty()) return "(no op)";
  return report::visible_text(work.op + (work.dims.empty() ? "" : " " + work.dims) +
                              (work.types.empty() ? "" : " " + work.types));
}

std::string time_text(double ns) {
  return ns >= 1e6 ? fmt::format("{:.2f} ms", ns / 1e6) : fmt::format("{:.1f} us", ns / 1e3);
}

std::string when_text(std::int64_t time_ns) {
  if (time_ns <= 0) return {};
  const auto seconds = static_cast<std::time_t>(time_ns / 1'000'000'000);
  std::tm utc{};
  if (::gmtime_r(&seconds, &utc) == nullptr) return {};
  char text[32];
  return std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc) > 0 ? std::string(text) : std::string();
}

namespace {

void add_database(CLI::App& app, KernelsOptions& options) {
  app.add_option("--db", options.database, "the kernel database [accel-kernels.db]")->type_name("FILE");
}

void add_bound(CLI::App& app, KernelsOptions& options) {
  app.add_option("--keep", options.keep, "runs to keep; the oldest go first [200]")
      ->check(CLI::Range(std::int64_t{1}, history::kMostRuns).description(""))
      ->type_name("N");
}

void add_json(CLI::App& app, KernelsOptions& options) { app.add_flag("--json", options.json, "everything, as JSON"); }

void declare_record(CLI::App& app, KernelsOptions& options) {
  app.add_option("TRACE", options.paths, "traces or folders of traces")->required()->type_name("");
  app.add_option("--label", options.label, "what was special about this run, for example torch-2.11")
      ->type_name("TEXT");
  app.add_option("--counters", options.counters, "output of ncu --csv on the same job: its counters join the run")
      ->type_name("FILE");
  app.add_option("--threads", options.import.threads, "threads to use [one per core]")
      ->check(CLI::Range(0U, 1024U).description(""))
      ->type_name("N");
  add_bound(app, options);
  app.add_flag("--quiet", options.quiet, "print errors only");
}

void declare_show(CLI::App& app, KernelsOptions& options) {
  app.add_option("ID", options.kernel, "one kernel with its whole history [the heaviest of the newest run]")
      ->type_name("");
  app.add_option("--contains", options.contains, "kernels whose name, op or shape holds this text")->type_name("TEXT");
  app.add_option("--limit", options.limit, "most rows [20]")->type_name("N");
  add_json(app, options);
}

void declare_compare(CLI::App& app, KernelsOptions& options) {
  app.add_option("--run", options.run, "the run to judge [the newest]")->type_name("RUN");
  app.add_option("--against", options.against, "one earlier run [all earlier runs on the same device]")
      ->type_name("RUN");
  app.add_flag("--all", options.all, "also what became faster, and kernels that changed without a loss");
  app.add_option("--limit", options.limit, "most rows [20]")->type_name("N");
  app.add_flag("--fail", options.fail, "exit status 1 when something got slower");
  add_json(app, options);
}

void declare_replay(CLI::App& app, KernelsOptions& options) {
  app.add_option("ID", options.kernel, "the kernel, as `kernels show` numbers it")->required()->type_name("");
  app.add_option("-o,--output", options.output, "the program to write [replay-ID.py]")->type_name("FILE");
  app.add_flag("--ncu", options.ncu, "also run it under Nsight Compute, where that is installed");
  app.add_flag("--quiet", options.quiet, "print errors only");
}

void declare_counters(CLI::App& app, KernelsOptions& options) {
  app.add_option("FILE", options.counters, "output of ncu --csv")->required()->type_name("");
  app.add_option("--limit", options.limit, "most kernels [20]")->type_name("N");
  add_json(app, options);
}

std::function<int()> declare(CLI::App& app) {
  auto options = std::make_shared<KernelsOptions>();
  app.require_subcommand(1);
  CLI::App* record = app.add_subcommand("record", "add the kernels of captures to the database");
  CLI::App* show = app.add_subcommand("show", "kernels with their history, or one of them in full");
  CLI::App* runs = app.add_subcommand("runs", "the runs that the database holds");
  CLI::App* compare = app.add_subcommand("compare", "what got slower than its own history, or runs another kernel");
  CLI::App* merge = app.add_subcommand("merge", "add the runs of other databases");
  CLI::App* replay = app.add_subcommand("replay", "write a PyTorch program that runs the op of one kernel alone");
  CLI::App* counters = app.add_subcommand("counters", "say in words what hardware counters of ncu mean");
  declare_record(*record, *options);
  declare_show(*show, *options);
  add_json(*runs, *options);
  declare_compare(*compare, *options);
  merge->add_option("FROM", options->paths, "the other databases")->required()->type_name("");
  add_bound(*merge, *options);
  declare_replay(*replay, *options);
  declare_counters(*counters, *options);
  for (CLI::App* sub : {record, show, runs, compare, merge, replay}) add_database(*sub, *options);
  return [=] {
    install_interrupt_handlers();
    options->analysis.threads = options->import.threads;
    if (record->parsed()) return record_kernels(*options);
    if (show->parsed()) return show_kernels(*options);
    if (runs->parsed()) return list_kernel_runs(*options);
    if (compare->parsed()) return compare_kernels(*options);
    if (merge->parsed()) return merge_kernels(*options);
    if (replay->parsed()) return replay_kernel(*options);
    return explain_counters(*options);
  };
}

}  // namespace

extern const CommandDescriptor kernels_command;
const CommandDescriptor kernels_command = {
    "kernels",
    "the history of kernels over runs: record, show, compare, merge; counters in words; replay of one kernel",
    "核函数的跨运行历史：记录、查看、比较、合并；硬件计数器的通俗解释；单个核函数的复现",
    "  accel-profiler kernels record trace.json.gz --label torch-2.11\n"
    "  accel-profiler kernels compare --fail\n"
    "  accel-profiler kernels show 17\n"
    "  accel-profiler kernels merge node1.db node2.db --db all.db\n"
    "  accel-profiler kernels replay 17 --ncu\n"
    "  accel-profiler kernels counters ncu.csv\n",
    declare,
};

}  // namespace accel::cli
