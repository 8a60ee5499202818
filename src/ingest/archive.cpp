#include "ingest/archive.h"

#include <unzip.h>

#include <algorithm>
#include <array>
#include <vector>

namespace accel {
namespace {

bool can_be_a_trace(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::string_view file = slash == std::string_view::npos ? name : name.substr(slash + 1);
  if (file.empty() || file.starts_with("._") || name.starts_with("__MACOSX/")) return false;
  for (const std::string_view end : {".json", ".json.gz", ".json.zst", ".trace", ".gz", ".zst"}) {
    if (file.ends_with(end)) return true;
  }
  return false;
}

// Which member to read, by name or as the only candidate.
Result<std::string> choose(const std::string& path, const std::string& member, const std::vector<std::string>& names) {
  if (!member.empty()) {
    if (std::find(names.begin(), names.end(), member) != names.end()) return member;
    return Error{ErrorCode::not_found, "The archive has no member \"" + member + "\".", path};
  }
  std::vector<std::string> candidates;
  std::copy_if(names.begin(), names.end(), std::back_inserter(candidates), can_be_a_trace);
  if (candidates.size() == 1) return candidates[0];
  if (candidates.empty()) {
    const bool checkpoint =
        std::any_of(names.begin(), names.end(), [](const std::string& n) { return n.ends_with("data.pkl"); });
    return Error{
        ErrorCode::not_a_trace,
        checkpoint ? "This is a PyTorch checkpoint (torch.save), not a trace. Give the file that torch.profiler wrote."
                   : "The archive holds no trace: no member's name ends in .json, .json.gz or .json.zst.",
        path};
  }
  std::string list;
  for (std::size_t i = 0; i < candidates.size() && i < 8; ++i) list += (i == 0 ? "" : ", ") + candidates[i];
  if (candidates.size() > 8) list += ", ...";
  return Error{ErrorCode::invalid_argument,
               "The archive holds " + std::to_string(candidates.size()) + " members that can be traces: " + list +
                   ". Choose one as " + path +
                   ":MEMBER, or unpack the archive and give the folder to analyse them together.",
               path};
}

class ZipMember final : public ByteSource {
 public:
  ZipMember(std::string name, unzFile zip, std::uint64_t bytes)
      : ByteSource(std::move(name)), zip_(zip), total_(bytes) {}
  ~ZipMember() override {
    unzCloseCurrentFile(zip_);
    unzClose(zip_);
  }

  Result<std::size_t> read(std::span<char> to) override {
    std::size_t done = 0;
    while (done < to.size() && !over_) {
      constexpr std::size_t kStep = std::size_t{1} << 30;
      const int n =
          unzReadCurrentFile(zip_, to.data() + done, static_cast<unsigned>(std::min(to.size() - done, kStep)));
      over_ = n <= 0;
      if (n > 0) done += static_cast<std::size_t>(n);
      if (n < 0)
        damage_ = "The archive is damaged: the member could not be unpacked beyond byte " +
                  std::to_string(position_ + done) + ".";
      if (n == 0 && unzCloseCurrentFile(zip_) == UNZ_CRCERROR)
        damage_ = "The archive is damaged: the member fails its checksum.";
    }
    position_ += done;
    return done;
  }
  std::string damage() const override { return damage_; }
  std::uint64_t total_bytes() const override { return total_; }
  std::uint64_t bytes_read() const override { return position_; }

 private:
  unzFile zip_;
  std::uint64_t total_;
  std::uint64_t position_ = 0;
  bool over_ = false;
  std::string damage_;
};

constexpr std::size_t kTarBlock = 512;

std::uint64_t tar_number(std::string_view field) {
  std::uint64_t value = 0;
  if (!field.empty() && (field[0] & '\x80') != 0) {  // GNU: binary, for sizes of 8 GB and more
    for (const char c : field.substr(field.size() - 8)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  for (const char c : field) {
    if (c >= '0' && c <= '7') value = value * 8 + static_cast<unsigned>(c - '0');
  }
  return value;
}

std::string tar_text(std::string_view field) { return std::string(field.substr(0, field.find('\0'))); }

// Walks the headers of a tar archive.
class TarWalk {
 public:
  explicit TarWalk(ByteSource& source) : source_(source) {}

  struct Member {
    std::string name;
    std::uint64_t bytes = 0;
    bool file = false;
  };
  // The next member, leaving the source at its content; false at the end or where the archive breaks off.
  bool next(Member& member) {
    std::string long_name;
    while (true) {
      if (!pass(left_ + padding(left_))) return false;
      std::array<char, kTarBlock> block;
      const Result<std::size_t> n = source_.read(block);
      if (!n || *n != kTarBlock || block[0] == '\0') return false;
      const std::string_view header(block.data(), block.size());
      left_ = tar_number(header.substr(124, 12));
      const char type = header[156];
      if (type == 'L' || type == 'x') {
        if (left_ > 64 * 1024) return false;
        std::string text(left_, '\0');
        const Result<std::size_t> got = source_.read(text);
        if (!got || *got != text.size()) return false;
        if (!pass(padding(text.size()))) return false;
        left_ = 0;
        if (type == 'L') long_name = tar_text(text);
        if (type == 'x') long_name = pax_path(text, long_name);
        continue;
      }
      const std::string prefix = tar_text(header.substr(345, 155));
      const std::string name = tar_text(header.substr(0, 100));
      member.name = !long_name.empty() ? long_name : prefix.empty() ? name : prefix + "/" + name;
      member.bytes = left_;
      member.file = type == '0' || type == '\0';
      return true;
    }
  }
  void took(std::uint64_t bytes) { left_ -= bytes; }

 private:
  static std::uint64_t padding(std::uint64_t bytes) { return (kTarBlock - bytes % kTarBlock) % kTarBlock; }
  // "27 path=some/long/name\n" among others.
  static std::string pax_path(const std::string& text, const std::string& otherwise) {
    const std::size_t at = text.find(" path=");
    if (at == std::string::npos) return otherwise;
    return text.substr(at + 6, text.find('\n', at) - at - 6);
  }
  bool pass(std::uint64_t bytes) {
    std::vector<char> sink(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, 64 * 1024)));
    while (bytes > 0) {
      const std::size_t step = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, sink.size()));
      const Result<std::size_t> n = source_.read(std::span(sink).first(step));
      if (!n || *n != step) return false;
      bytes -= step;
    }
    return true;
  }

  ByteSource& source_;
  std::uint64_t left_ = 0;  // content of the member at hand
};

class TarMember final : public ByteSource {
 public:
  TarMember(std::string name, std::unique_ptr<ByteSource> archive, std::uint64_t bytes)
      : ByteSource(std::move(name)), archive_(std::move(archive)), left_(bytes) {}

  Result<std::size_t> read(std::span<char> to) override {
    const std::span<char> part = to.first(static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), left_)));
    const Result<std::size_t> n = archive_->read(part);
    if (!n) return n;
    left_ -= *n;
    if (*n < part.size() && damage_.empty()) damage_ = "The archive ends in the middle of the member.";
    return n;
  }
  std::string damage() const override { return archive_->damage().empty() ? damage_ : archive_->damage(); }
  std::uint64_t total_bytes() const override { return archive_->total_bytes(); }
  std::uint64_t bytes_read() const override { return archive_->bytes_read(); }

 private:
  std::unique_ptr<ByteSource> archive_;
  std::uint64_t left_;
  std::string damage_;
};

}  // namespace

bool looks_like_zip(std::string_view head) { return head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06"); }

bool looks_like_tar(std::string_view head) { return head.size() >= kTarBlock && head.substr(257, 5) == "ustar"; }

Result<std::unique_ptr<ByteSource>> open_zip_member(const std::string& path, const std::string& member) {
  unzFile zip = unzOpen64(path.c_str());
  if (zip == nullptr) {
    return Error{ErrorCode::unreadable,
                 "The zip archive is damaged: its directory cannot be read. Copy the file again.", path};
  }
  std::vector<std::string> names;
  for (int ok = unzGoToFirstFile(zip); ok == UNZ_OK && names.size() < 100'000; ok = unzGoToNextFile(zip)) {
    std::array<char, 4096> name{};
    if (unzGetCurrentFileInfo64(zip, nullptr, name.data(), name.size() - 1, nullptr, 0, nullptr, 0) == UNZ_OK)
      names.emplace_back(name.data());
  }
  const Result<std::string> chosen = choose(path, member, names);
  if (!chosen) {
    unzClose(zip);
    return chosen.error();
  }
  unz_file_info64 info{};
  if (unzLocateFile(zip, chosen->c_str(), 1) != UNZ_OK ||
      unzGetCurrentFileInfo64(zip, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK ||
      unzOpenCurrentFile(zip) != UNZ_OK) {
    unzClose(zip);
    return Error{ErrorCode::unreadable, "The member \"" + *chosen + "\" of the zip archive cannot be unpacked.", path};
  }
  return std::unique_ptr<ByteSource>(std::make_unique<ZipMember>(path + ":" + *chosen, zip, info.uncompressed_size));
}

Result<std::unique_ptr<ByteSource>> open_tar_member(const std::string& path, const std::string& member,
                                                    ReopenTar reopen) {
  Result<std::unique_ptr<ByteSource>> first = reopen(path);
  if (!first) return first.error();
  std::vector<std::string> names;
  {
    TarWalk walk(**first);
    TarWalk::Member found;
    while (walk.next(found)) {
      if (found.file) names.push_back(found.name);
    }
  }
  const Result<std::string> chosen = choose(path, member, names);
  if (!chosen) return chosen.error();
  Result<std::unique_ptr<ByteSource>> again = reopen(path);
  if (!again) return again.error();
  TarWalk walk(**again);
  TarWalk::Member found;
  while (walk.next(found)) {
    if (found.file && found.name == *chosen) {
      return std::unique_ptr<ByteSource>(
          std::make_unique<TarMember>(path + ":" + *chosen, std::move(*again), found.bytes));
    }
  }
  return Error{ErrorCode::io, "The archive changed while it was read.", path};
}

}  // namespace accel
