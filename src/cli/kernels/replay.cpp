// kernels replay: writes the program, and runs it under Nsight Compute where that is asked for.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/atomic_file.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/kernels/options.h"
#include "history/replay_program.h"
#include "report/plain_text.h"

namespace accel::cli {
namespace {

// What `kernels counters` knows, in few passes: one metric of each question.
constexpr const char* kMetrics =
    "gpu__time_duration.sum,sm__cycles_active.avg.pct_of_peak_sustained_elapsed,"
    "sm__warps_active.avg.pct_of_peak_sustained_active,smsp__issue_active.avg.pct_of_peak_sustained_active,"
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active,dram__throughput.avg.pct_of_peak_sustained_elapsed,"
    "l1tex__t_sector_hit_rate.pct,lts__t_sector_hit_rate.pct,"
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio,"
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,"
    "smsp__thread_inst_executed_per_inst_executed.ratio,"
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio,"
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio,"
    "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio";
// The options of ncu that are used; each is looked for in the tool's own help first.
constexpr std::array kNcuOptions = {"--csv",         "--metrics",      "--kernel-name",
                                    "--launch-skip", "--launch-count", "--target-processes"};

struct Ended {
  int status = -1;  // -1: did not start
  std::string output;
};

// Runs the words and reads what they print on standard output.
Ended run_and_read(const std::vector<std::string>& words) {
  constexpr std::size_t kMostOutput = std::size_t{64} << 20;
  Ended ended;
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return ended;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  char part[65536];
  for (;;) {
    const ssize_t got = child < 0 ? 0 : ::read(ends[0], part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (ended.output.size() < kMostOutput) ended.output.append(part, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  constexpr int kNotStarted = 127;
  if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) != kNotStarted) ended.status = WEXITSTATUS(status);
  return ended;
}

std::vector<std::string> ncu_words(const std::string& kernel, const std::string& program) {
  return {"ncu",
          "--csv",
          "--target-processes",
          "all",
          "--kernel-name",
          history::function_name(kernel),
          "--launch-skip",
          "1",
          "--launch-count",
          "1",
          "--metrics",
          kMetrics,
          "python3",
          program,
          "--calls",
          "2",
          "--no-check"};
}

int under_ncu(const std::string& kernel, const std::string& program, const KernelsOptions& options) {
  const Ended help = run_and_read({"ncu", "--help"});
  if (help.status != 0) {
    print_error(Error{ErrorCode::not_found,
                      "Nsight Compute is not here: no program ncu in PATH; the program was written", "--ncu"});
    return kUnreadable;
  }
  for (const char* option : kNcuOptions) {
    if (help.output.find(option) != std::string::npos) continue;
    print_error(
        Error{ErrorCode::not_found, fmt::format("this ncu does not know {}: update Nsight Compute", option), "--ncu"});
    return kUnreadable;
  }
  const Ended measured = run_and_read(ncu_words(kernel, program));
  const std::string table = program + ".ncu.csv";
  const OutputFile file{table, measured.output};
  if (auto written = write_files({&file, 1}, interrupted); !written) return kernels_failed(written.error());
  if (measured.status != 0) {
    print_error(Error{ErrorCode::unreadable,
                      fmt::format("ncu ended with status {}; what it printed is in the file", measured.status), table});
    return kUnreadable;
  }
  KernelsOptions shown = options;
  shown.counters = {table};
  shown.json = false;
  return explain_counters(shown);
}

}  // namespace

int replay_kernel(const KernelsOptions& options) {
  auto database = history::Database::open(options.database, history::Database::Mode::read);
  if (!database) return kernels_failed(database.error());
  const auto kernel = database->kernel(*options.kernel);
  if (!kernel) return kernels_failed(kernel.error());
  if (!*kernel) {
    return kernels_failed(
        Error{ErrorCode::not_found, fmt::format("the kernel database has no kernel {}", *options.kernel), "ID"});
  }
  const auto program = history::replay_program(**kernel);
  if (!program)
    return kernels_failed(
        Error{program.error().code, program.error().message, fmt::format("kernel {}", *options.kernel)});
  const std::string path = options.output.empty() ? fmt::format("replay-{}.py", *options.kernel) : options.output;
  const OutputFile file{path, *program};
  if (auto written = write_files({&file, 1}, interrupted); !written) return kernels_failed(written.error());
  if (!options.quiet) {
    fmt::print("{}: {}\n", report::visible_text(path), work_text((*kernel)->identity.work));
    fmt::print("python3 {}\n", report::visible_text(path));
  }
  return options.ncu ? under_ncu((*kernel)->identity.name, path, options) : finish_output(kDone);
}

}  // namespace accel::cli
