// Python stacks read from outside: against an interpreter whose memory the test lays out itself.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "runtime/python/line_table.h"
#include "runtime/python/stack_reader.h"
#include "runtime/python/stack_tree.h"

namespace accel::runtime::python {
namespace {

// A process with one interpreter of one thread, as CPython 3.12 keeps it.
class FakeInterpreter {
 public:
  static constexpr std::uint32_t kVersion = 0x030c01f0;

  FakeInterpreter() {
    put(interpreter_, layout().interpreter_threads, address(thread_));
    put(thread_, layout().thread_tid, std::uint64_t{77});
    put(thread_, layout().thread_frame, address(cframe_));
  }

  // Called by the one called before; `lines` is a location table, `offset` into the instructions.
  std::uint64_t call(const std::string& file, const std::string& name, const std::string& lines, std::int64_t offset) {
    auto& code = memory(256);
    put(code, kObjectType, type());
    put(code, layout().code_file, text(file));
    put(code, layout().code_name, text(name));
    put(code, layout().code_lines, bytes(lines));
    put(code, layout().code_first_line, std::uint32_t{10});
    return enter(address(code), offset);
  }
  std::uint64_t enter(std::uint64_t code, std::int64_t offset, std::uint8_t owner = 0) {
    auto& frame = memory(kFrameBytes + 8);
    put(frame, layout().frame_code, code);
    put(frame, layout().frame_previous, top_);
    put(frame, layout().frame_instruction, code + layout().code_bytes + static_cast<std::uint64_t>(offset));
    put(frame, layout().frame_owner, owner);
    top_ = address(frame);
    put(cframe_, layout().cframe_frame, top_);
    return code;
  }
  Interpreter interpreter() { return {kVersion, address(interpreter_), type()}; }
  static const InterpreterLayout& layout() { return *layout_of(kVersion); }

  template <typename T>
  static void put(std::vector<std::uint8_t>& to, std::size_t offset, T value) {
    std::memcpy(to.data() + offset, &value, sizeof value);
  }
  static std::uint64_t address(const std::vector<std::uint8_t>& of) {
    return reinterpret_cast<std::uintptr_t>(of.data());
  }

 private:
  std::vector<std::uint8_t>& memory(std::size_t bytes) { return objects_.emplace_back(bytes); }
  std::uint64_t type() const { return address(type_); }
  std::uint64_t text(const std::string& letters) {
    auto& object = memory(64 + letters.size());
    put(object, kObjectSize, static_cast<std::uint64_t>(letters.size()));
    put(object, kTextState, std::uint32_t{1U << 2U | 1U << 5U | 1U << 6U});  // one byte a letter, compact, ASCII
    std::memcpy(object.data() + layout().ascii_text, letters.data(), letters.size());
    return address(object);
  }
  std::uint64_t bytes(const std::string& content) {
    auto& object = memory(64 + content.size());
    put(object, kObjectSize, static_cast<std::uint64_t>(content.size()));
    std::memcpy(object.data() + kBytesText, content.data(), content.size());
    return address(object);
  }

  std::deque<std::vector<std::uint8_t>> objects_;
  std::vector<std::uint8_t> interpreter_ = std::vector<std::uint8_t>(8192);
  std::vector<std::uint8_t> thread_ = std::vector<std::uint8_t>(512);
  std::vector<std::uint8_t> cframe_ = std::vector<std::uint8_t>(64);
  std::vector<std::uint8_t> type_ = std::vector<std::uint8_t>(64);
  std::uint64_t top_ = 0;
};

// One entry of four instructions each: same line, then the next one, then three lines back with a long entry.
const std::string kLines{
    "\x83\x10"      // short form, 4 instructions
    "\xdb\x00\x05"  // one line on, no. 11, 4 instructions
    "\xeb\x05"      // no columns, -2 lines, 4 instructions
    "\xfb",         // no line, 4 instructions
    8};

std::uint32_t line(std::int64_t offset) {
  return line_of(reinterpret_cast<const std::uint8_t*>(kLines.data()), kLines.size(), 10, offset);
}

TEST(LineTable, GivesTheLineOfAnInstruction) {
  EXPECT_EQ(line(-2), 10U);  // before the first one
  EXPECT_EQ(line(0), 10U);
  EXPECT_EQ(line(6), 10U);
  EXPECT_EQ(line(8), 11U);
  EXPECT_EQ(line(16), 9U);
  EXPECT_EQ(line(24), 0U);    // code without a line
  EXPECT_EQ(line(1000), 0U);  // behind the table
}

TEST(LineTable, ReadsNothingOutsideOfDamagedBytes) {
  for (unsigned first = 0; first < 256; ++first) {
    for (std::size_t length = 0; length < 4; ++length) {
      const std::vector<std::uint8_t> bytes(length, static_cast<std::uint8_t>(first));
      (void)line_of(bytes.data(), bytes.size(), 1, 40);
    }
  }
}

TEST(PythonStack, IsReadFromTheInnermostFrameOut) {
  FakeInterpreter fake;
  fake.call("train.py", "main", kLines, 8);
  fake.enter(1234, 0, 3);  // stands for C code
  fake.call("data.py", "Pictures.__getitem__", kLines, 0);
  char text[400];
  ASSERT_TRUE(stack_as_text(fake.interpreter(), 77, text, sizeof text));
  EXPECT_STREQ(text, "  data.py(10): Pictures.__getitem__\n  train.py(11): main\n");
  EXPECT_FALSE(stack_as_text(fake.interpreter(), 78, text, sizeof text)) << "no such thread";
}

TEST(PythonStack, OfMemoryThatIsGoneIsNone) {
  FakeInterpreter fake;
  Interpreter gone = fake.interpreter();
  gone.interpreter = 8;
  char text[100];
  EXPECT_FALSE(stack_as_text(gone, 77, text, sizeof text));
  gone = fake.interpreter();
  gone.version = 0x03ff0000;
  EXPECT_FALSE(stack_as_text(gone, 77, text, sizeof text)) << "a version whose layout nobody knows";
}

TEST(PythonStack, KeepsTheOuterFramesOfADeepOneWithTheirCommonRoot) {
  FakeInterpreter fake;
  const std::uint64_t code = fake.call("train.py", "main", kLines, 0);
  for (int i = 0; i < 1000; ++i) fake.enter(code, 8);
  StackReader reader(fake.interpreter(), ::getpid());
  Stack stack;
  ASSERT_TRUE(reader.read(reader.find_thread(77), stack));
  EXPECT_EQ(stack.count, Stack::kMost);
  EXPECT_TRUE(stack.cut);
  EXPECT_EQ(stack.places[Stack::kMost - 1].offset, 0) << "the outermost";
}

TEST(StackTree, HasEachPlaceOnceBelowItsCaller) {
  FakeInterpreter fake;
  fake.call("train.py", "main", kLines, 0);
  const std::uint64_t inner = fake.call("data.py", "load", kLines, 0);
  StackReader reader(fake.interpreter(), ::getpid());
  const auto tree = std::make_unique<StackTree>();
  std::memset(static_cast<void*>(tree.get()), 0, sizeof(StackTree));
  Stack stack;
  ASSERT_TRUE(reader.read(reader.find_thread(77), stack));
  const std::uint32_t first = tree->add(reader, 1, stack);
  EXPECT_EQ(tree->add(reader, 1, stack), first);
  EXPECT_EQ(tree->frame_count(), 2U);
  stack.places[0].offset = 8;
  const std::uint32_t second = tree->add(reader, 1, stack);
  EXPECT_NE(second, first);
  EXPECT_EQ(tree->frame(second).caller, tree->frame(first).caller);
  EXPECT_EQ(tree->frame(second).line, 11U);
  EXPECT_EQ(tree->function_count(), 2U);
  EXPECT_STREQ(tree->function(tree->frame(first).function).name, "load");
  stack.places[0].code = inner + 8;  // what is no code object ends a stack
  EXPECT_EQ(tree->add(reader, 1, stack), tree->frame(first).caller);
}

}  // namespace
}  // namespace accel::runtime::python
