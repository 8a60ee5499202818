// Calls on the stacks of the threads of this process, found from outside while they wait in the kernel: no signal, no
// stop, no lock of the loader, no unwinder. The kernel tells where such a thread stands (/proc/self/task/TID/syscall);
// its stack is read by process_vm_readv, which cannot fault, and every word that points behind a call instruction in
// mapped code is taken for a return address. So a frame may be left over from a call that is over, and a thread that
// runs has no stack here. Control thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace accel::runtime {

// The executable mappings of the process, as they were when it was filled.
class CodeMap {
 public:
  struct Range {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t file_offset;
    std::uint32_t path;  // offset in the texts
  };
  // Mappings beyond the room are left out.
  void fill();
  // Null: no code.
  const Range* find(std::uint64_t address) const;
  const char* path(const Range& range) const { return texts_ + range.path; }

 private:
  void add(const char* line);
  static constexpr std::uint32_t kMostRanges = 4096;
  static constexpr std::uint32_t kMostText = 256 << 10;
  Range ranges_[kMostRanges];
  char texts_[kMostText];
  std::uint32_t count_ = 0;
  std::uint32_t text_bytes_ = 0;
};

// own: of the thread that asks. hidden: the system does not show it.
enum class StackRead : std::uint8_t { found, runs, own, hidden };

constexpr std::uint32_t kMostFrames = 32;

// Innermost first, into `addresses`; `count` of them.
StackRead find_calls(const char* tid, const CodeMap& code, std::uint64_t (&addresses)[kMostFrames],
                     std::uint32_t& count);

}  // namespace accel::runtime
