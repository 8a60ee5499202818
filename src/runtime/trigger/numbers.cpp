#include "runtime/trigger/numbers.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace accel::runtime {
namespace {

constexpr NumberDescriptor kBuiltIns[] = {
#define NUMBER(name, unit, source, cost, meaning) {#name, unit, NumberSource::source, cost, meaning},
#include "runtime/trigger/numbers.def"
#undef NUMBER
};
static_assert(kBuiltInCount < NumberTable::kCapacity / 2, "leave room for the user's own numbers");

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

const NumberDescriptor& describe(BuiltIn number) { return kBuiltIns[static_cast<std::size_t>(number)]; }

std::string_view to_string(NumberSource source) {
  switch (source) {
    case NumberSource::step:
      return "step";
    case NumberSource::given:
      return "given";
    case NumberSource::process:
      return "process";
    case NumberSource::cgroup:
      return "cgroup";
    case NumberSource::nvml:
      return "nvml";
    case NumberSource::network:
      return "network";
    case NumberSource::framework:
      return "framework";
    case NumberSource::user:
      return "user";
  }
  return "user";
}

bool is_identifier(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return false;
  for (const char c : text) {
    if (!is_letter(c) && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

NumberTable::NumberTable() : size_(0) {
  for (Slot& slot : slots_) {
    slot.value.store(0, std::memory_order_relaxed);
    slot.count.store(0, std::memory_order_relaxed);
    slot.forgotten.store(false, std::memory_order_relaxed);
    slot.source = NumberSource::user;
    slot.name_bytes = 0;
    slot.name[0] = 0;
  }
  for (const NumberDescriptor& number : kBuiltIns) slot(number.name, number.source);
}

std::uint16_t NumberTable::find_among(std::string_view name, std::uint16_t size) const {
  for (std::uint16_t i = 0; i < size; ++i) {
    if (slots_[i].name_bytes == name.size() && std::memcmp(slots_[i].name, name.data(), name.size()) == 0) return i;
  }
  return kNoSlot;
}

std::uint16_t NumberTable::find(std::string_view name) const { return find_among(name, size()); }

std::uint16_t NumberTable::slot(std::string_view name, NumberSource source) {
  if (name.size() > kMaxNameBytes || !is_identifier(name)) return kNoSlot;
  const std::uint16_t known = find(name);
  if (known != kNoSlot) return known;
  while (adding_.test_and_set(std::memory_order_acquire)) {
  }
  const std::uint16_t size = size_.load(std::memory_order_relaxed);
  std::uint16_t at = find_among(name, size);
  if (at == kNoSlot && size < kCapacity) {
    at = size;
    std::memcpy(slots_[at].name, name.data(), name.size());
    slots_[at].name[name.size()] = 0;
    slots_[at].source = source;
    slots_[at].name_bytes = static_cast<std::uint8_t>(name.size());
    size_.store(static_cast<std::uint16_t>(size + 1), std::memory_order_release);
  }
  adding_.clear(std::memory_order_release);
  return at;
}

std::string_view NumberTable::name(std::uint16_t slot) const {
  return slot < size() ? std::string_view(slots_[slot].name, slots_[slot].name_bytes) : std::string_view();
}

void NumberTable::set(std::uint16_t slot, double value) {
  if (slot >= size()) return;
  Slot& s = slots_[slot];
  s.value.store(std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN(), std::memory_order_relaxed);
  s.forgotten.store(false, std::memory_order_relaxed);
  s.count.fetch_add(1, std::memory_order_release);
}

void NumberTable::forget(std::uint16_t slot) {
  if (slot < size()) slots_[slot].forgotten.store(true, std::memory_order_release);
}

NumberValue NumberTable::get(std::uint16_t slot) const {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  if (slot >= size()) return {kNaN, 0, NumberValue::State::unknown};
  const Slot& s = slots_[slot];
  const std::uint32_t count = s.count.load(std::memory_order_acquire);
  if (count == 0 || s.forgotten.load(std::memory_order_acquire)) return {kNaN, count, NumberValue::State::unknown};
  const double value = s.value.load(std::memory_order_relaxed);
  return {value, count, std::isnan(value) ? NumberValue::State::not_a_number : NumberValue::State::known};
}

}  // namespace accel::runtime
