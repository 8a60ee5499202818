#include "cli/python_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/console.h"

namespace accel::cli {
namespace {

struct PythonCommand {
  std::string_view name;
  std::string_view title;
};
constexpr std::array kCommands = {
    PythonCommand{"run", "start a training command with the profiler asleep inside, and say what is slow"},
    PythonCommand{"doctor", "what this machine can record, and why not"},
};

// Whether `python` has the package; its own errors are not ours to show.
bool has_package(const std::string& python) {
  const std::string test = "'" + python + "' -c 'import accel.profiler.__main__' >/dev/null 2>&1";
  return std::system(test.c_str()) == 0;  // NOLINT(cert-env33-c): the words are ours
}

}  // namespace

bool is_python_command(std::string_view word) {
  for (const PythonCommand& command : kCommands) {
    if (command.name == word) return true;
  }
  return false;
}

std::string python_command_lines() {
  std::string lines;
  for (const PythonCommand& command : kCommands) lines += fmt::format("  {:<32}{}\n", command.name, command.title);
  return lines;
}

int run_python_command(int argc, const char* const* argv) {
  std::error_code ignored;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::string beside = (own.parent_path() / "python3").string();
  const std::string python = std::filesystem::exists(beside, ignored) ? beside : "python3";
  if (!has_package(python)) {
    print_error(
        fmt::format("'{}' needs the Python package accel.profiler, which {} does not have: pip install accel-profiler",
                    argv[1], python));
    return kUsage;
  }
  std::vector<std::string> words = {python, "-m", "accel.profiler"};
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  print_error(fmt::format("{}: {}", python, std::strerror(errno)));
  return kUsage;
}

}  // namespace accel::cli
