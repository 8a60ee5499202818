#include "base/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace accel {
namespace {

std::string system_error_text(int error) { return std::strerror(error); }

class FileSource final : public ByteSource {
 public:
  FileSource(std::string name, int file, bool seekable, std::uint64_t bytes)
      : ByteSource(std::move(name)), file_(file), seekable_(seekable), total_(bytes) {}
  ~FileSource() override {
    if (file_ != STDIN_FILENO) close(file_);
  }

  Result<std::size_t> read(std::span<char> to) override {
    std::size_t done = 0;
    while (done < to.size()) {
      const ssize_t n = seekable_ ? pread(file_, to.data() + done, to.size() - done, static_cast<off_t>(position_))
                                  : ::read(file_, to.data() + done, to.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Error{ErrorCode::io, "Reading failed: " + system_error_text(errno) + ".", name()};
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
      position_ += static_cast<std::uint64_t>(n);
    }
    return done;
  }
  std::uint64_t total_bytes() const override { return total_; }
  std::uint64_t bytes_read() const override { return position_; }

 private:
  int file_;
  bool seekable_;
  std::uint64_t total_;
  std::uint64_t position_ = 0;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::string_view bytes) : ByteSource(std::move(name)), bytes_(bytes) {}

  Result<std::size_t> read(std::span<char> to) override {
    const std::size_t n = std::min(to.size(), bytes_.size() - position_);
    if (n != 0) std::memcpy(to.data(), bytes_.data() + position_, n);
    position_ += n;
    return n;
  }
  std::uint64_t total_bytes() const override { return bytes_.size(); }
  std::uint64_t bytes_read() const override { return position_; }

 private:
  std::string_view bytes_;
  std::size_t position_ = 0;
};

class PrefixedSource final : public ByteSource {
 public:
  PrefixedSource(std::string head, std::unique_ptr<ByteSource> rest)
      : ByteSource(rest->name()), head_(std::move(head)), rest_(std::move(rest)) {}

  Result<std::size_t> read(std::span<char> to) override {
    const std::size_t n = std::min(to.size(), head_.size() - position_);
    if (n != 0) std::memcpy(to.data(), head_.data() + position_, n);
    position_ += n;
    if (n == to.size()) return n;
    Result<std::size_t> more = rest_->read(to.subspan(n));
    if (!more) return more;
    return n + *more;
  }
  std::string damage() const override { return rest_->damage(); }
  std::uint64_t total_bytes() const override { return rest_->total_bytes(); }
  std::uint64_t bytes_read() const override { return rest_->bytes_read(); }

 private:
  std::string head_;
  std::size_t position_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_file(const std::string& path) {
  if (path == "-")
    return std::unique_ptr<ByteSource>(std::make_unique<FileSource>("standard input", STDIN_FILENO, false, 0));
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    const int error = errno;
    return Error{error == ENOENT ? ErrorCode::not_found : ErrorCode::io,
                 "The file cannot be opened: " + system_error_text(error) + ".", path};
  }
  struct stat status{};
  if (fstat(file, &status) != 0) {
    const int error = errno;
    close(file);
    return Error{ErrorCode::io, "The file cannot be read: " + system_error_text(error) + ".", path};
  }
  const bool regular = S_ISREG(status.st_mode);
  return std::unique_ptr<ByteSource>(
      std::make_unique<FileSource>(path, file, regular, regular ? static_cast<std::uint64_t>(status.st_size) : 0));
}

std::unique_ptr<ByteSource> memory_source(std::string name, std::string_view bytes) {
  return std::make_unique<MemorySource>(std::move(name), bytes);
}

std::unique_ptr<ByteSource> prefixed_source(std::string head, std::unique_ptr<ByteSource> rest) {
  return std::make_unique<PrefixedSource>(std::move(head), std::move(rest));
}

}  // namespace accel
