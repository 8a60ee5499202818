// StackTree: the places of sampled stacks, each once below the place that called it, and the functions that they are
// in. Fixed tables: a full one makes stacks shorter, never wrong. One thread adds; another may read what came before
// the counts that it has loaded.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/python/stack_reader.h"

namespace accel::runtime::python {

class StackTree {
 public:
  static constexpr std::uint32_t kFunctions = 4096;
  static constexpr std::uint32_t kFrames = 16384;
  static constexpr std::size_t kText = 256;  // of a file's path (its end) and of a function's name (its start)

  struct Function {
    char file[kText];
    char name[kText];
  };
  struct Frame {
    std::uint32_t caller;    // id; 0 = outermost
    std::uint32_t function;  // id
    std::uint32_t line;
  };

  // In memory of the system's own, which is zero: nothing of it is touched before it is used.
  StackTree() {}  // NOLINT(modernize-use-equals-default,cppcoreguidelines-pro-type-member-init)

  // The id of the innermost place, 0: none could be read. `reader` has the memory of the stack's process `pid`.
  std::uint32_t add(const StackReader& reader, std::int32_t pid, const Stack& stack);

  std::uint32_t function_count() const { return functions_count_.load(std::memory_order_acquire); }
  std::uint32_t frame_count() const { return frames_count_.load(std::memory_order_acquire); }
  const Function& function(std::uint32_t id) const { return functions_[id - 1]; }
  const Frame& frame(std::uint32_t id) const { return frames_[id - 1]; }
  // Stacks that lost inner places because a table was full.
  std::uint32_t full() const { return full_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kCodes = 2 * kFunctions;
  static constexpr std::uint32_t kSlots = 2 * kFrames;

  // A code object of a process as it was when it was last met.
  struct Code {
    std::uint64_t code;
    std::int32_t pid;
    std::uint32_t function;  // id; 0 = none yet
    CodeHead head;
    // Lines of the places met last; a place is one more than its offset, 0 = none.
    static constexpr std::uint32_t kPlaces = 4;
    std::int64_t places[kPlaces];
    std::uint32_t lines[kPlaces];
  };

  Code* code_of(const StackReader& reader, std::int32_t pid, std::uint64_t code, const CodeHead& head);
  static std::uint32_t line_of(const StackReader& reader, Code& code, std::int64_t offset);
  std::uint32_t function_of(const StackReader& reader, const CodeHead& head);
  std::uint32_t frame_of(std::uint32_t caller, std::uint32_t function, std::uint32_t line);

  Function functions_[kFunctions];
  Frame frames_[kFrames];
  Code codes_[kCodes];
  std::uint32_t slots_[kSlots];           // hash of a frame -> its id
  std::uint32_t function_slots_[kCodes];  // hash of a function -> its id
  std::atomic<std::uint32_t> functions_count_{0};
  std::atomic<std::uint32_t> frames_count_{0};
  std::atomic<std::uint32_t> full_{0};
};

}  // namespace accel::runtime::python
