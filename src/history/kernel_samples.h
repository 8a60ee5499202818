// What a capture says of its kernels, in the words of the kernel database: one row per kernel, launch configuration and
// work (op, shapes, types, strides, device), with the spread of its times. Communication kernels are left out: how long
// they take is how long they wait. Pure function of store and results.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "trace/trace_store.h"

namespace accel::history {

// What was asked for. Empty texts: not recorded (a replayed graph, a capture without shapes).
struct Work {
  std::string op;
  std::string dims;     // JSON as recorded
  std::string types;    // likewise
  std::string strides;  // likewise
  std::string device;   // product name

  auto operator<=>(const Work&) const = default;
};

// What ran for it. Template noise of the name is folded.
struct KernelIdentity {
  Work work;
  std::string name;
  std::string grid;   // "132x1x1"; empty = not recorded
  std::string block;  // likewise

  auto operator<=>(const KernelIdentity&) const = default;
};

struct KernelSample {
  KernelIdentity kernel;
  std::string concrete;  // scalar arguments of one of the calls, JSON as recorded
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;
  std::int64_t min_ns = 0;
  std::int64_t median_ns = 0;
  std::int64_t max_ns = 0;
  std::map<std::string, double> counters;  // raw name -> value, where they were measured
};

struct RunSamples {
  std::string fingerprint;                      // of the content: the same capture is recorded once
  std::string label;                            // of the user
  std::string source;                           // file name without folder
  std::string producer;                         // id of the importer
  std::int64_t time_ns = 0;                     // when it was captured; 0 = not known
  std::map<std::string, std::string> versions;  // of driver and libraries, as recorded
  std::optional<double> sm_clock_mhz;           // mean while it was recorded
  std::uint64_t clock_reasons = 0;              // bits that held the clock down, of any sample
  std::uint64_t left_out = 0;                   // kernels beyond the bound
  std::vector<KernelSample> kernels;            // most time first
};

// More distinct kernels than any training step has.
inline constexpr std::size_t kMostKernelsOfRun = 4096;

RunSamples kernel_samples(const TraceStore& store, const AnalysisResults& results);

}  // namespace accel::history
