#include "runtime/buffer/names.h"

#include <cstdlib>
#include <cstring>

namespace accel::runtime {
namespace {

constexpr std::uint32_t kFirstSlots = 256;
constexpr std::size_t kArenaBytes = 16 * 1024;

std::uint32_t hash_of(std::string_view category, std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : category) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  h = (h ^ 0xff) * 0x100000001b3ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return static_cast<std::uint32_t>(h ^ (h >> 32));
}

}  // namespace

std::uint32_t NameRegistry::find(std::uint32_t hash, std::string_view category, std::string_view text,
                                 std::uint32_t& free_slot) const {
  std::uint32_t slot = hash & (slot_count_ - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slot_count_ - 1)) {
    const Entry& known = entry(slots_[slot]);
    if (known.hash == hash && known.category() == category && known.text() == text) return slots_[slot];
  }
  free_slot = slot;
  return 0;
}

std::uint32_t NameRegistry::intern(std::string_view category, std::string_view text) {
  category = category.substr(0, kMaxTextBytes);
  text = text.substr(0, kMaxTextBytes);
  const std::uint32_t hash = hash_of(category, text);
  const SpinGuard guard(lock_);
  if (slots_ == nullptr) {
    if (!grow() || add(hash_of("", "(other names)"), "", "(other names)") != kOther) return kOther;
  }
  std::uint32_t slot = 0;
  const std::uint32_t known = find(hash, category, text, slot);
  if (known != 0) return known;
  const std::uint32_t id = add(hash, category, text);
  if (id == 0) refused_.fetch_add(1, std::memory_order_relaxed);
  return id == 0 ? kOther : id;
}

// 0 = full or no memory.
std::uint32_t NameRegistry::add(std::uint32_t hash, std::string_view category, std::string_view text) {
  const std::uint32_t id = count_.load(std::memory_order_relaxed) + 1;
  if (id >= kMaxNames || (2 * id > slot_count_ && !grow())) return 0;
  if (blocks_ == nullptr) blocks_ = static_cast<Entry**>(std::calloc(kMaxNames / kBlock, sizeof(Entry*)));
  if (blocks_ == nullptr) return 0;
  Entry*& entries = blocks_[id / kBlock];
  if (entries == nullptr) entries = static_cast<Entry*>(std::calloc(kBlock, sizeof(Entry)));
  if (entries == nullptr) return 0;
  char* bytes = keep(category, text);
  if (bytes == nullptr) return 0;
  entries[id % kBlock] = {hash, static_cast<std::uint16_t>(category.size()), static_cast<std::uint16_t>(text.size()),
                          bytes};
  std::uint32_t slot = 0;
  find(hash, category, text, slot);
  slots_[slot] = id;
  count_.store(id, std::memory_order_release);
  return id;
}

bool NameRegistry::grow() {
  const std::uint32_t bigger = slot_count_ == 0 ? kFirstSlots : slot_count_ * 2;
  auto* slots = static_cast<std::uint32_t*>(std::calloc(bigger, sizeof(std::uint32_t)));
  if (slots == nullptr) return false;
  for (std::uint32_t id = 1; id <= count_.load(std::memory_order_relaxed); ++id) {
    std::uint32_t slot = entry(id).hash & (bigger - 1);
    while (slots[slot] != 0) slot = (slot + 1) & (bigger - 1);
    slots[slot] = id;
  }
  std::free(slots_);
  slots_ = slots;
  slot_count_ = bigger;
  return true;
}

char* NameRegistry::keep(std::string_view category, std::string_view text) {
  const std::size_t bytes = category.size() + text.size();
  if (bytes > arena_left_ || arena_ == nullptr) {
    arena_ = static_cast<char*>(std::malloc(kArenaBytes));  // what is left of the old one is given up
    arena_left_ = arena_ == nullptr ? 0 : kArenaBytes;
    if (arena_ == nullptr) return nullptr;
  }
  char* at = arena_;
  std::memcpy(at, category.data(), category.size());
  std::memcpy(at + category.size(), text.data(), text.size());
  arena_ += bytes;
  arena_left_ -= bytes;
  return at;
}

}  // namespace accel::runtime
