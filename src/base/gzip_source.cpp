// Inflate by ISA-L where it is there (two to three times as fast), else by zlib. Both in one shape: a stream that takes
// pieces of input and gives pieces of output, and says when a member is over.
#include <algorithm>
#include <vector>

#include "base/byte_source.h"

#if defined(ACCEL_HAVE_ISAL)
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

namespace accel {
namespace {

enum class Step { going, member_end, broken };

#if defined(ACCEL_HAVE_ISAL)
class Inflater {
 public:
  Inflater() { restart(); }
  void restart() {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
  }
  // Takes from `in`, gives to `out`; both shrink by what was used.
  Step run(std::span<const char>& in, std::span<char>& out) {
    state_.next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(in.data()));
    state_.avail_in = static_cast<std::uint32_t>(in.size());
    state_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    state_.avail_out = static_cast<std::uint32_t>(out.size());
    const int result = isal_inflate(&state_);
    in = in.subspan(in.size() - state_.avail_in);
    out = out.subspan(out.size() - state_.avail_out);
    if (result < 0) return Step::broken;
    return state_.block_state == ISAL_BLOCK_FINISH ? Step::member_end : Step::going;
  }

 private:
  inflate_state state_;
};
#else
class Inflater {
 public:
  Inflater() { inflateInit2(&state_, 15 + 16); }
  ~Inflater() { inflateEnd(&state_); }
  void restart() { inflateReset(&state_); }
  Step run(std::span<const char>& in, std::span<char>& out) {
    state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    state_.avail_in = static_cast<uInt>(in.size());
    state_.next_out = reinterpret_cast<Bytef*>(out.data());
    state_.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&state_, Z_NO_FLUSH);
    in = in.subspan(in.size() - state_.avail_in);
    out = out.subspan(out.size() - state_.avail_out);
    if (result == Z_STREAM_END) return Step::member_end;
    return result == Z_OK || result == Z_BUF_ERROR ? Step::going : Step::broken;
  }

 private:
  z_stream state_{};
};
#endif

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> compressed)
      : ByteSource(compressed->name()), compressed_(std::move(compressed)) {}

  Result<std::size_t> read(std::span<char> to) override {
    std::span<char> out = to;
    while (!out.empty() && !over_) {
      if (in_.empty()) {
        buffer_.resize(kInputBytes);
        const Result<std::size_t> n = compressed_->read(buffer_);
        if (!n) return n.error();
        in_ = std::span<const char>(buffer_).first(*n);
        at_end_ = in_.empty();
      }
      if (between_members_) {
        // Bytes that are no further member (padding of a block device, a stray newline) are not content.
        if (in_.empty() || in_[0] != '\x1f') break;
        inflater_.restart();
        between_members_ = false;
      }
      const std::size_t room = out.size();
      const std::size_t had = in_.size();
      const Step step = inflater_.run(in_, out);
      if (step == Step::broken) {
        stop("The compressed data is damaged or fails its checksum near byte " + std::to_string(bytes_read()) + ".");
      } else if (step == Step::member_end) {
        between_members_ = true;
      } else if (at_end_ && room == out.size() && had == in_.size()) {
        stop("The compressed data ends early, at byte " + std::to_string(bytes_read()) + ".");
      }
    }
    return to.size() - out.size();
  }
  std::string damage() const override { return damage_.empty() ? compressed_->damage() : damage_; }
  std::uint64_t total_bytes() const override { return compressed_->total_bytes(); }
  std::uint64_t bytes_read() const override { return compressed_->bytes_read() - in_.size(); }

 private:
  static constexpr std::size_t kInputBytes = 256 * 1024;

  void stop(std::string why) {
    over_ = true;
    damage_ = std::move(why);
  }

  std::unique_ptr<ByteSource> compressed_;
  std::vector<char> buffer_;
  std::span<const char> in_;
  Inflater inflater_;
  bool between_members_ = false;
  bool at_end_ = false;
  bool over_ = false;
  std::string damage_;
};

}  // namespace

std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<ByteSource> compressed) {
  return std::make_unique<GzipSource>(std::move(compressed));
}

}  // namespace accel
