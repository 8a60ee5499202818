// The terminal side of the command: errors, progress, and what the terminal can do. print_* from one thread at a time;
// ConsoleProgress::report from any.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

#include "base/progress.h"
#include "base/result.h"

namespace accel::cli {

// "accel-profiler: error: ..." on standard error. Text of a trace or path in it is made visible.
void print_error(std::string_view message);
void print_error(const Error& error);
void print_warning(std::string_view message);

// The output is out, or the error is said and the status becomes 3.
int finish_output(int status);

bool colour_wanted(bool no_colour_option);  // standard output is a terminal and nobody objects
std::size_t terminal_columns();             // of standard output; 100 when it is no terminal

// One line on standard error that shows how far the work is, when that is a terminal; asks the work to stop after
// Ctrl-C, terminal or not.
class ConsoleProgress : public Progress {
 public:
  ConsoleProgress(bool quiet, std::string subject);
  ~ConsoleProgress() override;
  ConsoleProgress(const ConsoleProgress&) = delete;
  ConsoleProgress& operator=(const ConsoleProgress&) = delete;

  bool report(std::string_view stage, std::uint64_t done, std::uint64_t total) override;

 private:
  bool shown_;
  std::string subject_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_;
  bool dirty_ = false;  // something stands on the line
};

}  // namespace accel::cli
