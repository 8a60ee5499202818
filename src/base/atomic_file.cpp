#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

namespace accel {
namespace {

namespace fs = std::filesystem;

constexpr int kNameAttempts = 100;

// The rename itself reaches the disk with its folder. Not every file system can do it; the file is whole either way.
void flush_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  static_cast<void>(::fsync(descriptor));
  ::close(descriptor);
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

// Makes `folder` and notes which folders are new, outermost first.
Result<void> make_folders(const fs::path& folder, std::vector<fs::path>& made) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path at = folder; !at.empty() && !fs::exists(at, error); at = at.parent_path()) missing.push_back(at);
  for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
    if (fs::create_directory(*it, error)) {
      made.push_back(*it);
    } else if (error) {
      return Error{ErrorCode::io, "the folder cannot be made: " + error.message(), it->string()};
    }
  }
  if (!fs::is_directory(folder, error)) {
    return Error{ErrorCode::io, "this is not a folder; choose another place for the output", folder.string()};
  }
  return {};
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const fs::path& path) {
  AtomicFile file;
  file.path_ = path;
  const std::string stem = "." + path.filename().string() + "." + std::to_string(::getpid()) + ".";
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    const fs::path temporary = folder_of(path) / (stem + std::to_string(attempt) + ".tmp");
    file.descriptor_ = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.descriptor_ >= 0) {
      file.temporary_ = temporary;
      return file;
    }
    if (errno != EEXIST) break;
  }
  return file.system_error("cannot be created");
}

AtomicFile::~AtomicFile() { discard(); }

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = std::move(other.path_);
  temporary_ = std::exchange(other.temporary_, {});
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

Result<void> AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("cannot be written");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> AtomicFile::flush() {
  // A target that cannot flush (EINVAL: a pipe-like file system) has nothing to lose by it.
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) return system_error("cannot be written");
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0 && errno != EINTR) return system_error("cannot be written");
  return {};
}

Result<void> AtomicFile::publish() {
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return system_error("cannot be put in place");
  temporary_.clear();
  return {};
}

void AtomicFile::discard() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

Error AtomicFile::system_error(std::string_view what) const {
  const int number = errno;
  std::string message = "the file " + std::string(what) + ": " + std::strerror(number);
  if (number == ENOSPC || number == EDQUOT) message += "; make room or choose another folder";
  return Error{ErrorCode::io, std::move(message), path_.string()};
}

Result<void> write_files(std::span<const OutputFile> files, const std::function<bool()>& cancelled) {
  std::vector<fs::path> made;
  const auto run = [&]() -> Result<void> {
    std::vector<AtomicFile> waiting;
    for (const OutputFile& output : files) {
      if (auto folders = make_folders(folder_of(output.path), made); !folders) return folders;
      auto file = AtomicFile::create(output.path);
      if (!file) return file.error();
      waiting.push_back(std::move(*file));
      if (auto written = waiting.back().write(output.bytes); !written) return written;
      if (auto flushed = waiting.back().flush(); !flushed) return flushed;
    }
    if (cancelled && cancelled()) return Error{ErrorCode::cancelled, "interrupted; nothing was written", ""};
    for (AtomicFile& file : waiting) {
      if (auto published = file.publish(); !published) return published;
    }
    return {};
  };
  auto result = run();
  if (result) {
    fs::path last;
    for (const OutputFile& output : files) {
      const fs::path folder = folder_of(output.path);
      if (folder != last) flush_folder(folder);
      last = folder;
    }
    return result;
  }
  std::error_code ignored;
  for (auto it = made.rbegin(); it != made.rend(); ++it) fs::remove(*it, ignored);  // removes empty folders only
  return result;
}

}  // namespace accel
