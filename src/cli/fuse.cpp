// accel-profiler fuse: the ranks of a job onto one time axis; --dry-run says what could be fused.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/anonymize_key.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/fail_if.h"
#include "cli/find_topology.h"
#include "cli/interrupt.h"
#include "cli/job_report.h"
#include "cli/job_trace.h"
#include "cli/load_digests.h"
#include "cli/rank_options.h"
#include "report/plain_text.h"

namespace accel::cli {
namespace {

constexpr const char* kDefaultFolder = "accel-report";
constexpr std::size_t kListed = 16;

struct Options {
  std::vector<std::string> paths;
  std::vector<std::string> topology;
  std::vector<std::string> fail_if;
  std::string output = kDefaultFolder;
  bool dry_run = false;
  std::string language = "en";
  bool full = false;
  bool quiet = false;
  bool no_colour = false;
  AnonymizeOptions anonymize;
  RankOptions ranks;
};

std::string list_of(const std::vector<std::int64_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kListed); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  return ranks.size() > kListed ? fmt::format("{}, ... ({} in all)", text, ranks.size()) : text;
}

// Everything that keeps the ranks from being compared, or the comparison from being whole.
std::vector<std::string> obstacles(const fusion::Job& job) {
  std::vector<std::string> out;
  const fusion::RankSet& set = job.set;
  if (set.ranks.size() < 2) out.emplace_back("fewer than two ranks of one job");
  if (!set.missing.empty()) out.push_back(fmt::format("no file of rank {}", list_of(set.missing)));
  for (const fusion::LeftOut& file : set.left_out)
    out.push_back(fmt::format("{} left out: {}", report::visible_text(file.source), file.reason));
  if (!set.apart.empty()) out.push_back(fmt::format("no step in common with the others: rank {}", list_of(set.apart)));
  for (const fusion::Divergence& one : job.matching.divergences) {
    out.push_back(fmt::format("step {}, operation {}: rank {} issued {}, the others {}{}", one.step, one.index,
                              list_of(one.ranks), report::visible_text(one.they_issue),
                              report::visible_text(one.others_issue),
                              one.records_lost ? " (its recording lost records)" : ""));
  }
  for (const fusion::HostClock& clock : job.clocks.hosts)
    if (!clock.aligned)
      out.push_back(fmt::format("clock of {} not aligned: {}", report::visible_text(clock.host), clock.method));
  if (job.clocks.causality_violated > 0) {
    out.push_back(fmt::format("{} of {} collectives end before their last rank arrives, by up to {:.1f} us",
                              job.clocks.causality_violated, job.clocks.causality_checked,
                              job.clocks.causality_worst_ns / 1e3));
  }
  return out;
}

void print_outcome(const fusion::Job& job) {
  std::vector<std::int64_t> present;
  present.reserve(job.set.ranks.size());
  for (std::size_t row = 0; row < job.set.ranks.size(); ++row) present.push_back(job.set.rank_of(row));
  fmt::print("Ranks       {} found: {}", present.size(), list_of(present));
  if (job.set.world_size > 0) fmt::print("; the job has {}", job.set.world_size);
  fmt::print("\nSteps       {} on two ranks or more\n", job.set.step_numbers.size());
  for (const fusion::MatchedGroup& group : job.matching.groups) {
    fmt::print("Group       {}: {} of {} ranks here, {} collectives matched by {}, {} events without a partner{}\n",
               group.name.empty() ? "of all ranks" : report::visible_text(group.name), group.present.size(),
               group.ranks.empty() ? std::string("unknown") : std::to_string(group.ranks.size()), group.matched,
               to_string(group.method), group.unmatched,
               group.why.empty() ? std::string() : " (not by number: " + group.why + ")");
  }
  double largest = 0;
  std::string host;
  for (const fusion::HostClock& clock : job.clocks.hosts) {
    if (!clock.aligned || std::abs(clock.offset_ns()) <= largest) continue;
    largest = std::abs(clock.offset_ns());
    host = clock.host;
  }
  fmt::print(
      "Clocks      largest offset corrected: {:.1f} us{}; error at most {:.1f} us; {} of {} collectives checked for "
      "ends before the last arrival, {} beyond the error\n",
      largest / 1e3, host.empty() ? "" : " (" + report::visible_text(host) + ")", job.clocks.worst_residual_ns() / 1e3,
      job.clocks.causality_checked, job.matching.collectives.size(), job.clocks.causality_violated);
  double starts = 0;
  double ends = 0;
  for (const fusion::CollectiveTiming& timing : job.timings) {
    if (!timing.end_spread_ns) continue;
    starts = std::max(starts, timing.arrival_spread_ns);
    ends = std::max(ends, *timing.end_spread_ns);
  }
  if (ends > 0)
    fmt::print("Spreads     ranks of one collective arrive up to {:.1f} us apart and leave up to {:.1f} us apart\n",
               starts / 1e3, ends / 1e3);
  const std::vector<std::string> blocks = obstacles(job);
  if (blocks.empty()) fmt::print("Fusion      nothing stands in its way\n");
  for (const std::string& block : blocks) fmt::print("In the way  {}\n", block);
}

int failed(const Error& error) {
  if (error.code == ErrorCode::cancelled) die_of_interrupt();
  print_error(error);
  return error.code == ErrorCode::invalid_argument ? kUsage : kUnreadable;
}

int run(const Options& options) {
  const auto conditions = parse_conditions(options.fail_if, false);
  if (!conditions) return kUsage;
  report::Pseudonyms pseudonyms;
  if (options.anonymize.wanted) {
    auto key = load_key(options.anonymize.key);
    if (!key) return failed(key.error());
    pseudonyms = std::move(*key);
  }
  report::Pseudonyms* const hidden = options.anonymize.wanted ? &pseudonyms : nullptr;
  auto loaded = load_digests(options.paths, options.ranks, options.quiet, hidden);
  if (!loaded) {
    print_error(loaded.error());
    return kUnreadable;
  }
  const int status = loaded->all_read ? kDone : kUnreadable;
  auto topology = find_topology(options.topology, loaded->files);
  if (!topology) return failed(topology.error());
  if (!*topology) *topology = std::move(loaded->topology);
  if (hidden != nullptr && *topology) (*topology)->source = "topology";
  const fusion::Job job = fusion::fuse(std::move(loaded->digests), std::move(*topology));
  const auto say_dumps = [&] {
    if (loaded->dumps.empty() || options.quiet) return;
    const bool chinese = options.language == "zh";
    fmt::print("{}{}", loaded->dumps.text(chinese), loaded->dumps.agreement(job.set.ranks, chinese));
  };
  if (options.dry_run) {
    print_outcome(job);
    say_dumps();
    return finish_output(status != kDone ? status : worth_a_report(job) ? kDone : kUnreadable);
  }
  if (!worth_a_report(job)) {
    print_error(Error{ErrorCode::not_found, "fewer than two ranks of one job were found; --dry-run says what was",
                      options.paths.front()});
    return kUnreadable;
  }
  if (hidden != nullptr) {
    if (auto saved = save_key(pseudonyms, options.anonymize.key); !saved) return failed(saved.error());
    if (!options.quiet)
      print_warning(
          fmt::format("the names behind the pseudonyms stand in {}: it is for you alone", options.anonymize.key));
  }
  if (is_perfetto_name(options.output)) {
    const auto written = write_job_trace(
        job, loaded->path_of, {options.output, options.ranks.import, options.ranks.analysis, options.quiet, hidden});
    if (!written) return failed(written.error());
    if (hidden != nullptr) {
      if (auto saved = save_key(pseudonyms, options.anonymize.key); !saved) return failed(saved.error());
    }
    if (!options.quiet) {
      fmt::print("{}: {} ranks on one time axis, clocks off by at most {:.1f} us; open it in https://ui.perfetto.dev\n",
                 report::visible_text(options.output), job.set.ranks.size(), job.clocks.worst_residual_ns() / 1e3);
    }
    return finish_output(status);
  }
  JobReportOptions report{options.output,
                          {},
                          report::parse_language(options.language).value_or(report::Language::english),
                          options.full,
                          options.quiet,
                          options.no_colour,
                          {},
                          std::move(loaded->trees)};
  for (const report::WriterDescriptor& writer : report::writers())
    if (report::is_available(writer) && !writer.of_one_trace) report.writers.push_back(&writer);
  const auto document = report_job(job, report);
  if (!document) {
    print_error(document.error());
    return kUnreadable;
  }
  say_dumps();
  return finish_output(std::max(status, check_conditions(*conditions, nullptr, *document)));
}

std::function<int()> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("PATH", options->paths, "traces or digests of the ranks, or folders of them")
      ->required()
      ->type_name("");
  app.add_flag(
      "--dry-run", options->dry_run,
      "only say which ranks were found and are missing, what offsets were corrected, how many collectives match");
  app.add_option(
         "-o,--output", options->output,
         fmt::format("folder for the report [{}]; NAME.perfetto: one timeline of all ranks instead", kDefaultFolder))
      ->type_name("DIR");
  add_topology(app, options->topology);
  add_rank_options(app, options->ranks.import, options->ranks.analysis);
  app.add_option("--lang", options->language, "language of the readable reports: en or zh [en]")
      ->check(CLI::IsMember({"en", "zh"}).description(""))
      ->type_name("LANG");
  add_anonymize(app, options->anonymize);
  add_fail_if(app, options->fail_if, false);
  app.add_flag("--full", options->full, "cut no list in the report");
  app.add_flag("--quiet", options->quiet, "print errors only; write the files");
  app.add_flag("--no-color", options->no_colour, "no colours on the terminal (NO_COLOR works too)");
  return [options] {
    install_interrupt_handlers();
    settle(options->ranks);
    return run(*options);
  };
}

}  // namespace

extern const CommandDescriptor fuse_command;
const CommandDescriptor fuse_command = {
    "fuse",
    "put the ranks of a job onto one time axis and find who holds it up",
    "把作业的各个 rank 对齐到同一时间轴，找出拖慢作业的 rank",
    "  accel-profiler fuse traces/\n"
    "  accel-profiler fuse traces/ --dry-run\n"
    "  accel-profiler fuse digests/*.accdigest -o job\n"
    "  accel-profiler fuse traces/ -o fused.perfetto\n",
    declare,
};

}  // namespace accel::cli
