#include "runtime/buffer/args_cache.h"

#include <cstring>

namespace accel::runtime {
namespace {

std::uint32_t hash_of(std::string_view shape, std::string_view dtype) {
  std::uint64_t h = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : shape) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  for (const char c : dtype) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return static_cast<std::uint32_t>(h ^ (h >> 32));
}

}  // namespace

ArgsCache::ArgsCache() {
  for (std::uint16_t& slot : slots_) slot = kNone;
}

std::uint16_t ArgsCache::find(std::uint32_t hash, std::string_view shape, std::string_view dtype) const {
  for (std::uint32_t slot = hash % kSlots; slots_[slot] != kNone; slot = (slot + 1) % kSlots) {
    const Entry& entry = entries_[slots_[slot]];
    if (entry.hash == hash && std::string_view(entry.args.shape, entry.args.shape_bytes) == shape &&
        std::string_view(entry.args.dtype, entry.args.dtype_bytes) == dtype) {
      return slots_[slot];
    }
  }
  return kNone;
}

void ArgsCache::unlink(std::uint16_t at) {
  Entry& entry = entries_[at];
  (entry.newer == kNone ? newest_ : entries_[entry.newer].older) = entry.older;
  (entry.older == kNone ? oldest_ : entries_[entry.older].newer) = entry.newer;
}

void ArgsCache::put_first(std::uint16_t at) {
  Entry& entry = entries_[at];
  entry.newer = kNone;
  entry.older = newest_;
  (newest_ == kNone ? oldest_ : entries_[newest_].newer) = at;
  newest_ = at;
}

// Open addressing without tombstones: what stood behind moves up.
void ArgsCache::erase_slot(std::uint16_t at) {
  std::uint32_t hole = entries_[at].hash % kSlots;
  while (slots_[hole] != at) hole = (hole + 1) % kSlots;
  for (std::uint32_t next = (hole + 1) % kSlots; slots_[next] != kNone; next = (next + 1) % kSlots) {
    const std::uint32_t home = entries_[slots_[next]].hash % kSlots;
    if ((next + kSlots - home) % kSlots < (next + kSlots - hole) % kSlots) continue;
    slots_[hole] = slots_[next];
    hole = next;
  }
  slots_[hole] = kNone;
}

std::uint16_t ArgsCache::take_entry() {
  if (used_ < kEntries) return used_++;
  const std::uint16_t at = oldest_;
  if (!entries_[at].written) return kNone;
  unlink(at);
  erase_slot(at);
  return at;
}

std::uint32_t ArgsCache::intern(std::string_view shape, std::string_view dtype) {
  shape = shape.substr(0, kMaxShapeBytes);
  dtype = dtype.substr(0, kMaxDtypeBytes);
  const std::uint32_t hash = hash_of(shape, dtype);
  const SpinGuard guard(lock_);
  std::uint16_t at = find(hash, shape, dtype);
  if (at != kNone) {
    if (at != newest_) {
      unlink(at);
      put_first(at);
    }
    return entries_[at].args.id;
  }
  at = take_entry();
  if (at == kNone) {
    ++refused_;
    return 0;
  }
  Entry& entry = entries_[at];
  entry.args.id = next_id_++;
  entry.args.shape_bytes = static_cast<std::uint8_t>(shape.size());
  entry.args.dtype_bytes = static_cast<std::uint8_t>(dtype.size());
  std::memcpy(entry.args.shape, shape.data(), shape.size());
  std::memcpy(entry.args.dtype, dtype.data(), dtype.size());
  entry.hash = hash;
  entry.written = false;
  ++unwritten_;
  std::uint32_t slot = hash % kSlots;
  while (slots_[slot] != kNone) slot = (slot + 1) % kSlots;
  slots_[slot] = at;
  put_first(at);
  return entry.args.id;
}

void ArgsCache::rewind() {
  const SpinGuard guard(lock_);
  for (std::uint16_t i = 0; i < used_; ++i) entries_[i].written = false;
  unwritten_ = used_;
}

bool ArgsCache::next_unwritten(Args& out) {
  const SpinGuard guard(lock_);
  if (unwritten_ == 0) return false;
  while (entries_[look_from_].written) look_from_ = static_cast<std::uint16_t>((look_from_ + 1) % used_);
  entries_[look_from_].written = true;
  --unwritten_;
  out = entries_[look_from_].args;
  return true;
}

}  // namespace accel::runtime
