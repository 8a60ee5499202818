// accel-profiler analyze: reads, analyses, writes. One trace gives one report; several give one each and a table.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "cli/analyze/flight_dumps.h"
#include "cli/analyze/options.h"
#include "cli/analyze/overview.h"
#include "cli/anonymize_key.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/fail_if.h"
#include "cli/find_topology.h"
#include "cli/find_traces.h"
#include "cli/interrupt.h"
#include "cli/job_report.h"
#include "cli/kernels/counter_files.h"
#include "cli/load_rank.h"
#include "diagnosis/counter_reasons.h"
#include "diagnosis/diagnosis.h"
#include "fusion/digest/make_digest.h"
#include "fusion/rank_set/load_digest.h"
#include "report/anonymize/anonymize.h"
#include "report/build_document.h"
#include "report/html/rank_trees.h"
#include "report/html/views.h"
#include "report/writer.h"

namespace accel::cli {
namespace {

namespace fs = std::filesystem;

// A trace that was analysed, before its report is written.
struct Analysed {
  std::string name;
  report::Document document;
  report::Views views;  // what the writers need
};

bool lost_data(const report::Document& document) {
  return std::any_of(document.notes.begin(), document.notes.end(),
                     [](const report::Note& note) { return !(note.severity == "info"); });
}

std::string count_of(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

class Run {
 public:
  explicit Run(const AnalyzeOptions& options) : options_(options) {}

  int run() {
    auto candidates = find_traces(options_.paths);
    if (!candidates) {
      print_error(candidates.error());
      return kUnreadable;
    }
    several_ = candidates->size() > 1;
    std::vector<std::string> files;
    files.reserve(candidates->size());
    for (const Candidate& candidate : *candidates) files.push_back(candidate.path);
    auto topology = find_topology(options_.topology, files);
    if (!topology) return failed(topology.error());
    topology_ = std::move(*topology);
    if (!options_.anonymize_key.empty() && topology_) topology_->source = "topology";
    auto counters = read_counter_files(options_.counters);
    if (!counters) return failed(counters.error());
    counters_ = std::move(*counters);
    if (auto loaded = load_pseudonyms(); !loaded) return failed(loaded.error());
    for (const Candidate& candidate : *candidates) {
      if (auto done = take(candidate); !done) return failed(done.error());
    }
    if (auto done = finish(); !done) return failed(done.error());
    if (!flight_dumps_.empty()) {
      if (auto done = finish_dumps(); !done) return failed(done.error());
    }
    if (status_ == kDone) status_ = conditions_;
    if (options_.strict && lost_data_ && status_ == kDone) status_ = kPartlyRead;
    return finish_output(status_);
  }

 private:
  int failed(const Error& error) {
    if (error.code == ErrorCode::cancelled) {
      print_error("interrupted; no report was written for what was not finished");
      die_of_interrupt();
    }
    print_error(error);
    return kUnreadable;
  }

  // One file: read, analyse, keep or write. An error in the result ends the run; a file that cannot be read does not.
  Result<void> take(const Candidate& candidate);
  Result<void> take_digest(const Candidate& candidate);
  Result<void> finish_several(const std::optional<fusion::Job>& job);
  Result<std::optional<Analysed>> analyse(const Candidate& candidate);
  void not_read(const Candidate& candidate, const Error& error);
  Result<void> finish();
  Result<void> finish_dumps();
  Result<void> load_pseudonyms();
  Result<std::vector<std::string>> write(const Analysed& analysed, const fs::path& folder);
  Result<void> write_to_own_folder(const Analysed& analysed);
  fs::path base_folder() const {
    return options_.output.empty() ? fs::path(kDefaultFolder) : fs::path(options_.output);
  }
  bool prints() const {
    return !options_.quiet && std::any_of(options_.writers.begin(), options_.writers.end(),
                                          [](const auto* writer) { return writer->file_name.empty(); });
  }

  void join_counters(const Candidate& candidate, const TraceStore& store, const AnalysisResults& results,
                     Diagnosis& diagnosis) const;

  const AnalyzeOptions& options_;
  std::vector<KernelCounters> counters_;      // of --counters
  report::Pseudonyms pseudonyms_;             // when reports are made anonymous
  bool several_ = false;                      // files to try; how many are traces shows only by reading them
  std::optional<Analysed> first_;             // waits until it is known whether it is the only one
  std::vector<OverviewRow> overview_;         // of those written when there are several
  std::optional<fusion::Topology> topology_;  // of the hosts, where it is known
  std::vector<fusion::RankDigest> digests_;   // of all of them then: ranks of one job are compared at the end
  std::vector<report::RankReport> rank_reports_;
  std::vector<report::RankTree> rank_trees_;
  std::vector<std::string> skipped_;  // files of folders that are no traces
  std::string last_reason_;
  FlightDumps flight_dumps_;
  std::string agreement_;  // of dumps and traces
  bool lost_data_ = false;
  int conditions_ = kDone;  // what --fail-if says of the traces so far
  int status_ = kDone;
};

Result<std::optional<Analysed>> Run::analyse(const Candidate& candidate) {
  ConsoleProgress progress(options_.quiet, candidate.path);
  ImportOptions import = options_.import;
  import.progress = &progress;
  if (several_) import.rank.reset();
  auto store = import_trace(candidate.path, import);
  if (!store) return store.error();
  if (several_ && options_.import.rank && store->process.rank != options_.import.rank) return std::optional<Analysed>();
  const bool anonymous = !options_.anonymize_key.empty();
  if (!topology_) {
    topology_ = recorded_topology(*store);
    if (anonymous && topology_) topology_->source = "topology";
  }
  if (anonymous) report::anonymize_names(*store, pseudonyms_);
  AnalysisOptions analysis = options_.analysis;
  analysis.progress = &progress;
  const auto results = run_analyses(*store, analysis);
  if (!results) return results.error();
  if (interrupted()) return Error{ErrorCode::cancelled, "interrupted", ""};
  if (several_) {
    digests_.push_back(fusion::make_digest(*store, *results));
    if (anonymous) report::anonymize_digest(digests_.back(), pseudonyms_);
  }
  Diagnosis diagnosis = diagnose(*store, *results, analysis);
  if (!counters_.empty()) join_counters(candidate, *store, *results, diagnosis);
  if (anonymous) report::anonymize_shapes(*store, diagnosis, pseudonyms_);
  // A folder of reports is handed on as a whole: its names are those of the files.
  const std::string name = anonymous && several_ ? report_name(store->input.path) : candidate.name;
  return std::optional<Analysed>({name, report::build_document(*store, *results, diagnosis, options_.report),
                                  report::make_views(*store, *results, options_.writers)});
}

void Run::join_counters(const Candidate& candidate, const TraceStore& store, const AnalysisResults& results,
                        Diagnosis& diagnosis) const {
  const CounterMatch match = add_counter_reasons(diagnosis, store, results, counters_);
  if (match.matched > 0 || options_.quiet) return;
  print_warning(
      fmt::format("{}: none of its heavy kernels is among the {} of --counters, by name and launch configuration",
                  candidate.path, count_of(counters_.size(), "kernel")));
}

void Run::not_read(const Candidate& candidate, const Error& error) {
  // A folder of traces holds other things too: logs, dumps, notes.
  if (!candidate.asked_for && error.code == ErrorCode::not_a_trace) {
    skipped_.push_back(candidate.path);
    last_reason_ = error.message;
    return;
  }
  print_error(error.where.find(candidate.path) != std::string::npos ? error
                                                                    : Error{error.code, error.message, candidate.path});
  status_ = kUnreadable;
}

// A rank that was reduced to its digest has no report of its own.
Result<void> Run::take_digest(const Candidate& candidate) {
  auto digest = load_rank(candidate.path, options_.import, options_.analysis,
                          options_.anonymize_key.empty() ? nullptr : &pseudonyms_);
  if (!digest) {
    not_read(candidate, digest.error());
  } else if (!several_) {
    return Error{ErrorCode::invalid_argument, "a digest alone has no report: give those of the other ranks too",
                 candidate.path};
  } else {
    digests_.push_back(std::move(*digest));
  }
  return {};
}

Result<void> Run::take(const Candidate& candidate) {
  if (candidate.path != "-" && fusion::is_digest_file(candidate.path)) return take_digest(candidate);
  auto analysed = analyse(candidate);
  if (!analysed) {
    if (analysed.error().code == ErrorCode::cancelled) return analysed.error();
    const bool other = analysed.error().code == ErrorCode::not_a_trace;
    if (!other || !flight_dumps_.take(candidate.path)) not_read(candidate, analysed.error());
    return {};
  }
  if (!*analysed) return {};
  lost_data_ = lost_data_ || lost_data((*analysed)->document);
  conditions_ = std::max(conditions_, check_conditions(options_.fail_if, nullptr, (*analysed)->document));
  if (!first_ && overview_.empty()) {
    first_ = std::move(**analysed);
    return {};
  }
  if (first_) {
    const Analysed first = std::move(*std::exchange(first_, std::nullopt));
    if (auto written = write_to_own_folder(first); !written) return written;
  }
  return write_to_own_folder(**analysed);
}

Result<void> Run::load_pseudonyms() {
  if (options_.anonymize_key.empty()) return {};
  auto key = load_key(options_.anonymize_key);
  if (!key) return key.error();
  pseudonyms_ = std::move(*key);
  return {};
}

Result<std::vector<std::string>> Run::write(const Analysed& analysed, const fs::path& folder) {
  if (!options_.anonymize_key.empty()) {
    if (auto saved = save_key(pseudonyms_, options_.anonymize_key); !saved) return saved.error();
  }
  report::WriterOptions writer_options;
  writer_options.language = options_.language;
  writer_options.views = &analysed.views;
  std::vector<std::string> contents;
  std::vector<std::string> paths;
  for (const report::WriterDescriptor* writer : options_.writers) {
    if (writer->file_name.empty()) continue;
    contents.push_back(writer->write(analysed.document, writer_options));
    paths.push_back((folder / writer->file_name).string());
  }
  std::vector<OutputFile> files;
  files.reserve(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) files.push_back({paths[i], contents[i]});
  if (auto written = write_files(files, interrupted); !written) return written.error();
  return paths;
}

Result<void> Run::write_to_own_folder(const Analysed& analysed) {
  auto files = write(analysed, base_folder() / analysed.name);
  if (!files) return files.error();
  const auto page = std::find_if(options_.writers.begin(), options_.writers.end(),
                                 [](const auto* writer) { return writer->id == "html"; });
  if (page != options_.writers.end()) {
    const std::optional<std::int64_t> rank = analysed.document.inputs.front().rank;
    rank_reports_.push_back({rank, analysed.name + "/" + std::string((*page)->file_name)});
    if (auto tree = report::pack_rank_tree(rank, analysed.views.call_tree.get()))
      rank_trees_.push_back(std::move(*tree));
  }
  overview_.push_back(overview_row(analysed.name, analysed.document, options_.language));
  return {};
}

// What the flight recorder shows stands by itself where there is no trace, else below what the traces show.
Result<void> Run::finish_dumps() {
  if (prints()) {
    const std::string text = flight_dumps_.text(options_.language == report::Language::chinese);
    fmt::print("{}{}", text, agreement_);
  }
  if (first_ || !overview_.empty()) return {};
  const fs::path folder =
      options_.output.empty() ? base_folder() / report_name(flight_dumps_.dumps().front().source) : base_folder();
  const std::string path = (folder / "flight_recorder.json").string();
  const std::string json = flight_dumps_.json();
  const OutputFile file{path, json};
  return write_files({&file, 1}, interrupted);
}

Result<void> Run::finish() {
  if (!skipped_.empty() && !options_.quiet && (first_ || !overview_.empty())) {
    print_warning(fmt::format("{} in the folder left out: no trace ({}{})", count_of(skipped_.size(), "file"),
                              skipped_.front(), skipped_.size() > 1 ? ", ..." : ""));
  }
  std::optional<fusion::Job> job;
  if (digests_.size() > 1) job = fusion::fuse(std::move(digests_), topology_);
  if (job && !worth_a_report(*job)) job.reset();
  if (job) agreement_ = flight_dumps_.agreement(job->set.ranks, options_.language == report::Language::chinese);
  if (job && first_) {
    const Analysed first = std::move(*std::exchange(first_, std::nullopt));
    if (auto written = write_to_own_folder(first); !written) return written;
  }
  if (job || !overview_.empty()) return finish_several(job);
  if (!first_) {
    if (status_ != kDone || !flight_dumps_.empty()) return {};  // said already, or to be said of the dumps
    if (options_.import.rank && skipped_.empty()) {
      return Error{ErrorCode::not_found, fmt::format("none of the traces is of rank {}", *options_.import.rank), ""};
    }
    return Error{ErrorCode::not_a_trace,
                 fmt::format("none of the {} is a trace; the last answer was: {}", count_of(skipped_.size(), "file"),
                             last_reason_),
                 options_.paths.front()};
  }
  auto files = write(*first_, options_.output.empty() ? base_folder() / first_->name : base_folder());
  if (!files) return files.error();
  if (!options_.anonymize_key.empty() && !options_.quiet) {
    print_warning(
        fmt::format("the names behind the pseudonyms stand in {}: it is for you alone", options_.anonymize_key));
  }
  if (!prints()) return {};
  report::WriterOptions writer_options;
  writer_options.language = options_.language;
  writer_options.colour = colour_wanted(options_.no_colour);
  writer_options.columns = terminal_columns();
  writer_options.files = std::move(*files);
  for (const report::WriterDescriptor* writer : options_.writers) {
    if (!writer->file_name.empty()) continue;
    const std::string text = writer->write(first_->document, writer_options);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return {};
}

// The table of the single traces, then the report of the job that they are the ranks of.
Result<void> Run::finish_several(const std::optional<fusion::Job>& job) {
  if (prints() && !overview_.empty()) {
    const std::string text =
        overview_text(overview_, base_folder().string(), terminal_columns(), job ? job->set.ranks.size() : 0);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  if (!options_.anonymize_key.empty() && !options_.quiet) {
    print_warning(
        fmt::format("the names behind the pseudonyms stand in {}: it is for you alone", options_.anonymize_key));
  }
  if (!job) return {};
  const auto document = report_job(*job, {base_folder(), options_.writers, options_.language, options_.report.full,
                                          !prints(), options_.no_colour, rank_reports_, rank_trees_});
  if (!document) return document.error();
  lost_data_ = lost_data_ || lost_data(*document);
  return {};
}

}  // namespace

int analyze(const AnalyzeOptions& options) { return Run(options).run(); }

}  // namespace accel::cli
