// NameRegistry: every (category, text) once, addressed by a small number that stays valid for the life of the process.
// intern() takes a short lock and may allocate; reading by id takes none. Bounded: past kMaxNames every new name is
// "(other names)", which is counted. Any thread; not in signal handlers.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "runtime/buffer/spin_lock.h"

namespace accel::runtime {

class NameRegistry {
 public:
  static constexpr std::uint32_t kMaxNames = 65536;
  static constexpr std::size_t kMaxTextBytes = 511;  // longer texts are cut
  static constexpr std::uint32_t kOther = 1;         // id 0 is no name

  struct Entry {
    std::uint32_t hash;
    std::uint16_t category_bytes;
    std::uint16_t text_bytes;
    const char* bytes;  // category, then text
    std::string_view category() const { return {bytes, category_bytes}; }
    std::string_view text() const { return {bytes + category_bytes, text_bytes}; }
  };

  // kOther also when memory is short.
  std::uint32_t intern(std::string_view category, std::string_view text);
  // Ids 1 .. count() can be read with entry().
  std::uint32_t count() const { return count_.load(std::memory_order_acquire); }
  const Entry& entry(std::uint32_t id) const { return blocks_[id / kBlock][id % kBlock]; }
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kBlock = 512;

  std::uint32_t find(std::uint32_t hash, std::string_view category, std::string_view text,
                     std::uint32_t& free_slot) const;
  std::uint32_t add(std::uint32_t hash, std::string_view category, std::string_view text);
  bool grow();
  char* keep(std::string_view category, std::string_view text);

  SpinLock lock_;
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::uint32_t* slots_ = nullptr;  // open addressing, ids, 0 = free
  std::uint32_t slot_count_ = 0;    // a power of two
  char* arena_ = nullptr;
  std::size_t arena_left_ = 0;
  Entry** blocks_ = nullptr;  // kMaxNames / kBlock of them; an entry is written before count_ admits it
};

}  // namespace accel::runtime
