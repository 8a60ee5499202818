#include "diagnosis/wording.h"

#include <fmt/format.h>

#include <cmath>

namespace accel {
namespace {

// Three significant digits without an exponent, whole above 100.
std::string three_digits(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

}  // namespace

std::string ms_text(double ns) {
  if (ns != 0 && std::fabs(ns) < 100'000) return fmt::format("{} us", three_digits(ns / 1e3));
  return fmt::format("{} ms", three_digits(ns / 1e6));
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  return std::fabs(percent) >= 9.95 || percent == 0 ? fmt::format("{:.0f} %", percent)
                                                    : fmt::format("{:.1f} %", percent);
}

std::string count_text(double count) {
  if (std::fabs(count - std::round(count)) < 0.005) return fmt::format("{:.0f}", count);
  return three_digits(count);
}

std::string bytes_text(double bytes) {
  constexpr std::string_view kUnits[] = {"bytes", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (std::fabs(bytes) >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} bytes", bytes) : fmt::format("{} {}", three_digits(bytes), kUnits[unit]);
}

std::string short_name(std::string_view name, std::size_t length) {
  if (name.size() <= length) return std::string(name);
  std::size_t cut = length - 3;
  while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xC0) == 0x80) --cut;  // not inside a UTF-8 character
  return std::string(name.substr(0, cut)) + "...";
}

std::string slice_ref(std::uint32_t row) { return fmt::format("slices:{}", row); }
std::string device_event_ref(std::uint32_t row) { return fmt::format("device_events:{}", row); }

}  // namespace accel
