#include "runtime/python/stack_tree.h"

#include <cstring>

namespace accel::runtime::python {
namespace {

std::uint32_t mix(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15U;
  return static_cast<std::uint32_t>(value >> 32U);
}

std::uint32_t hash_text(const char* text, std::uint32_t hash) {
  for (; *text != 0; ++text) hash = (hash ^ static_cast<std::uint8_t>(*text)) * 16777619U;
  return hash;
}

}  // namespace

StackTree::Code* StackTree::code_of(const StackReader& reader, std::int32_t pid, std::uint64_t code,
                                    const CodeHead& head) {
  // Addresses are used again when a code object dies: what it was is compared, and a full neighbourhood is overwritten.
  constexpr std::uint32_t kNear = 8;
  const std::uint32_t start = mix(code ^ (static_cast<std::uint64_t>(pid) << 48U));
  Code* place = &codes_[start % kCodes];
  for (std::uint32_t i = 0; i < kNear; ++i) {
    Code& known = codes_[(start + i) % kCodes];
    if (known.function != 0 && known.code == code && known.pid == pid) {
      if (known.head == head) return &known;
      place = &known;
      break;
    }
    if (known.function == 0) {
      place = &known;
      break;
    }
  }
  const std::uint32_t function = function_of(reader, head);
  if (function == 0) return nullptr;
  *place = {code, pid, function, head, {}, {}};
  return place;
}

std::uint32_t StackTree::function_of(const StackReader& reader, const CodeHead& head) {
  char path[1024];
  Function made{};
  const std::size_t length = reader.text(head.file, path, sizeof path);
  const std::size_t name = reader.text(head.name, made.name, sizeof made.name);
  if (length == 0 || name == 0) return 0;
  const std::size_t from = length < kText ? 0 : length - (kText - 1);
  std::memcpy(made.file, path + from, length - from + 1);
  const std::uint32_t start = hash_text(made.name, hash_text(made.file, 2166136261U));
  for (std::uint32_t i = 0; i < kCodes; ++i) {
    std::uint32_t& slot = function_slots_[(start + i) % kCodes];
    if (slot == 0) {
      const std::uint32_t count = functions_count_.load(std::memory_order_relaxed);
      if (count == kFunctions) return 0;
      functions_[count] = made;
      slot = count + 1;
      functions_count_.store(count + 1, std::memory_order_release);
      return slot;
    }
    const Function& known = functions_[slot - 1];
    if (std::strcmp(known.file, made.file) == 0 && std::strcmp(known.name, made.name) == 0) return slot;
  }
  return 0;
}

std::uint32_t StackTree::frame_of(std::uint32_t caller, std::uint32_t function, std::uint32_t line) {
  const std::uint32_t start =
      mix((static_cast<std::uint64_t>(caller) << 40U) ^ (static_cast<std::uint64_t>(function) << 20U) ^ line);
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    std::uint32_t& slot = slots_[(start + i) % kSlots];
    if (slot == 0) {
      const std::uint32_t count = frames_count_.load(std::memory_order_relaxed);
      if (count == kFrames) return 0;
      frames_[count] = {caller, function, line};
      slot = count + 1;
      frames_count_.store(count + 1, std::memory_order_release);
      return slot;
    }
    const Frame& known = frames_[slot - 1];
    if (known.caller == caller && known.function == function && known.line == line) return slot;
  }
  return 0;
}

std::uint32_t StackTree::line_of(const StackReader& reader, Code& code, std::int64_t offset) {
  const std::int64_t place = offset < 0 ? 1 : offset + 1;
  std::uint32_t& line = code.lines[(place >> 1U) % Code::kPlaces];
  std::int64_t& known = code.places[(place >> 1U) % Code::kPlaces];
  if (known != place) {
    line = reader.line(code.head, offset);
    known = place;
  }
  return line;
}

std::uint32_t StackTree::add(const StackReader& reader, std::int32_t pid, const Stack& stack) {
  std::uint64_t codes[ProcessMemory::kMostPieces];
  CodeHead heads[ProcessMemory::kMostPieces];
  std::uint32_t frame = 0;
  for (std::uint32_t left = stack.count; left > 0;) {  // from the outermost in
    const std::uint32_t count = left < ProcessMemory::kMostPieces ? left : ProcessMemory::kMostPieces;
    for (std::uint32_t i = 0; i < count; ++i) codes[i] = stack.places[left - 1 - i].code;
    const std::size_t got = reader.read_codes(codes, count, heads);
    for (std::uint32_t i = 0; i < got; ++i) {
      Code* code = code_of(reader, pid, codes[i], heads[i]);
      if (code == nullptr) return frame;
      const std::int64_t offset = stack.places[left - 1 - i].offset;
      const std::uint32_t inner = frame_of(frame, code->function, line_of(reader, *code, offset));
      if (inner == 0) {
        full_.fetch_add(1, std::memory_order_relaxed);
        return frame;
      }
      frame = inner;
    }
    if (got < count) return frame;  // inside of what is no code object nothing is sure
    left -= count;
  }
  return frame;
}

}  // namespace accel::runtime::python
