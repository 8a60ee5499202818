// What a command is: plain data and one function that declares its options and returns what to run once they are
// parsed. Commands are listed in catalog.def. One thread.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace accel::cli {

// What the command says to the shell.
enum ExitStatus : int {
  kDone = 0,
  kConditionFailed = 1,  // a condition that the caller stated does not hold
  kUsage = 2,
  kUnreadable = 3,  // the input could not be read, or the output not written
  kPartlyRead = 4,  // with --strict: something recorded is missing
};

struct CommandDescriptor {
  std::string_view id;
  std::string_view title;
  std::string_view title_zh;
  std::string_view examples;  // shown below the options by --help
  std::function<int()> (*declare)(CLI::App& app);
};

// All commands, in the order of catalog.def.
std::span<const CommandDescriptor> commands();

}  // namespace accel::cli
