// Native files for tests: written into memory files by the real writer, with known rows.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "format/native_reader.h"
#include "format/native_writer.h"

namespace accel::format {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "accel-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::filesystem::path& path) {
  std::string bytes(std::filesystem::file_size(path), '\0');
  std::FILE* file = std::fopen(path.c_str(), "rb");
  const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  bytes.resize(got);
  return bytes;
}

// Hands out `bytes` in pieces of at most `piece`.
inline NativeReader::Pull pull_from(const std::string& bytes, std::size_t piece = 1000000) {
  return [&bytes, piece, at = std::size_t{0}](std::span<char> out) mutable -> Result<std::size_t> {
    const std::size_t count = std::min({out.size(), piece, bytes.size() - at});
    bytes.copy(out.data(), count, at);
    at += count;
    return count;
  };
}

// A buffer with memory of its own.
class OwnedRows {
 public:
  explicit OwnedRows(const TableLayout& layout, std::uint32_t capacity = 1000, std::uint32_t text_bytes = 20000)
      : memory_(RowBuffer::bytes_needed(layout, capacity, text_bytes)) {
    rows_.init(layout, capacity, text_bytes, memory_.data());
  }
  explicit OwnedRows(NativeTable table, std::uint32_t capacity = 1000, std::uint32_t text_bytes = 20000)
      : OwnedRows(layout_of(table), capacity, text_bytes) {}
  RowBuffer& operator*() { return rows_; }
  RowBuffer* operator->() { return &rows_; }

 private:
  std::vector<char> memory_;
  RowBuffer rows_;
};

}  // namespace accel::format
