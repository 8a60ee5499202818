// accel-profiler view: opens the newest report.html in a browser, or serves it where there is none.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/view/serve.h"
#include "report/plain_text.h"

namespace accel::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "report.html";
constexpr int kDeepest = 4;                    // folders below the one given
constexpr std::size_t kMostEntries = 100'000;  // looked at

struct Options {
  std::string path = "accel-report";
  bool serve = false;
  std::uint16_t port = 0;
};

Result<std::string> newest_report(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    if (fs::path(path).extension() == ".html") return path;
    return Error{ErrorCode::invalid_argument, "this is no report; make one: accel-profiler analyze FILE", path};
  }
  if (!fs::is_directory(path, error)) return Error{ErrorCode::not_found, "no such file or folder", path};
  std::optional<fs::path> newest;
  fs::file_time_type when;
  std::size_t seen = 0;
  auto at = fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator() && ++seen < kMostEntries; at.increment(error)) {
    if (at.depth() >= kDeepest) at.disable_recursion_pending();
    if (at->path().filename() != kFile) continue;
    std::error_code ignored;
    const auto time = fs::last_write_time(at->path(), ignored);
    // Equal times: the first by name, so that the choice is the same every time.
    if (newest && (time < when || (time == when && *newest < at->path()))) continue;
    newest = at->path();
    when = time;
  }
  if (!newest) return Error{ErrorCode::not_found, "no report.html here; accel-profiler analyze makes one", path};
  return newest->string();
}

bool has_display() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return true;
  }
  return false;
}

// The desktop's own opener, without a shell in between.
bool opened(const std::string& path) {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    std::freopen("/dev/null", "w", stdout);
    std::freopen("/dev/null", "w", stderr);
    execlp("xdg-open", "xdg-open", path.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int run(const Options& options) {
  const auto report = newest_report(options.path);
  if (!report) {
    print_error(report.error());
    return report.error().code == ErrorCode::invalid_argument ? kUsage : kUnreadable;
  }
  std::error_code error;
  const std::string path = fs::absolute(*report, error).string();
  if (!options.serve && has_display() && opened(path)) {
    fmt::print("{}\n", report::visible_text(path));
    return finish_output(kDone);
  }
  install_interrupt_handlers();
  const auto served = serve_file(path, options.port, [&](std::uint16_t port, const std::string& token) {
    char host[256] = "HOST";
    gethostname(host, sizeof host - 1);
    fmt::print(
        "{}\n\nhttp://127.0.0.1:{}/{}/\n\nFrom another machine, forward the port first, then open the same address:\n"
        "  ssh -L {}:127.0.0.1:{} {}\n\nCtrl-C ends it.\n",
        report::visible_text(path), port, token, port, port, report::visible_text(host));
    std::fflush(stdout);
  });
  if (!served) {
    print_error(served.error());
    return kUnreadable;
  }
  return kDone;
}

std::function<int()> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("PATH", options->path, "a report, or a folder: its newest report.html [accel-report]")->type_name("");
  app.add_flag("--serve", options->serve, "serve it on the loopback interface even where a browser could be opened");
  app.add_option("--port", options->port, "port to serve on [any free one]")->type_name("N");
  return [options] { return run(*options); };
}

}  // namespace

extern const CommandDescriptor view_command;
const CommandDescriptor view_command = {
    "view",
    "open the newest report in a browser, or serve it where there is none",
    "在浏览器中打开最新报告；没有浏览器时在本机回环地址上提供",
    "  accel-profiler view\n"
    "  accel-profiler view accel-report/trace\n"
    "  accel-profiler view --serve --port 8080\n",
    declare,
};

}  // namespace accel::cli
