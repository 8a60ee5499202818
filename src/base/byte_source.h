// ByteSource: bytes in order, from a file, a pipe, memory or a decompressor over another source. Owned by whoever
// opened it; one reader at a time (different threads may take turns).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace accel {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `to` as far as the source goes: fewer bytes than asked for mean the end. An error is final. What was read
  // before a damage is returned first, and damage() then says what is wrong with the rest.
  virtual Result<std::size_t> read(std::span<char> to) = 0;
  // Of a compressed stream that ends early or fails its checksum: a sentence. Empty while all is well.
  virtual std::string damage() const { return {}; }

  // Name to show; a path where there is one.
  const std::string& name() const { return name_; }
  // For progress: bytes of the underlying file, 0 = not known, and how many of them were read.
  virtual std::uint64_t total_bytes() const { return 0; }
  virtual std::uint64_t bytes_read() const = 0;

 protected:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

// A regular file (read with pread, so a file that shrinks meanwhile ends early and does no harm) or a pipe. "-" is
// standard input.
Result<std::unique_ptr<ByteSource>> open_file(const std::string& path);
// Bytes that outlive the source.
std::unique_ptr<ByteSource> memory_source(std::string name, std::string_view bytes);
// `head` first, then the rest of `rest`: for content whose start was read to find out what it is.
std::unique_ptr<ByteSource> prefixed_source(std::string head, std::unique_ptr<ByteSource> rest);
// The content of a gzip stream of one or more members, or of a zstd stream of one or more frames.
std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> compressed);
std::unique_ptr<ByteSource> zstd_source(std::unique_ptr<ByteSource> compressed);

}  // namespace accel
