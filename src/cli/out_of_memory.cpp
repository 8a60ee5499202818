#include "cli/out_of_memory.h"

#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string_view>

#include "cli/command.h"

namespace accel::cli {
namespace {

// Any thread may come here, several at once, and nothing may be allocated any more.
[[noreturn]] void end_the_process() {
  constexpr std::string_view kMessage =
      "accel-profiler: error: out of memory; nothing was written. Read a part of the trace (--steps A:B, --time A:B), "
      "or raise the memory limit of this process\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  std::_Exit(kUnreadable);
}

}  // namespace

void install_out_of_memory_handler() { std::set_new_handler(end_the_process); }

}  // namespace accel::cli
