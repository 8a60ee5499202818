// Files that appear whole or not at all. The bytes go to a temporary file in the same folder, are flushed to the disk,
// and only then take the name; whatever ends the work before that (an error, a full disk, a destructor) removes the
// temporary file and leaves what stood there before. One thread at a time per object.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace accel {

class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;

  Result<void> write(std::string_view bytes);
  // Everything written is on the disk; no write() afterwards.
  Result<void> flush();
  // The file takes its name. Only after flush().
  Result<void> publish();

 private:
  AtomicFile() = default;
  void discard();
  Error system_error(std::string_view what) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty once published or moved from
  int descriptor_ = -1;
};

struct OutputFile {
  std::filesystem::path path;
  std::string_view bytes;
};

// Writes all files or none: no file takes its name before all are on the disk. Missing folders are made, and removed
// again on failure. `cancelled` is asked before the names are taken.
Result<void> write_files(std::span<const OutputFile> files, const std::function<bool()>& cancelled);

}  // namespace accel
