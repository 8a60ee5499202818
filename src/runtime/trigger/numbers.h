// NumberTable: the named numbers that rules look at. A name becomes a slot once; a slot takes values from any thread
// without a lock. "Unknown" (never recorded) and "recorded as NaN" are different. Owned by the session; fixed size, no
// allocation after construction, never throws.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace accel::runtime {

enum class NumberSource : std::uint8_t { step, given, process, cgroup, nvml, network, framework, user };

struct NumberDescriptor {
  std::string_view name;
  std::string_view unit;
  NumberSource source;
  std::string_view cost;
  std::string_view meaning;
};

// The names of numbers.def come first, in this order, so that their slots are constants.
enum class BuiltIn : std::uint16_t {
#define NUMBER(name, unit, source, cost, meaning) name,
#include "runtime/trigger/numbers.def"
#undef NUMBER
  count_
};
inline constexpr std::uint16_t kBuiltInCount = static_cast<std::uint16_t>(BuiltIn::count_);

const NumberDescriptor& describe(BuiltIn number);
std::string_view to_string(NumberSource source);

// What a slot holds at one moment. `count` is how many values it has taken so far.
struct NumberValue {
  double value;  // NaN unless state is known
  std::uint32_t count;
  enum class State : std::uint8_t { unknown, known, not_a_number } state;
};

class NumberTable {
 public:
  static constexpr std::uint16_t kCapacity = 256;
  static constexpr std::size_t kMaxNameBytes = 47;
  static constexpr std::uint16_t kNoSlot = 0xffff;

  NumberTable();
  NumberTable(const NumberTable&) = delete;
  NumberTable& operator=(const NumberTable&) = delete;

  // The slot of `name`, new or known; kNoSlot when the table is full, the name is empty, too long or no identifier.
  // Any thread; takes a short lock.
  std::uint16_t slot(std::string_view name) { return slot(name, NumberSource::user); }
  // The same for a number that a sampler gives; the source of a name that is known stays.
  std::uint16_t slot(std::string_view name, NumberSource source);
  NumberSource source(std::uint16_t slot) const { return slot < size() ? slots_[slot].source : NumberSource::user; }
  std::uint16_t find(std::string_view name) const;
  std::string_view name(std::uint16_t slot) const;
  std::uint16_t size() const { return size_.load(std::memory_order_acquire); }

  // Any thread, a few ns, no lock. Infinity and NaN are kept as "not a number". Unknown slots are ignored.
  void set(std::uint16_t slot, double value);
  void set(BuiltIn number, double value) { set(static_cast<std::uint16_t>(number), value); }
  // The number is no longer known (for example: no loss was given for this step).
  void forget(std::uint16_t slot);
  void forget(BuiltIn number) { forget(static_cast<std::uint16_t>(number)); }
  NumberValue get(std::uint16_t slot) const;
  NumberValue get(BuiltIn number) const { return get(static_cast<std::uint16_t>(number)); }

 private:
  struct Slot {
    std::atomic<double> value;
    std::atomic<std::uint32_t> count;
    std::atomic<bool> forgotten;
    NumberSource source;
    std::uint8_t name_bytes;
    char name[kMaxNameBytes + 1];
  };
  std::uint16_t find_among(std::string_view name, std::uint16_t size) const;

  std::atomic<std::uint16_t> size_;
  std::atomic_flag adding_ = ATOMIC_FLAG_INIT;
  Slot slots_[kCapacity];
};

bool is_identifier(std::string_view text);

}  // namespace accel::runtime
