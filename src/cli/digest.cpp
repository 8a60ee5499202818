// accel-profiler digest: reduces a rank's trace to the small file that the fusion of many ranks works on.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/atomic_file.h"
#include "cli/anonymize_key.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/find_traces.h"
#include "cli/interrupt.h"
#include "cli/load_rank.h"
#include "cli/rank_options.h"
#include "fusion/digest/digest_file.h"
#include "fusion/rank_set/load_digest.h"
#include "report/plain_text.h"

namespace accel::cli {
namespace {

struct Options {
  std::string path;
  std::string output;
  RankOptions ranks;
  AnonymizeOptions anonymize;
  bool quiet = false;
};

int run(const Options& options) {
  report::Pseudonyms pseudonyms;
  if (options.anonymize.wanted) {
    auto key = load_key(options.anonymize.key);
    if (!key) {
      print_error(key.error());
      return kUnreadable;
    }
    pseudonyms = std::move(*key);
  }
  auto digest = [&] {
    ConsoleProgress progress(options.quiet, options.path);
    ImportOptions import = options.ranks.import;
    import.progress = &progress;
    AnalysisOptions analysis = options.ranks.analysis;
    analysis.progress = &progress;
    return load_rank(options.path, import, analysis, options.anonymize.wanted ? &pseudonyms : nullptr);
  }();
  if (!digest) {
    if (digest.error().code == ErrorCode::cancelled) die_of_interrupt();
    print_error(digest.error().where.empty() ? Error{digest.error().code, digest.error().message, options.path}
                                             : digest.error());
    return kUnreadable;
  }
  if (options.anonymize.wanted) {
    if (auto saved = save_key(pseudonyms, options.anonymize.key); !saved) {
      print_error(saved.error());
      return kUnreadable;
    }
  }
  const std::string output =
      options.output.empty() ? report_name(options.path) + std::string(fusion::kDigestSuffix) : options.output;
  const std::string bytes = fusion::write_digest(*digest);
  const OutputFile files[] = {{output, bytes}};
  if (const auto written = write_files(files, interrupted); !written) {
    print_error(written.error());
    return kUnreadable;
  }
  if (!options.quiet) {
    const double share = digest->source_text_bytes > 0 ? 100.0 * static_cast<double>(bytes.size()) /
                                                             static_cast<double>(digest->source_text_bytes)
                                                       : 0;
    fmt::print("{}: {}, {} steps, {} communication events; {} bytes, {:.2f} % of the trace's text\n",
               report::visible_text(output), digest->rank ? fmt::format("rank {}", *digest->rank) : "no rank recorded",
               digest->steps.size(), digest->events.size(), bytes.size(), share);
  }
  return finish_output(kDone);
}

std::function<int()> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("TRACE", options->path, "trace of one rank")->required()->type_name("");
  app.add_option("-o,--output", options->output, "file to write [NAME.accdigest]")->type_name("FILE");
  app.add_option("--rank", options->ranks.import.rank, "rank of the trace, where the file does not say it")
      ->type_name("N");
  add_rank_options(app, options->ranks.import, options->ranks.analysis);
  add_anonymize(app, options->anonymize);
  app.add_flag("--quiet", options->quiet, "print errors only");
  return [options] {
    install_interrupt_handlers();
    settle(options->ranks);
    return run(*options);
  };
}

}  // namespace

extern const CommandDescriptor digest_command;
const CommandDescriptor digest_command = {
    "digest",
    "reduce a rank's trace to the small file that many ranks are fused from",
    "把一个 rank 的 trace 压缩成用于多 rank 融合的小文件",
    "  accel-profiler digest rank0.json.gz\n"
    "  accel-profiler digest rank0.json.gz -o digests/rank0.accdigest\n",
    declare,
};

}  // namespace accel::cli
