// Kernels: count, total, mean, min, max, share of device time per name; and the headline figures of a launch-bound job.
// Per-step figures leave out kernels that belong to no complete step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace_store.h"

namespace accel {

struct KernelRow {
  StringId name;           // as recorded
  std::string short_name;  // demangled, template noise folded: what a person calls it
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;
  std::int64_t min_ns = 0;
  std::int64_t max_ns = 0;
  double share = 0;            // of the sum of kernel durations
  bool tensor_core = false;    // from the name
  bool communication = false;  // nccl or rccl, any case
  std::uint64_t count_in_steps = 0;
  std::int64_t ns_in_steps = 0;
};

struct CopyRow {
  CopyDirection direction = CopyDirection::unknown;
  MemoryKind source = MemoryKind::unknown;
  MemoryKind destination = MemoryKind::unknown;
  bool is_set = false;
  std::uint64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t total_ns = 0;
  std::uint64_t count_in_steps = 0;
  std::int64_t bytes_in_steps = 0;
  std::int64_t ns_in_steps = 0;
};

struct KernelTable {
  std::vector<KernelRow> kernels;  // largest total first
  std::vector<CopyRow> copies;
  double kernels_per_step = 0;
  double mean_kernel_ns = 0;         // over complete steps
  double share_below_5us = 0;        // of the kernels of complete steps
  std::int64_t graph_replay_ns = 0;  // device time launched by graph replays
};

bool is_communication_kernel(std::string_view name);
bool uses_tensor_cores(std::string_view kernel_name);
std::string short_kernel_name(std::string_view name);

}  // namespace accel
