#include "base/string_pool.h"

#include <cstring>

namespace accel {
namespace {

constexpr std::size_t kBlockBytes = 256 * 1024;
constexpr std::size_t kFirstTableSize = 1024;  // a power of two

std::uint64_t load64(const char* p) {
  std::uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Multiply-fold hash over 16 bytes at a time (the construction of wyhash); quality suffices for a table that compares
// the full string on every hit.
std::uint32_t hash_of(std::string_view text) {
  constexpr std::uint64_t kA = 0xa0761d6478bd642fULL;
  constexpr std::uint64_t kB = 0xe7037ed1a0b428dbULL;
  const char* p = text.data();
  std::size_t n = text.size();
  std::uint64_t h = kA ^ n;
  while (n > 16) {
    h = mix(load64(p) ^ kB, load64(p + 8) ^ h);
    p += 16;
    n -= 16;
  }
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  if (n >= 8) {
    a = load64(p);
    b = load64(p + n - 8);
  } else if (n > 0) {
    std::memcpy(&a, p, n);
  }
  h = mix(a ^ kB, b ^ h);
  h = mix(h, kA);
  return static_cast<std::uint32_t>(h ^ (h >> 32));
}

}  // namespace

StringPool::StringPool() : table_(kFirstTableSize, 0) { intern(""); }

StringId StringPool::intern(std::string_view text) {
  const std::uint32_t hash = hash_of(text);
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash & mask;
  while (table_[slot] != 0) {
    const Entry& entry = entries_[table_[slot] - 1];
    if (entry.hash == hash && entry.size == text.size() &&
        (text.empty() || std::memcmp(entry.data, text.data(), text.size()) == 0)) {
      return StringId(table_[slot] - 1);
    }
    slot = (slot + 1) & mask;
  }
  const auto id = static_cast<std::uint32_t>(entries_.size());
  entries_.push_back({store(text), static_cast<std::uint32_t>(text.size()), hash});
  table_[slot] = id + 1;
  if (entries_.size() * 2 > table_.size()) grow();
  return StringId(id);
}

StringId StringPool::find(std::string_view text) const {
  const std::uint32_t hash = hash_of(text);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t slot = hash & mask; table_[slot] != 0; slot = (slot + 1) & mask) {
    const Entry& entry = entries_[table_[slot] - 1];
    if (entry.hash == hash && std::string_view(entry.data, entry.size) == text) return StringId(table_[slot] - 1);
  }
  return StringId();
}

const char* StringPool::store(std::string_view text) {
  if (text.empty()) return "";
  while (block_index_ < blocks_.size() && block_used_ + text.size() > block_sizes_[block_index_]) {
    ++block_index_;
    block_used_ = 0;
  }
  if (block_index_ == blocks_.size()) {
    const std::size_t bytes = text.size() > kBlockBytes ? text.size() : kBlockBytes;
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    block_sizes_.push_back(bytes);
    block_used_ = 0;
  }
  char* at = blocks_[block_index_].get() + block_used_;
  std::memcpy(at, text.data(), text.size());
  block_used_ += text.size();
  return at;
}

void StringPool::grow() {
  std::vector<std::uint32_t> bigger(table_.size() * 2, 0);
  const std::size_t mask = bigger.size() - 1;
  for (std::uint32_t id = 0; id < entries_.size(); ++id) {
    std::size_t slot = entries_[id].hash & mask;
    while (bigger[slot] != 0) slot = (slot + 1) & mask;
    bigger[slot] = id + 1;
  }
  table_.swap(bigger);
}

std::size_t StringPool::memory_bytes() const {
  std::size_t bytes = entries_.capacity() * sizeof(Entry) + table_.capacity() * sizeof(std::uint32_t);
  for (const std::size_t block : block_sizes_) bytes += block;
  return bytes;
}

void StringPool::clear() {
  entries_.clear();
  table_.assign(table_.size(), 0);
  block_index_ = 0;
  block_used_ = 0;
  intern("");
}

}  // namespace accel
