// A fixed set of short texts and which of them a given text is: one hash, one comparison. The hash is chosen at compile
// time so that no two texts of the set meet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace accel::kineto_json {

// Whether [p, p + size) is `text`, which has that size; up to 32 bytes without a call or a loop.
inline bool same_text(const char* p, const char* text, std::size_t size) {
  const auto load64 = [](const char* at) {
    std::uint64_t v;
    std::memcpy(&v, at, 8);
    return v;
  };
  const auto load32 = [](const char* at) {
    std::uint32_t v;
    std::memcpy(&v, at, 4);
    return v;
  };
  if (size >= 8) {
    if (size > 32) return std::memcmp(p, text, size) == 0;
    std::uint64_t differs = load64(p) ^ load64(text);
    differs |= load64(p + size - 8) ^ load64(text + size - 8);
    if (size > 16) {
      differs |= load64(p + 8) ^ load64(text + 8);
      differs |= load64(p + size - 16) ^ load64(text + size - 16);
    }
    return differs == 0;
  }
  if (size >= 4) return ((load32(p) ^ load32(text)) | (load32(p + size - 4) ^ load32(text + size - 4))) == 0;
  return size == 0 || ((p[0] ^ text[0]) | (p[size / 2] ^ text[size / 2]) | (p[size - 1] ^ text[size - 1])) == 0;
}

template <std::size_t kCount>
class KeyTable {
  static_assert(kCount > 0 && kCount < 255);

 public:
  explicit consteval KeyTable(const std::array<std::string_view, kCount>& texts) : texts_(texts) {
    while (!try_multiplier()) multiplier_ += 2;
  }

  // The number of `text`, or kCount.
  std::size_t find(std::string_view text) const {
    if (text.empty()) return kCount;
    const std::size_t i = slots_[slot(text)];
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the size is beside it
    if (i == kCount || texts_[i].size() != text.size() || !same_text(text.data(), texts_[i].data(), text.size()))
      return kCount;
    return i;
  }

 private:
  static constexpr std::size_t kSlots = kCount <= 16 ? 128 : 1024;

  constexpr std::size_t slot(std::string_view text) const {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])); };
    const std::size_t n = text.size();
    const std::uint64_t mixed =
        byte(0) | byte(n - 1) << 8 | byte(n / 2) << 16 | byte(n < 4 ? 0 : n - 4) << 24 | std::uint64_t{n} << 32;
    return (mixed * multiplier_) >> 40 & (kSlots - 1);
  }
  constexpr bool try_multiplier() {
    slots_.fill(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      std::uint8_t& at = slots_[slot(texts_[i])];
      if (at != kCount) return false;
      at = static_cast<std::uint8_t>(i);
    }
    return true;
  }

  std::array<std::string_view, kCount> texts_;
  std::array<std::uint8_t, kSlots> slots_{};
  std::uint64_t multiplier_ = 0x9E3779B97F4A7C15;
};

}  // namespace accel::kineto_json
