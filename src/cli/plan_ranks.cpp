// accel-profiler plan-ranks: which ranks of a large job to record in full.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/load_digests.h"
#include "fusion/rank_plan/rank_plan.h"

namespace accel::cli {
namespace {

struct Options {
  fusion::RankPlanRequest request;
  std::vector<std::string> digests;
  RankOptions ranks;
  bool quiet = false;
};

int run(Options& options) {
  fusion::RankPlanRequest& request = options.request;
  if (!options.digests.empty()) {
    auto loaded = load_digests(options.digests, options.ranks, options.quiet);
    if (!loaded) {
      print_error(loaded.error());
      return kUnreadable;
    }
    if (!loaded->all_read) return kUnreadable;
    const fusion::Job job = fusion::fuse(std::move(loaded->digests));
    if (request.world_size == 0) request.world_size = job.set.world_size;
    for (const std::int64_t rank : fusion::suspects_of(job)) request.suspects.push_back(rank);
    if (request.pipeline_stages == 1) request.stage = fusion::stages_of(job);
    if (request.ranks_per_host == 0) request.ranks_per_host = fusion::ranks_per_host_of(job);
  }
  if (const std::string fault = fusion::fault_of(request); !fault.empty()) {
    print_error(Error{ErrorCode::invalid_argument, fault, "plan-ranks"});
    return kUsage;
  }
  std::string list;
  const std::vector<fusion::PlannedRank> plan = fusion::plan_ranks(request);
  for (const fusion::PlannedRank& one : plan) list += fmt::format("{}{}", list.empty() ? "" : ",", one.rank);
  if (options.quiet) {
    fmt::print("{}\n", list);
    return finish_output(kDone);
  }
  fmt::print("Record {} of {} ranks: {}\n", plan.size(), request.world_size, list);
  for (const fusion::PlannedRank& one : plan) fmt::print("  {:>7}  {}\n", one.rank, one.reason);
  return finish_output(kDone);
}

std::function<int()> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  fusion::RankPlanRequest& request = options->request;
  const auto count = [&](const char* name, std::int64_t& value, const char* help) {
    app.add_option(name, value, help)->check(CLI::PositiveNumber.description(""))->type_name("N");
  };
  app.add_option("DIGEST", options->digests,
                 "digests of the job, or folders of them: ranks that they suspect are recorded")
      ->type_name("");
  count("--world-size", request.world_size, "ranks of the job [what the digests say]");
  count("--per-host", request.ranks_per_host, "ranks on one host [what the digests say]");
  count("--pipeline-stages", request.pipeline_stages,
        "stages of a pipeline, each of ranks that follow each other [what the digests' sends show, else 1]");
  count("--most", request.most, "ranks to record at most, beside suspects, first and last [16]");
  app.add_option("--suspect", request.suspects, "a rank to record in any case; may be repeated")->type_name("RANK");
  add_rank_options(app, options->ranks.import, options->ranks.analysis);
  app.add_flag("--quiet", options->quiet, "print the list alone: 0,7,8,15");
  return [options] {
    install_interrupt_handlers();
    settle(options->ranks);
    return run(*options);
  };
}

}  // namespace

extern const CommandDescriptor plan_ranks_command;
const CommandDescriptor plan_ranks_command = {
    "plan-ranks",
    "say which ranks of a large job to record",
    "给出大规模作业中应采集哪些 rank",
    "  accel-profiler plan-ranks --world-size 1024 --per-host 8\n"
    "  accel-profiler plan-ranks digests/ --per-host 8 --pipeline-stages 4\n",
    declare,
};

}  // namespace accel::cli
