#include "ingest/kineto_json/chunk_reader.h"

#include <cstring>

#include "ingest/kineto_json/exact_reader.h"

namespace accel::kineto_json {

bool ChunkReader::next(Chunk& chunk) {
  const std::scoped_lock lock(mutex_);
  if (ended_) return false;
  if (progress_ != nullptr && progress_->report("reading", source_.bytes_read(), source_.total_bytes())) {
    ended_ = true;
    error_ = Error{ErrorCode::cancelled, "Reading was interrupted.", source_.name()};
    return false;
  }
  const std::size_t room = pending_.size() + chunk_bytes_;
  if (chunk.capacity < room + kTextPadding) {
    chunk.capacity = room + kTextPadding + chunk_bytes_ / 4;
    chunk.buffer = std::make_unique_for_overwrite<char[]>(chunk.capacity);
  }
  std::memcpy(chunk.buffer.get(), pending_.data(), pending_.size());
  const Result<std::size_t> n = source_.read(std::span(chunk.buffer.get() + pending_.size(), chunk_bytes_));
  if (!n) {
    ended_ = true;
    error_ = n.error();
    return false;
  }
  chunk.size = pending_.size() + *n;
  chunk.final = *n < chunk_bytes_;
  pending_.clear();
  if (chunk.final) {
    ended_ = true;
  } else if (const std::size_t cut = ExactReader::last_boundary(chunk.text()); cut != 0) {
    pending_.assign(chunk.buffer.get() + cut, chunk.size - cut);
    chunk.size = cut;
  }
  std::memset(chunk.buffer.get() + chunk.size, ' ', kTextPadding);
  chunk.offset = offset_;
  chunk.sequence = sequence_++;
  offset_ += chunk.size;
  return true;
}

void ChunkReader::stop() {
  const std::scoped_lock lock(mutex_);
  ended_ = true;
}

}  // namespace accel::kineto_json
