#include "cli/app.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>

#include "base/version.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/python_commands.h"

namespace accel::cli {

// Each entry of the catalogue defines its descriptor in a file of its own name.
#define FRAMEWORK(name)
#define COMMAND(name) extern const CommandDescriptor name##_command;
#include "cli/catalog.def"
#undef COMMAND

std::span<const CommandDescriptor> commands() {
  static const CommandDescriptor all[] = {
#define COMMAND(name) name##_command,
#include "cli/catalog.def"
#undef COMMAND
  };
  return all;
}
#undef FRAMEWORK

namespace {

constexpr const char* kAbout =
    "Reads the trace of a GPU training job, finds why a step is slow, proves it with figures from the trace, and says "
    "what to "
    "change and what to expect of it.";

std::string footer(std::string_view examples) { return "Examples:\n" + std::string(examples); }

std::string command_names() {
  std::string names;
  for (const CommandDescriptor& command : commands()) names += (names.empty() ? "" : ", ") + std::string(command.id);
  return names;
}

bool is_command(std::string_view word) {
  const auto all = commands();
  return std::any_of(all.begin(), all.end(), [&](const CommandDescriptor& command) { return command.id == word; });
}

// A first word that is no command deserves a better answer than "unexpected argument".
int unknown_command(const std::string& word) {
  std::error_code ignored;
  if (std::filesystem::exists(word, ignored)) {
    print_error(fmt::format("'{}' is no command; to analyse that file: accel-profiler analyze {}", word, word));
  } else {
    print_error(fmt::format("'{}' is no command; there are: {}. See accel-profiler --help", word, command_names()));
  }
  return kUsage;
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  CLI::App app{kAbout, "accel-profiler"};
  app.set_version_flag("--version", fmt::format("accel-profiler {}", kVersion), "print the version and stop");
  app.set_help_flag("-h,--help", "print this help and stop");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);

  std::map<std::string, std::function<int()>, std::less<>> runs;
  std::string examples;
  for (const CommandDescriptor& command : commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.id), std::string(command.title));
    sub->footer(footer(command.examples));
    runs[std::string(command.id)] = command.declare(*sub);
    examples += command.examples.substr(0, command.examples.find('\n') + 1);
  }
  app.footer(
      "With the Python package:\n" + python_command_lines() + "\n" + footer(examples) +
      "\nExit status: 0 done, 1 a stated condition failed, 2 usage, 3 input not readable or output not writable,\n"
      "4 partly read (analyze --strict).");

  if (argc < 2) {
    std::cerr << app.help();
    return kUsage;
  }
  if (is_python_command(argv[1])) return run_python_command(argc, argv);
  if (argv[1][0] != '-' && !is_command(argv[1])) return unknown_command(argv[1]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    app.exit(request, std::cout, std::cerr);
    return finish_output(kDone);
  } catch (const CLI::ParseError& mistake) {
    const auto chosen = app.get_subcommands();
    print_error(fmt::format("{}. See accel-profiler {}--help", mistake.what(),
                            chosen.empty() ? "" : chosen.front()->get_name() + " "));
    return kUsage;
  }
  return runs[app.get_subcommands().front()->get_name()]();
}

}  // namespace accel::cli
