#include <zstd.h>

#include <vector>

#include "base/byte_source.h"

namespace accel {
namespace {

class ZstdSource final : public ByteSource {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> compressed)
      : ByteSource(compressed->name()), compressed_(std::move(compressed)), stream_(ZSTD_createDStream()) {
    ZSTD_initDStream(stream_);
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }

  Result<std::size_t> read(std::span<char> to) override {
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (out.pos < out.size && damage_.empty()) {
      if (in_.pos == in_.size) {
        buffer_.resize(ZSTD_DStreamInSize());
        const Result<std::size_t> n = compressed_->read(buffer_);
        if (!n) return n.error();
        in_ = {buffer_.data(), *n, 0};
      }
      const bool at_end = in_.size == 0;
      if (at_end && frame_done_) break;
      const std::size_t had = out.pos;
      const std::size_t result = ZSTD_decompressStream(stream_, &out, &in_);
      if (ZSTD_isError(result) != 0) {
        damage_ = std::string("The compressed data is damaged (") + ZSTD_getErrorName(result) + ") near byte " +
                  std::to_string(bytes_read()) + ".";
      } else if (at_end && out.pos == had) {
        damage_ = "The compressed data ends early, at byte " + std::to_string(bytes_read()) + ".";
      } else {
        frame_done_ = result == 0;
      }
    }
    return out.pos;
  }
  std::string damage() const override { return damage_.empty() ? compressed_->damage() : damage_; }
  std::uint64_t total_bytes() const override { return compressed_->total_bytes(); }
  std::uint64_t bytes_read() const override { return compressed_->bytes_read() - (in_.size - in_.pos); }

 private:
  std::unique_ptr<ByteSource> compressed_;
  ZSTD_DStream* stream_;
  std::vector<char> buffer_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool frame_done_ = false;
  std::string damage_;
};

}  // namespace

std::unique_ptr<ByteSource> zstd_source(std::unique_ptr<ByteSource> compressed) {
  return std::make_unique<ZstdSource>(std::move(compressed));
}

}  // namespace accel
