// In which of the user's functions the data loader's time goes, from sampled Python stacks: of the thread that waits
// when it loads itself, of the worker processes while it waits for them. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis/rule.h"
#include "trace/trace_store.h"

namespace accel {

// A function below the loader: stacks that go through it, and its line that most of them stand in.
struct LoaderFunction {
  std::string name;
  std::string file;
  std::int64_t line = 0;
  std::uint32_t samples = 0;
  std::uint32_t waiting = 0;  // of them the thread was not on a processor
  std::uint32_t depth = 0;    // below the loader, where it was seen first
};

struct LoaderStacks {
  bool in_workers = false;
  std::uint32_t workers = 0;  // processes seen at work
  std::uint32_t samples = 0;  // while the loader was waited for: of the thread, or of workers that make batches
  // By samples, then from the outside in. The user's; those of libraries where hardly any sample has one of the user's.
  std::vector<LoaderFunction> functions;
  // The innermost function that most of the samples go through; null: none, or too few samples to say so.
  const LoaderFunction* main() const;
};

// Fewer samples give no share.
inline constexpr Threshold kFewestStacks{
    "fewest stacks", 20, "samples", "the share of a function is then known to 22 percentage points, with 100 to 10"};

// `waits` are the slices of __next__. `workers`: the loader has some.
LoaderStacks look_into_stacks(const TraceStore& store, const std::vector<SliceId>& waits, bool workers);

}  // namespace accel
