// Where CPython keeps what a stack is read from, by version. The figures are those of CPython's own headers
// (offsetof with Py_BUILD_CORE) and stay the same within a minor version; that they fit the interpreter at hand is
// checked by whoever switches the reading on, who compares a stack that was read with one that he knows.
#pragma once

#include <cstdint>

namespace accel::runtime::python {

struct InterpreterLayout {
  std::uint16_t interpreter_threads;  // PyInterpreterState.threads.head
  std::uint16_t thread_next;          // PyThreadState
  std::uint16_t thread_tid;           // .native_thread_id
  std::uint16_t thread_frame;         // .current_frame, or .cframe
  std::uint16_t cframe_frame;         // _PyCFrame.current_frame; kDirect: thread_frame is the frame itself
  std::uint8_t frame_code;            // _PyInterpreterFrame
  std::uint8_t frame_previous;
  std::uint8_t frame_instruction;
  std::uint8_t frame_owner;
  std::uint8_t owner_is_c;  // such a frame stands for C code and has no line; 255: there are none
  std::uint16_t code_first_line;
  std::uint16_t code_file;
  std::uint16_t code_name;  // qualified
  std::uint16_t code_lines;
  std::uint16_t code_bytes;
  std::uint8_t ascii_text;  // start of the text in a str object
  std::uint8_t other_text;

  static constexpr std::uint16_t kDirect = 0xffff;
};

// The same in all of them.
inline constexpr std::uint64_t kObjectType = 8;
inline constexpr std::uint64_t kObjectSize = 16;  // length of a str too
inline constexpr std::uint64_t kTextState = 32;
inline constexpr std::uint64_t kBytesText = 32;
inline constexpr std::uint32_t kFrameBytes = 72;
inline constexpr std::uint32_t kCodeBytes = 144;  // up to what is read of it

// `version`: PY_VERSION_HEX. Null: not a version whose layout is known.
const InterpreterLayout* layout_of(std::uint32_t version);

}  // namespace accel::runtime::python
