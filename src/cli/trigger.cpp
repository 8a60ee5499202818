// accel-profiler trigger: wakes the recorder in a running job. It asks through the recorder's socket; a signal is sent
// only when asked for, and only to processes that are known to catch it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/recorder_process.h"
#include "report/plain_text.h"

namespace accel::cli {
namespace {

struct Options {
  int pid = 0;
  std::uint32_t steps = 5;
  std::uint32_t level = 2;
  double wait_s = 0;
  bool alone = false;
  bool signal = false;
  bool stop = false;
};

// The word behind NAME= in the answer to "status".
std::string word_of(const std::string& status, std::string_view name) {
  const std::size_t at = status.find(fmt::format(" {}=", name));
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 2;
  return status.substr(begin, name == "capture" ? std::string::npos : status.find(' ', begin) - begin);
}

struct Rank {
  int pid = 0;
  std::int64_t steps = 0;
  std::string capture_before;
  std::string capture;  // of the window that was asked for
};

std::int64_t steps_of(const std::string& status) { return std::atoll(word_of(status, "steps").c_str()); }

std::vector<Rank> find_ranks(const std::vector<int>& processes) {
  std::vector<Rank> ranks;
  for (const int pid : processes) {
    const auto status = ask_recorder(pid, "status");
    if (status && status->rfind("ok ", 0) == 0)
      ranks.push_back({pid, steps_of(*status), word_of(*status, "capture"), {}});
  }
  return ranks;
}

// The first step that all ranks keep: as far ahead of the fastest as all of them need to hear of it. Ranks of one job
// count the same steps, and a second is a hundred times what asking them all takes.
std::int64_t agreed_step(const std::vector<Rank>& ranks) {
  constexpr double kLookS = 0.5;
  constexpr double kAheadS = 1;
  constexpr std::int64_t kAtLeast = 3;
  std::this_thread::sleep_for(std::chrono::duration<double>(kLookS));
  std::int64_t most = 0;
  double per_second = 0;
  for (const Rank& rank : ranks) {
    const auto status = ask_recorder(rank.pid, "status");
    const std::int64_t now = status ? std::max(rank.steps, steps_of(*status)) : rank.steps;
    most = std::max(most, now);
    per_second = std::max(per_second, static_cast<double>(now - rank.steps) / kLookS);
  }
  return most + kAtLeast + static_cast<std::int64_t>(std::ceil(per_second * kAheadS));
}

// Until every rank has written its window; what it wrote is printed. A window has its path from when it is armed, so
// that of a process that ended meanwhile is known too.
int wait_for_captures(std::vector<Rank> ranks, double seconds) {
  bool all = true;
  const auto done = [&all](Rank& rank) {
    const auto status = ask_recorder(rank.pid, "status");
    if (status) {
      const std::string capture = word_of(*status, "capture");
      if (capture != "-" && capture != rank.capture_before) rank.capture = capture;
      const std::string state = word_of(*status, "state");
      if (rank.capture.empty() || (state != "IDLE" && state != "WATCHING")) return false;
    } else if (rank.capture.empty() || !std::filesystem::exists(rank.capture)) {
      print_error(status.error());
      all = false;
      return true;
    }
    fmt::print("process {}: {}{}\n", rank.pid, status ? "" : "ended; ", report::visible_text(rank.capture));
    return true;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!ranks.empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::vector<Rank> left;
    for (Rank& rank : ranks) {
      if (!done(rank)) left.push_back(rank);
    }
    ranks.swap(left);
  }
  for (const Rank& rank : ranks)
    print_error(
        fmt::format("process {}: the window was not written within {:g} s; it stays armed or open", rank.pid, seconds));
  return finish_output(all && ranks.empty() ? kDone : kUnreadable);
}

int send_signals(const std::vector<int>& processes) {
  int sent = 0;
  for (const int pid : processes) {
    if (!takes_wake_signal(pid) || ::kill(pid, SIGUSR1) != 0) continue;
    fmt::print("process {}: signalled; the next step that it marks opens a window of 5 steps\n", pid);
    ++sent;
  }
  if (sent > 0) return finish_output(kDone);
  print_error("no process there has a recorder that catches SIGUSR1: none was signalled, because it would have ended");
  return kUnreadable;
}

int run(const Options& options) {
  const std::vector<int> processes = options.alone ? std::vector<int>{options.pid} : process_tree(options.pid);
  if (processes.empty()) {
    print_error(fmt::format("there is no process {}", options.pid));
    return kUnreadable;
  }
  if (options.signal) return send_signals(processes);
  const std::vector<Rank> ranks = find_ranks(processes);
  if (ranks.empty()) {
    print_error(
        fmt::format("no recorder listens in process {} or below it: start the job with accel-profiler run, or call "
                    "accel_enable in it; the user of the job or root may ask",
                    options.pid));
    return kUnreadable;
  }
  std::string request = "stop";
  if (!options.stop) {
    request = fmt::format("capture steps={} level={}", options.steps, options.level);
    if (ranks.size() > 1) request += fmt::format(" at={}", agreed_step(ranks));
  }
  std::vector<Rank> asked;
  for (const Rank& rank : ranks) {
    const auto answer = ask_recorder(rank.pid, request);
    if (answer && *answer == "ok") {
      fmt::print("process {}: {}\n", rank.pid, request);
      asked.push_back(rank);
    } else {
      print_error(fmt::format("process {}: {}", rank.pid, answer ? *answer : answer.error().message));
    }
  }
  if (asked.empty()) return kUnreadable;
  const int status =
      options.wait_s > 0 && !options.stop ? wait_for_captures(asked, options.wait_s) : finish_output(kDone);
  return status == kDone && asked.size() < ranks.size() ? kPartlyRead : status;
}

std::function<int()> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("PID", options->pid, "process of the job, or its launcher: the ranks below it are found")
      ->required()
      ->check(CLI::PositiveNumber)
      ->type_name("");
  app.add_option("--steps", options->steps, "steps that are kept [5]")->check(CLI::Range(1, 10000))->type_name("N");
  app.add_option("--level", options->level, "1 costs below 3 %, 2 below 8 % [2]")
      ->check(CLI::Range(1, 2))
      ->type_name("N");
  app.add_option("--wait", options->wait_s, "wait so long for the files and print their paths")->type_name("SECONDS");
  app.add_flag("--alone", options->alone,
               "this process only, not those below it; recorded alone, a rank may look late");
  app.add_flag("--signal", options->signal,
               "wake by SIGUSR1, for a recorder without a socket; only where it is caught");
  app.add_flag("--stop", options->stop, "close open windows and take back armed ones");
  return [options] { return run(*options); };
}

}  // namespace

extern const CommandDescriptor trigger_command;
const CommandDescriptor trigger_command = {
    "trigger",
    "wake the recorder in a running job",
    "唤醒正在运行的任务中的记录器",
    "  accel-profiler trigger 4711                    a window of 5 steps, of all ranks below the launcher 4711\n"
    "  accel-profiler trigger 4711 --steps 20 --wait 60\n",
    declare,
};

}  // namespace accel::cli
