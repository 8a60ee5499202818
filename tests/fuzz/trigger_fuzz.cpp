// Any text: the compiler answers with a rule or with an error that has a column inside the text; a rule evaluates over
// any numbers without a sanitizer report, and fires only when its condition is true.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "runtime/trigger/rule.h"
#include "runtime/trigger/rule_file.h"

namespace {

using namespace accel::runtime;  // NOLINT(google-build-using-namespace)

void require(bool held) {
  if (!held) std::abort();
}

void exercise(std::string_view text, std::string_view bits) {
  static NumberTable numbers;
  RuleError error;
  const Rule::Owner rule = Rule::compile(text, numbers, error);
  if (rule == nullptr) {
    require(error.column >= 1 && error.column <= text.size() + 1);
    require(error.message[0] != 0 && error.remedy[0] != 0);
    return;
  }
  require(rule->memory_bytes() < 100000);
  for (std::size_t step = 0; step < 40; ++step) {
    double value = static_cast<double>(step);
    if (bits.size() >= 8) std::memcpy(&value, bits.data() + step % (bits.size() - 7), sizeof value);
    for (std::uint16_t slot = 0; slot < numbers.size(); slot += 3) numbers.set(slot, value);
    rule->fires(numbers, static_cast<std::int64_t>(step) * 1'000'000'000);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  exercise(text.substr(0, 2000), text);
  RuleFile file(text);
  std::string_view rule;
  std::uint32_t line = 0;
  while (file.next(rule, line)) exercise(rule, text);
  return 0;
}
