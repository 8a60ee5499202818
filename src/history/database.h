// KernelProfileDB: the history of kernels over runs, one SQLite file. A run is one capture; the same capture is kept
// once, whatever file it comes from. Bounded: the oldest runs go when there are more than the limit, and the file never
// grows beyond kMostBytes. A file that is something else, newer, or damaged is answered with an error and left as it
// is. One thread; several processes may use one file, each change is one transaction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "history/kernel_samples.h"

struct sqlite3;

namespace accel::history {

inline constexpr std::int64_t kMostRuns = 1000;
inline constexpr std::int64_t kUsualRuns = 200;
inline constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;

struct RunRow {
  std::int64_t id = 0;
  std::string fingerprint;
  std::string label;
  std::string source;
  std::string producer;
  std::string device;  // of its kernels; several are joined by ", "
  std::int64_t time_ns = 0;
  std::map<std::string, std::string> versions;
  std::optional<double> sm_clock_mhz;
  std::uint64_t clock_reasons = 0;
  std::uint64_t left_out = 0;
  std::int64_t kernels = 0;
};

// One kernel in one run.
struct SampleRow {
  std::int64_t run = 0;
  std::int64_t kernel = 0;
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;
  std::int64_t min_ns = 0;
  std::int64_t median_ns = 0;
  std::int64_t max_ns = 0;
};

struct KernelRow {
  std::int64_t id = 0;
  std::int64_t work = 0;  // kernels of the same work share it
  KernelIdentity identity;
  std::string concrete;
};

struct CounterRow {
  std::int64_t run = 0;
  std::string metric;
  double value = 0;
};

class Database {
 public:
  enum class Mode { read, write };  // write makes the file when it is not there

  static Result<Database> open(const std::string& path, Mode mode);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  struct Recorded {
    std::int64_t run = 0;
    bool known = false;             // the capture was there; a label or counters were added
    std::int64_t runs_dropped = 0;  // the oldest, for the limit
  };
  Result<Recorded> record(const RunSamples& run, std::int64_t keep_runs = kUsualRuns);
  // All runs of `other` that are not here. The number of runs that came in.
  Result<std::int64_t> merge(Database& other, std::int64_t keep_runs = kUsualRuns);

  // By time, then as they came; the newest is the last.
  Result<std::vector<RunRow>> runs();
  Result<std::vector<KernelRow>> kernels();
  Result<std::optional<KernelRow>> kernel(std::int64_t id);
  // Of all kernels, by kernel and then in the order of runs(); of one kernel when `kernel` is given.
  Result<std::vector<SampleRow>> samples(std::optional<std::int64_t> kernel = std::nullopt);
  Result<std::vector<CounterRow>> counters(std::int64_t kernel);

 private:
  Database() = default;
  Result<void> prepare(Mode mode);
  Result<void> check_schema();
  Result<void> execute(const char* sql);
  Result<Recorded> insert(const RunSamples& run);
  Result<std::int64_t> drop_oldest(std::int64_t keep_runs);
  Result<RunSamples> run_samples(const RunRow& run);
  Error error(const char* what) const;

  std::string path_;
  sqlite3* handle_ = nullptr;
};

}  // namespace accel::history
