// What got slower in one run against the earlier runs of the same database: a kernel against its own history at the
// same shapes and types, and work for which another kernel was chosen (a driver or library was updated). Pure functions
// of the rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "history/database.h"

namespace accel::history {

struct Limit {
  const char* name;
  double value;
  const char* unit;
  const char* reason;
};
inline constexpr Limit kSlower{"slower", 1.30, "times its own history",
                               "clocks, neighbours on the device and the recording move a kernel's time by up to 14 %"};
inline constexpr Limit kWorthSaying{"shortest difference", 2000, "ns a launch",
                                    "stamps and launch effects move a short kernel by a microsecond"};
inline constexpr Limit kClockMoved{"clock", 1.05, "times",
                                   "a clock that differs by more explains a part of the difference by itself"};

enum class Change { slower, faster, other_kernel };

struct Regression {
  Change change = Change::slower;
  const KernelRow* kernel = nullptr;  // of the run
  const KernelRow* before = nullptr;  // other_kernel: what ran before
  double before_ns = 0;               // a launch, or a call where the kernel changed; median of the earlier runs
  double highest_before_ns = 0;       // the slowest of the earlier runs
  double now_ns = 0;
  double total_ns = 0;            // in the run
  std::int64_t earlier_runs = 0;  // that the history rests on
  double ratio() const { return before_ns > 0 ? now_ns / before_ns : 0; }
  bool worse() const { return ratio() >= kSlower.value && now_ns - before_ns >= kWorthSaying.value; }
};

struct VersionChange {
  std::string key;
  std::string before;  // empty: not stated
  std::string now;
};

struct RunComparison {
  const RunRow* run = nullptr;
  std::vector<const RunRow*> earlier;   // on the same device, oldest first
  std::vector<VersionChange> versions;  // against the newest of them
  std::vector<Regression> changes;      // worse first, most time lost first
  std::int64_t known_kernels = 0;       // of the run, with a history
  std::int64_t kernels = 0;             // of the run
  std::optional<double> clock_ratio;    // SM clock of the run over that of the newest earlier run
};

// The whole content of a database that comparisons need.
struct Content {
  std::vector<RunRow> runs;
  std::vector<KernelRow> kernels;
  std::vector<SampleRow> samples;
};
Result<Content> read_content(Database& database);

// `run`: id, none = the newest. `against`: one earlier run instead of all.
Result<RunComparison> compare_run(const Content& content, std::optional<std::int64_t> run,
                                  std::optional<std::int64_t> against);

}  // namespace accel::history
