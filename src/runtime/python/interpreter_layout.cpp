#include "runtime/python/interpreter_layout.h"

namespace accel::runtime::python {
namespace {

struct Version {
  std::uint32_t minor;  // PY_VERSION_HEX >> 16
  InterpreterLayout layout;
};

constexpr Version kVersions[] = {
    {0x030b, {16, 8, 160, 56, 8, 32, 48, 56, 69, 255, 72, 112, 128, 136, 184, 48, 72}},
    {0x030c, {72, 8, 144, 56, 0, 0, 8, 56, 70, 3, 68, 112, 128, 136, 192, 40, 56}},
    {0x030d, {7344, 8, 160, 72, InterpreterLayout::kDirect, 0, 8, 56, 70, 3, 68, 112, 128, 136, 200, 40, 56}},
};

}  // namespace

const InterpreterLayout* layout_of(std::uint32_t version) {
  for (const Version& known : kVersions) {
    if (known.minor == version >> 16) return &known.layout;
  }
  return nullptr;
}

}  // namespace accel::runtime::python
