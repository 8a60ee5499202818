#include "runtime/python/line_table.h"

namespace accel::runtime::python {
namespace {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t count) : data_(data), count_(count) {}
  bool any() const { return at_ < count_; }
  std::uint8_t next() { return any() ? data_[at_++] : std::uint8_t{0}; }
  std::int64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; any(); shift += 6) {
      const std::uint8_t byte = next();
      if (shift < 60) value |= std::uint64_t{byte & 0x3fU} << shift;
      if ((byte & 0x40U) == 0) break;
    }
    return static_cast<std::int64_t>(value);
  }
  std::int64_t signed_number() {
    const std::int64_t value = number();
    return (value & 1) != 0 ? -(value >> 1) : value >> 1;
  }
  void skip(unsigned bytes) { at_ = count_ - at_ < bytes ? count_ : at_ + bytes; }

 private:
  const std::uint8_t* data_;
  std::size_t count_;
  std::size_t at_ = 0;
};

}  // namespace

std::uint32_t line_of(const std::uint8_t* table, std::size_t bytes, std::uint32_t first_line, std::int64_t offset) {
  constexpr unsigned kNone = 15;
  constexpr unsigned kLong = 14;
  constexpr unsigned kNoColumns = 13;
  constexpr unsigned kOneLine = 10;  // 10, 11, 12: so many lines on
  constexpr std::int64_t kUnit = 2;  // bytes of an instruction
  if (offset < 0) return first_line;
  Bytes in(table, bytes);
  std::int64_t line = first_line;
  for (std::int64_t start = 0; in.any();) {
    const std::uint8_t first = in.next();
    const unsigned kind = (first >> 3U) & 15U;
    const std::int64_t end = start + ((first & 7U) + 1) * kUnit;
    if (kind == kLong) {
      line += in.signed_number();
      for (int i = 0; i < 3; ++i) (void)in.number();
    } else if (kind == kNoColumns) {
      line += in.signed_number();
    } else if (kind >= kOneLine && kind < kNoColumns) {
      line += kind - kOneLine;
      in.skip(2);
    } else if (kind != kNone) {
      in.skip(1);
    }
    if (offset < end) return kind == kNone || line < 0 || line > INT32_MAX ? 0 : static_cast<std::uint32_t>(line);
    start = end;
  }
  return 0;
}

}  // namespace accel::runtime::python
