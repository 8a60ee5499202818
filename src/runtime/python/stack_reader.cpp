#include "runtime/python/stack_reader.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/python/line_table.h"

namespace accel::runtime::python {
namespace {

constexpr int kMostThreads = 1024;  // of a list that may be in motion
constexpr int kMostFrames = 4096;

template <typename T>
T at(const std::uint8_t* bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

// As UTF-8; the bytes written.
std::size_t put_utf8(std::uint32_t letter, char* out) {
  if (letter < 0x80) {
    out[0] = static_cast<char>(letter);
    return 1;
  }
  const std::size_t bytes = letter < 0x800 ? 2 : letter < 0x10000 ? 3 : 4;
  for (std::size_t i = bytes; i > 1; --i) {
    out[i - 1] = static_cast<char>(0x80U | (letter & 0x3fU));
    letter >>= 6U;
  }
  constexpr std::uint8_t kLead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  out[0] = static_cast<char>(kLead[bytes] | letter);
  return bytes;
}

// Drops the inner places of both that differ. Outer frames are older: what is equal from the outermost on stood still.
void keep_common(Stack& stack, const Stack& again) {
  std::uint32_t same = 0;
  const std::uint32_t most = stack.count < again.count ? stack.count : again.count;
  while (same < most && stack.places[stack.count - 1 - same].code == again.places[again.count - 1 - same].code) {
    ++same;
    if (stack.places[stack.count - same] != again.places[again.count - same]) break;  // moved on: inside it all differs
  }
  if (same == stack.count && same == again.count) return;
  stack.cut = true;
  std::memmove(stack.places, stack.places + (stack.count - same), same * sizeof(Place));
  stack.count = same;
}

}  // namespace

StackReader::StackReader(const Interpreter& interpreter, std::int32_t pid)
    : memory_(pid), interpreter_(interpreter.interpreter), code_type_(interpreter.code_type) {
  std::int64_t shift = 0;
  if (pid != ::getpid()) {
    if (!address_shift(pid, interpreter.code_type, shift)) {
      refused_ = errno == EACCES || errno == EPERM;
      return;
    }
  }
  interpreter_ += static_cast<std::uint64_t>(shift);
  code_type_ += static_cast<std::uint64_t>(shift);
  layout_ = layout_of(interpreter.version);
}

void StackReader::each_thread(void (*fn)(void*, std::uint64_t, std::int64_t), void* context) {
  std::uint64_t thread = 0;
  if (!memory_.read(interpreter_ + layout_->interpreter_threads, thread)) {
    refused_ = errno == EPERM || errno == ENOSYS;
    return;
  }
  refused_ = false;
  for (int i = 0; thread != 0 && i < kMostThreads; ++i) {
    std::int64_t tid = 0;
    std::uint64_t next = 0;
    if (!memory_.read(thread + layout_->thread_tid, tid) || !memory_.read(thread + layout_->thread_next, next)) return;
    fn(context, thread, tid);
    thread = next;
  }
}

bool StackReader::is_thread(std::uint64_t thread, std::int64_t tid) const {
  std::int64_t found = 0;
  return thread != 0 && memory_.read(thread + layout_->thread_tid, found) && found == tid;
}

std::uint64_t StackReader::find_thread(std::int64_t tid) {
  struct Search {
    std::int64_t tid;
    std::uint64_t found;
  } search{tid, 0};
  each_thread(
      [](void* context, std::uint64_t thread, std::int64_t of) {
        auto& wanted = *static_cast<Search*>(context);
        if (wanted.tid == 0 || wanted.tid == of) wanted.found = thread;  // the oldest stands last
      },
      &search);
  return search.found;
}

std::uint64_t StackReader::top(std::uint64_t thread) const {
  std::uint64_t frame = 0;
  if (!memory_.read(thread + layout_->thread_frame, frame) || frame == 0) return 0;
  if (layout_->cframe_frame == InterpreterLayout::kDirect) return frame;
  std::uint64_t inner = 0;
  return memory_.read(frame + layout_->cframe_frame, inner) ? inner : 0;
}

StackReader::Frame StackReader::parse(std::uint64_t address, const std::uint8_t* bytes) const {
  return {address, at<std::uint64_t>(bytes, layout_->frame_code), at<std::uint64_t>(bytes, layout_->frame_previous),
          at<std::uint64_t>(bytes, layout_->frame_instruction), bytes[layout_->frame_owner]};
}

bool StackReader::frame_at(std::uint64_t address, Frame& frame, Block* block) const {
  std::uint8_t bytes[kFrameBytes];
  if (block == nullptr) {
    if (!memory_.read(address, bytes, sizeof bytes)) return false;
    frame = parse(address, bytes);
    return true;
  }
  if (address >= block->start && address + kFrameBytes <= block->end) {
    frame = parse(address, block->bytes + (address - block->start));
    return true;
  }
  bool any = false;
  if (!memory_.read_with_before(address, bytes, sizeof bytes, block->bytes, kBlock, any)) return false;
  block->start = any ? address - kBlock : 0;
  block->end = any ? address : 0;
  frame = parse(address, bytes);
  return true;
}

bool StackReader::walk(std::uint64_t thread, Stack& stack, Frame& first) {
  stack.count = 0;
  stack.cut = false;
  std::uint64_t address = top(thread);
  first = Frame();
  Frame frame;
  Block block;
  for (int i = 0; address != 0 && i < kMostFrames; ++i) {
    if (!frame_at(address, frame, &block)) return false;
    if (i == 0) first = frame;
    address = frame.previous;
    if (layout_->owner_is_c != 255 && frame.owner == layout_->owner_is_c) continue;
    if (stack.count == Stack::kMost) {  // the outer places are what stacks have in common: the innermost one goes
      std::memmove(stack.places, stack.places + 1, (Stack::kMost - 1) * sizeof(Place));
      --stack.count;
      stack.cut = true;
    }
    const std::uint64_t start = frame.code + layout_->code_bytes;
    stack.places[stack.count++] = {frame.code, static_cast<std::int64_t>(frame.instruction - start)};
  }
  return stack.count > 0;
}

bool StackReader::read(std::uint64_t thread, Stack& stack) {
  constexpr int kTries = 3;
  Frame first;
  for (int i = 0; i < kTries; ++i) {
    if (!walk(thread, stack, first)) continue;
    Frame now;
    // Below a frame that still stands nothing can have moved.
    if (top(thread) == first.address && frame_at(first.address, now, nullptr) && now.code == first.code &&
        now.previous == first.previous)
      return true;
  }
  Stack again;
  if (stack.count == 0 || !walk(thread, again, first)) return false;
  keep_common(stack, again);
  return stack.count > 0;
}

std::size_t StackReader::read_codes(const std::uint64_t* codes, std::size_t count, CodeHead* heads) const {
  std::uint8_t bytes[ProcessMemory::kMostPieces * kCodeBytes];
  const std::size_t got = memory_.read_pieces(codes, count, kCodeBytes, bytes);
  for (std::size_t i = 0; i < got; ++i) {
    const std::uint8_t* code = bytes + i * kCodeBytes;
    if (at<std::uint64_t>(code, kObjectType) != code_type_) return i;
    heads[i] = {at<std::uint64_t>(code, layout_->code_file), at<std::uint64_t>(code, layout_->code_name),
                at<std::uint64_t>(code, layout_->code_lines), codes[i] + layout_->code_bytes,
                at<std::uint32_t>(code, layout_->code_first_line)};
  }
  return got;
}

std::uint32_t StackReader::line(const CodeHead& head, std::int64_t offset) const {
  constexpr std::size_t kMostBytes = 32768;  // longer tables are of generated code
  std::uint8_t table[kMostBytes];
  std::uint64_t size = 0;
  if (!memory_.read(head.lines + kObjectSize, size)) return 0;
  const std::size_t bytes = size < kMostBytes ? size : kMostBytes;
  if (!memory_.read(head.lines + kBytesText, table, bytes)) return 0;
  return line_of(table, bytes, head.first_line, offset);
}

std::size_t StackReader::text(std::uint64_t object, char* out, std::size_t size) const {
  if (size == 0) return 0;
  out[0] = 0;
  std::uint64_t length = 0;
  std::uint32_t state = 0;
  if (!memory_.read(object + kObjectSize, length) || !memory_.read(object + kTextState, state)) return 0;
  const std::uint32_t kind = (state >> 2U) & 7U;
  const bool compact = ((state >> 5U) & 1U) != 0;
  const bool ascii = ((state >> 6U) & 1U) != 0;
  if (!compact || (kind != 1 && kind != 2 && kind != 4)) return 0;
  constexpr std::size_t kMostLetters = 512;
  std::uint8_t letters[kMostLetters * 4];
  const std::size_t count = length < kMostLetters ? length : kMostLetters;
  if (!memory_.read(object + (ascii ? layout_->ascii_text : layout_->other_text), letters, count * kind)) return 0;
  std::size_t used = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t letter = 0;
    std::memcpy(&letter, letters + i * kind, kind);
    if (letter < 0x20 || letter > 0x10ffff || (letter >= 0xd800 && letter < 0xe000)) letter = '?';
    if (used + 5 > size) break;
    used += put_utf8(letter, out + used);
  }
  out[used] = 0;
  return used;
}

bool stack_as_text(const Interpreter& interpreter, std::int64_t tid, char* out, std::size_t size) {
  out[0] = 0;
  StackReader reader(interpreter, ::getpid());
  Stack stack;
  if (!reader.usable() || !reader.read(reader.find_thread(tid), stack)) return false;
  std::size_t used = 0;
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    CodeHead head{};
    char file[512];
    char name[256];
    if (!reader.read_code(stack.places[i].code, head)) continue;
    (void)reader.text(head.file, file, sizeof file);
    (void)reader.text(head.name, name, sizeof name);
    const int bytes =
        std::snprintf(out + used, size - used, "  %s(%u): %s\n", file, reader.line(head, stack.places[i].offset), name);
    if (bytes < 0 || used + static_cast<std::size_t>(bytes) >= size) {
      out[used] = 0;
      break;
    }
    used += static_cast<std::size_t>(bytes);
  }
  return used > 0;
}

}  // namespace accel::runtime::python
