// The whole way: a program with a planted slow loader, a capture by rule and by signal, and what the engine says about
// it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "diagnosis/diagnosis.h"
#include "ingest/importer.h"
#include "unit/format/native_files.h"

namespace accel {
namespace {

constexpr double kPlantedMs = 30;

// The program, running; its standard output comes through a pipe.
class Program {
 public:
  explicit Program(std::vector<std::string> words) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      std::vector<char*> argv;
      argv.reserve(words.size() + 1);
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ::fdopen(ends[0], "r");
  }
  ~Program() {
    std::fclose(output_);
    int status = 0;
    if (pid_ > 0) ::waitpid(pid_, &status, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The rest of the next line that starts with `word`.
  std::string line(const std::string& word) {
    char text[2048];
    while (std::fgets(text, sizeof text, output_) != nullptr) {
      std::string line = text;
      if (line.rfind(word + " ", 0) == 0) return line.substr(word.size() + 1, line.size() - word.size() - 2);
    }
    return {};
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  std::FILE* output_ = nullptr;
};

class SlowLoader : public testing::Test {
 protected:
  void SetUp() override {
    program_ = (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() /
                "examples/example_cpp_slow_loader")
                   .string();
    if (!std::filesystem::exists(program_)) GTEST_SKIP() << "the example is not built";
  }
  std::vector<std::string> words(const std::string& rule) const {
    return {program_,
            "--output",
            folder_.path().string(),
            "--load-ms",
            std::to_string(static_cast<int>(kPlantedMs)),
            "--seconds",
            "60",
            "--rule",
            rule};
  }
  void expect_loader_named(const std::string& capture) {
    const Result<TraceStore> store = import_trace(capture, {});
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_EQ(store->notes.find(NoteCode::truncated), nullptr);
    const Result<AnalysisResults> results = run_analyses(*store, {});
    ASSERT_TRUE(results.ok());
    const Diagnosis diagnosis = diagnose(*store, *results, {});
    EXPECT_EQ(diagnosis.verdict.bound_by, BoundBy::data_loading) << diagnosis.verdict.sentence;
    ASSERT_FALSE(diagnosis.findings.empty());
    EXPECT_EQ(diagnosis.findings.front().rule, "dataloader_starvation");
    // What the program itself measured in the same steps: the sleep of a loaded machine is longer than was planted.
    double waited_ms = 0;
    int steps = 0;
    for (std::size_t i = 0; i < store->counters.size(); ++i) {
      if (store->text(store->counters.name[i]) != "dataloader_wait_ms") continue;
      waited_ms += store->counters.value[i];
      ++steps;
    }
    ASSERT_GE(steps, 5);
    waited_ms /= steps;
    EXPECT_GE(waited_ms, kPlantedMs);
    EXPECT_NEAR(diagnosis.findings.front().cost_ms_per_step, waited_ms, std::max(2.0, 0.05 * kPlantedMs));
  }

  format::TemporaryFolder folder_;
  std::string program_;
};

TEST_F(SlowLoader, a_rule_wakes_the_recorder_and_the_engine_names_the_loader_with_its_time) {
  Program program(words("stable(loss, 1e-3, 5) => capture_next_steps(8)"));
  const std::string capture = program.line("capture");
  ASSERT_FALSE(capture.empty());
  expect_loader_named(capture);
}

TEST_F(SlowLoader, kill_usr1_wakes_the_recorder_and_the_engine_names_the_loader_with_its_time) {
  Program program(words(""));
  ASSERT_EQ(program.line("pid"), std::to_string(program.pid()));
  ::usleep(400000);
  ASSERT_EQ(::kill(program.pid(), SIGUSR1), 0);
  const std::string capture = program.line("capture");
  ASSERT_FALSE(capture.empty());
  expect_loader_named(capture);
}

}  // namespace
}  // namespace accel
