// StackReader: reads the Python stack of a thread from outside, through the kernel, while the thread runs on: nothing
// is asked of the interpreter, nobody waits for its lock, and a thread that stands in C code for seconds shows the line
// that called it. The stack may change while it is read; what is handed out was seen twice. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/python/interpreter_layout.h"
#include "runtime/python/process_memory.h"

namespace accel::runtime::python {

// The interpreter of this process, as whoever holds its lock has named it.
struct Interpreter {
  std::uint32_t version = 0;      // PY_VERSION_HEX
  std::uint64_t interpreter = 0;  // PyInterpreterState_Main()
  std::uint64_t code_type = 0;    // &PyCode_Type
};

struct Place {
  std::uint64_t code = 0;   // of a code object
  std::int64_t offset = 0;  // bytes into its instructions
  friend bool operator==(const Place&, const Place&) = default;
};

struct Stack {
  static constexpr std::uint32_t kMost = 256;
  Place places[kMost];  // the innermost first
  std::uint32_t count = 0;
  bool cut = false;  // the inner places changed too fast: the first one here called what is missing
};

// What stands at the head of a code object.
struct CodeHead {
  std::uint64_t file;
  std::uint64_t name;
  std::uint64_t lines;
  std::uint64_t bytes;  // address of the first instruction
  std::uint32_t first_line;
  friend bool operator==(const CodeHead&, const CodeHead&) = default;
};

class StackReader {
 public:
  // Of the process itself, or of another one that runs the same interpreter. Not usable when the version is unknown or
  // the other process cannot be found.
  StackReader(const Interpreter& interpreter, std::int32_t pid);
  StackReader() : memory_(0) {}
  bool usable() const { return layout_ != nullptr; }
  // Another process's memory is refused by the system (ptrace_scope, container), as seen at the last read.
  bool refused() const { return refused_; }

  // The thread of this number; 0: the oldest one, which is the main thread. 0: there is none.
  std::uint64_t find_thread(std::int64_t tid);
  // Every thread: fn(context, thread state, tid).
  void each_thread(void (*fn)(void*, std::uint64_t, std::int64_t), void* context);
  bool is_thread(std::uint64_t thread, std::int64_t tid) const;

  // False: the thread has no Python frame now, or it could not be read.
  bool read(std::uint64_t thread, Stack& stack);
  bool read_code(std::uint64_t code, CodeHead& head) const { return read_codes(&code, 1, &head) == 1; }
  // Of many at once; how many of the first ones were read and are code objects.
  std::size_t read_codes(const std::uint64_t* codes, std::size_t count, CodeHead* heads) const;
  std::uint32_t line(const CodeHead& head, std::int64_t offset) const;
  // A str object as UTF-8 with a zero at the end; its length. 0: it is none.
  std::size_t text(std::uint64_t object, char* out, std::size_t size) const;

 private:
  struct Frame {
    std::uint64_t address = 0;
    std::uint64_t code = 0;
    std::uint64_t previous = 0;
    std::uint64_t instruction = 0;
    std::uint8_t owner = 0;
  };
  static constexpr std::size_t kBlock = 2048;
  // Frames lie behind one another in pieces of memory: what stands in front of the one that was read.
  struct Block {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint8_t bytes[kBlock];
  };
  std::uint64_t top(std::uint64_t thread) const;
  bool frame_at(std::uint64_t address, Frame& frame, Block* block) const;
  Frame parse(std::uint64_t address, const std::uint8_t* bytes) const;
  bool walk(std::uint64_t thread, Stack& stack, Frame& first);

  ProcessMemory memory_;
  const InterpreterLayout* layout_ = nullptr;
  std::uint64_t interpreter_ = 0;
  std::uint64_t code_type_ = 0;
  bool refused_ = false;
};

// The stack of a thread of this process as text, innermost first: "  file(line): function\n" each. False: none.
bool stack_as_text(const Interpreter& interpreter, std::int64_t tid, char* out, std::size_t size);

}  // namespace accel::runtime::python
