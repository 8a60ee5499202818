// Cuts the text of a file into pieces at places that look like the boundary of two events. The cut is a guess, made
// without parsing: whoever reads a piece must find that it ends exactly there. Any thread may call next(); pieces come
// in the order of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/progress.h"

namespace accel::kineto_json {

// Readers may look this far behind the end of a piece.
inline constexpr std::size_t kTextPadding = 64;

// One piece and its buffer, which is reused. A piece of 1 MB and its index stay in the second-level cache.
struct Chunk {
  std::unique_ptr<char[]> buffer;
  std::size_t capacity = 0;
  std::size_t size = 0;
  std::uint64_t offset = 0;    // of its first byte in the text
  std::uint64_t sequence = 0;  // 0, 1, 2, ...
  bool final = false;          // nothing follows

  std::string_view text() const { return {buffer.get(), size}; }
};

class ChunkReader {
 public:
  ChunkReader(ByteSource& source, Progress* progress, std::size_t chunk_bytes)
      : source_(source), progress_(progress), chunk_bytes_(chunk_bytes) {}

  // The next piece; false when there is none, or after an error or cancellation.
  bool next(Chunk& chunk);
  // Stops: next() gives nothing any more.
  void stop();

  // After the readers are done.
  const std::optional<Error>& error() const { return error_; }
  std::uint64_t text_bytes() const { return offset_; }

 private:
  ByteSource& source_;
  Progress* progress_;
  std::size_t chunk_bytes_;
  std::mutex mutex_;
  std::string pending_;  // read and not yet given: the start of the next piece
  std::uint64_t offset_ = 0;
  std::uint64_t sequence_ = 0;
  bool ended_ = false;
  std::optional<Error> error_;
};

}  // namespace accel::kineto_json
