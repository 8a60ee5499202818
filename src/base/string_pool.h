// StringPool: every distinct string once, addressed by StringId. Views stay valid for the life of the pool (strings
// live in blocks that never move). One writer at a time; any number of readers once writing is over.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace accel {

class StringPool {
 public:
  StringPool();

  // The id of `text`, new or known. Id 0 is always the empty string.
  StringId intern(std::string_view text);
  // The id of `text` if it is known, else an invalid id.
  StringId find(std::string_view text) const;
  std::string_view view(StringId id) const {
    return id.value < entries_.size() ? std::string_view(entries_[id.value].data, entries_[id.value].size)
                                      : std::string_view();
  }
  std::size_t size() const { return entries_.size(); }
  // Bytes held: blocks, entries and hash table.
  std::size_t memory_bytes() const;
  // Forgets every string but the empty one and keeps the memory for the next use (views die).
  void clear();

 private:
  struct Entry {
    const char* data;
    std::uint32_t size;
    std::uint32_t hash;
  };

  const char* store(std::string_view text);
  void grow();

  std::vector<std::unique_ptr<char[]>> blocks_;
  std::vector<std::size_t> block_sizes_;
  std::size_t block_index_ = 0;  // block being filled
  std::size_t block_used_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> table_;  // open addressing; entry index + 1, 0 = free
};

}  // namespace accel
