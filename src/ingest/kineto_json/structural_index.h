// Where the structure of a JSON text is: one pass of simdjson's first stage over a chunk, which also checks UTF-8 and
// control characters. simdjson's own On-Demand walk over this index costs 2 to 3 times what ours does for events (it
// keeps depth and error state per value, and its raw values are scanned again for their end), so only the index is
// taken; the one file behind this header knows simdjson's internals. One per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace accel::kineto_json {

class StructuralIndex {
 public:
  StructuralIndex();
  ~StructuralIndex();

  // Indexes `text`. False when it is not well-formed at this level: invalid UTF-8, a raw control character or an
  // unclosed string. Bytes behind the text are not read.
  bool build(std::span<const char> text);

  // Ascending positions of every { } [ ] : , outside strings and of the first character of every string and scalar.
  // At least three more entries may be read behind the end; the first two are the length of the text.
  std::span<const std::uint32_t> positions() const { return {positions_, count_}; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  const std::uint32_t* positions_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace accel::kineto_json
