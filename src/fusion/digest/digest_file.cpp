#include "fusion/digest/digest_file.h"

#include <fmt/format.h>
#include <zstd.h>

#include <bit>
#include <cstring>
#include <type_traits>

#include "format/crc32c.h"
#include "fusion/digest/digest_fields.h"

namespace accel::fusion {
namespace {

constexpr int kLevel = 9;
// A digest of this size would be of no use to anybody; a header that asks for more is damaged.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28U;
constexpr std::size_t kHeaderBytes = 8 + 4 + 8 + 4;

void put_fixed(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xffU);
}

std::uint64_t get_fixed(std::string_view in, std::size_t at, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(in[at + static_cast<std::size_t>(i)])) << (8 * i);
  return value;
}

// Whole numbers are base-128 varints; signed ones zigzag. kNotRecorded and kNoRow stay themselves.
class Encoder {
 public:
  std::string bytes;

  void unsigned_number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>((value & 0x7fU) | 0x80U);
    bytes += static_cast<char>(value);
  }
  template <typename T>
  void number(const T& value) {
    if constexpr (std::is_signed_v<T>) {
      const auto wide = static_cast<std::int64_t>(value);
      unsigned_number(static_cast<std::uint64_t>(wide) << 1U ^ static_cast<std::uint64_t>(wide >> 63));
    } else if constexpr (sizeof(T) == 4) {
      unsigned_number(value == kNoRow ? 0 : std::uint64_t{value} + 1);
    } else {
      unsigned_number(value);
    }
  }
  // As the difference from the time before, which is near.
  void time(const std::int64_t& value) {
    unsigned_number(value == kNotRecorded ? 0 : 1);
    if (value == kNotRecorded) return;
    number(static_cast<std::int64_t>(static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(last_)));
    last_ = value;
  }
  void real(const double& value) { put_fixed(bytes, std::bit_cast<std::uint64_t>(value), 8); }
  void flag(const bool& value) { bytes += value ? '\1' : '\0'; }
  template <typename Enum>
  void word(const Enum& value, Enum) {
    bytes += static_cast<char>(value);
  }
  void text(const std::string& value) {
    unsigned_number(value.size());
    bytes += value;
  }
  template <typename T>
  void one(const T& value) {
    fields_of(*this, value, static_cast<const T*>(nullptr));
  }
  template <typename T>
  void list(const std::vector<T>& values) {
    unsigned_number(values.size());
    for (const T& value : values) one(value);
  }
  void numbers(const std::vector<std::int64_t>& values) {
    unsigned_number(values.size());
    for (const std::int64_t value : values) number(value);
  }
  void strings(const std::vector<std::string>& values) {
    unsigned_number(values.size());
    for (const std::string& value : values) text(value);
  }
  void texts(const std::map<std::string, std::string>& values) {
    unsigned_number(values.size());
    for (const auto& [key, value] : values) {
      text(key);
      text(value);
    }
  }
  template <typename T>
  void optional(const std::optional<T>& value) {
    flag(value.has_value());
    if (!value) return;
    if constexpr (std::is_integral_v<T>) {
      number(*value);
    } else {
      one(*value);
    }
  }

 private:
  std::int64_t last_ = 0;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  bool failed() const { return failed_; }
  bool at_end() const { return rest_.empty(); }

  std::uint64_t unsigned_number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }
  template <typename T>
  void number(T& value) {
    const std::uint64_t raw = unsigned_number();
    if constexpr (std::is_signed_v<T>) {
      const auto wide = static_cast<std::int64_t>(raw >> 1U ^ (~(raw & 1U) + 1U));
      value = static_cast<T>(wide);
      if (static_cast<std::int64_t>(value) != wide) fail();
    } else if constexpr (sizeof(T) == 4) {
      if (raw > kNoRow) fail();
      value = raw == 0 || failed_ ? kNoRow : static_cast<T>(raw - 1);
    } else {
      value = raw;
    }
  }
  void time(std::int64_t& value) {
    value = kNotRecorded;
    const std::uint64_t there = unsigned_number();
    if (there == 0) return;
    std::int64_t difference = 0;
    number(difference);
    last_ = static_cast<std::int64_t>(static_cast<std::uint64_t>(last_) + static_cast<std::uint64_t>(difference));
    value = last_;
    // Differences of two times must not overflow in what follows.
    constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 4;
    if (there != 1 || value < -kFar || value > kFar) fail();
  }
  void real(double& value) {
    value = std::bit_cast<double>(take(8).size() == 8 ? get_fixed(taken_, 0, 8) : 0);
    if (!(value > -1e18 && value < 1e18)) fail();
  }
  void flag(bool& value) { value = byte(1) == 1; }
  template <typename Enum>
  void word(Enum& value, Enum last) {
    value = static_cast<Enum>(byte(static_cast<unsigned>(last)));
  }
  void text(std::string& value) { value = take(unsigned_number()); }
  template <typename T>
  void one(T& value) {
    fields_of(*this, value, static_cast<const T*>(nullptr));
  }
  template <typename T>
  void list(std::vector<T>& values) {
    // Grows as it is read: a count that lies costs nothing.
    for (std::uint64_t left = count(); left > 0 && !failed_; --left) one(values.emplace_back());
  }
  void numbers(std::vector<std::int64_t>& values) {
    for (std::uint64_t left = count(); left > 0 && !failed_; --left) number(values.emplace_back());
  }
  void strings(std::vector<std::string>& values) {
    for (std::uint64_t left = count(); left > 0 && !failed_; --left) text(values.emplace_back());
  }
  void texts(std::map<std::string, std::string>& values) {
    for (std::uint64_t left = count(); left > 0 && !failed_; --left) {
      std::string key;
      text(key);
      text(values[key]);
    }
  }
  template <typename T>
  void optional(std::optional<T>& value) {
    bool there = false;
    flag(there);
    if (!there || failed_) return;
    value.emplace();
    if constexpr (std::is_integral_v<T>) {
      number(*value);
    } else {
      one(*value);
    }
  }

 private:
  void fail() {
    failed_ = true;
    rest_ = {};
  }
  // Every element takes a byte at least.
  std::uint64_t count() {
    const std::uint64_t n = unsigned_number();
    if (n > rest_.size()) fail();
    return failed_ ? 0 : n;
  }
  std::string_view take(std::uint64_t n) {
    if (n > rest_.size()) fail();
    taken_ = failed_ ? std::string_view() : rest_.substr(0, n);
    rest_.remove_prefix(taken_.size());
    return taken_;
  }
  unsigned byte(unsigned last) {
    const std::string_view one = take(1);
    const unsigned value = one.empty() ? 0 : static_cast<unsigned char>(one.front());
    if (value > last) fail();
    return failed_ ? 0 : value;
  }

  std::string_view rest_;
  std::string_view taken_;
  std::int64_t last_ = 0;
  bool failed_ = false;
};

// Rows that point past their tables, and lists whose lengths must agree.
bool consistent(const RankDigest& digest) {
  const auto row = [](std::uint32_t value, std::size_t rows) { return value == kNoRow || value < rows; };
  const auto name = [&](std::uint32_t value) { return row(value, digest.names.size()); };
  const auto segment = [&](const Segment& s) {
    for (const KernelShare& k : s.kernels)
      if (!name(k.name) || !name(k.shape)) return false;
    for (const HostShare& h : s.host)
      if (!name(h.name) || !name(h.before)) return false;
    return true;
  };
  if (digest.segments.size() != digest.events.size()) return false;
  for (const CommunicationEvent& e : digest.events) {
    if (!name(e.name) || !name(e.dtype) || !row(e.group, digest.groups.size()) || !row(e.step, digest.steps.size()))
      return false;
    if (e.start_ns == kNotRecorded || e.end_ns == kNotRecorded || e.end_ns < e.start_ns) return false;
  }
  for (const DigestStep& s : digest.steps) {
    for (const std::int64_t time : {s.host.start_ns, s.host.end_ns, s.device.start_ns, s.device.end_ns})
      if (time == kNotRecorded) return false;
    if (!segment(s.work)) return false;
  }
  return std::all_of(digest.segments.begin(), digest.segments.end(), segment) &&
         digest.time_range.start_ns != kNotRecorded && digest.time_range.end_ns != kNotRecorded;
}

}  // namespace

std::string write_digest(const RankDigest& digest) {
  Encoder encoder;
  encoder.one(digest);
  const std::string& body = encoder.bytes;
  std::string out(kDigestMagic);
  put_fixed(out, kDigestVersion, 4);
  put_fixed(out, body.size(), 8);
  put_fixed(out, format::crc32c(body.data(), body.size()), 4);
  std::string packed(ZSTD_compressBound(body.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), body.data(), body.size(), kLevel));
  return out + packed;
}

bool looks_like_digest(std::string_view head) { return head.starts_with(kDigestMagic); }

Result<RankDigest> read_digest(std::string_view bytes, const std::string& where) {
  const auto damaged = [&](const char* what) {
    return Error{ErrorCode::unreadable, fmt::format("the digest is damaged ({}); make it again from its trace", what),
                 where};
  };
  if (!looks_like_digest(bytes)) return Error{ErrorCode::not_a_trace, "this is no digest", where};
  if (bytes.size() < kHeaderBytes) return damaged("it ends in its header");
  const std::uint64_t version = get_fixed(bytes, 8, 4);
  if (version != kDigestVersion) {
    return Error{ErrorCode::unreadable,
                 fmt::format("the digest is of version {}, this program reads version {}", version, kDigestVersion),
                 where};
  }
  const std::uint64_t size = get_fixed(bytes, 12, 8);
  const std::string_view packed = bytes.substr(kHeaderBytes);
  if (size > kMostBytes || ZSTD_getFrameContentSize(packed.data(), packed.size()) != size) return damaged("its size");
  std::string body(size, '\0');
  const std::size_t got = ZSTD_decompress(body.data(), body.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) != 0 || got != size) return damaged("its data");
  if (format::crc32c(body.data(), body.size()) != get_fixed(bytes, 20, 4)) return damaged("its checksum");
  Decoder decoder(body);
  RankDigest digest;
  decoder.one(digest);
  if (decoder.failed() || !decoder.at_end() || !consistent(digest)) return damaged("its content");
  return digest;
}

}  // namespace accel::fusion
