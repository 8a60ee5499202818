#include "report/deflate.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#if defined(ACCEL_HAVE_ISAL)
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

namespace accel::report {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

}  // namespace

#if defined(ACCEL_HAVE_ISAL)

struct Deflater::State {
  isal_zstream stream{};
  std::vector<std::uint8_t> work = std::vector<std::uint8_t>(ISAL_DEF_LVL2_DEFAULT);
  std::vector<std::uint8_t> piece = std::vector<std::uint8_t>(kPiece);

  explicit State(Format format) {
    isal_deflate_init(&stream);
    stream.level = 2;
    stream.level_buf = work.data();
    stream.level_buf_size = static_cast<std::uint32_t>(work.size());
    stream.gzip_flag = format == Format::gzip ? IGZIP_GZIP : IGZIP_DEFLATE;
  }
};

void Deflater::run(std::string_view bytes, bool last) {
  isal_zstream& stream = state_->stream;
  stream.next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(bytes.data()));
  stream.avail_in = static_cast<std::uint32_t>(bytes.size());
  stream.end_of_stream = last ? 1 : 0;
  do {
    stream.next_out = state_->piece.data();
    stream.avail_out = static_cast<std::uint32_t>(state_->piece.size());
    isal_deflate(&stream);
    sink_({reinterpret_cast<const char*>(state_->piece.data()), state_->piece.size() - stream.avail_out});
  } while (stream.avail_out == 0);
}

#else

struct Deflater::State {
  z_stream stream{};
  std::vector<unsigned char> piece = std::vector<unsigned char>(kPiece);

  explicit State(Format format) {
    deflateInit2(&stream, 3, Z_DEFLATED, format == Format::gzip ? 15 + 16 : -15, 8, Z_DEFAULT_STRATEGY);
  }
  ~State() { deflateEnd(&stream); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

void Deflater::run(std::string_view bytes, bool last) {
  z_stream& stream = state_->stream;
  stream.next_in = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  do {
    stream.next_out = state_->piece.data();
    stream.avail_out = static_cast<uInt>(state_->piece.size());
    ::deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
    sink_({reinterpret_cast<const char*>(state_->piece.data()), state_->piece.size() - stream.avail_out});
  } while (stream.avail_out == 0);
}

#endif

Deflater::Deflater(Format format, ByteSink sink) : state_(std::make_unique<State>(format)), sink_(std::move(sink)) {}
Deflater::~Deflater() = default;

void Deflater::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t take = std::min(bytes.size(), kMostAtOnce);
    run(bytes.substr(0, take), false);
    bytes.remove_prefix(take);
  }
}

void Deflater::finish() { run({}, true); }

}  // namespace accel::report
