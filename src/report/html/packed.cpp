#include "report/html/packed.h"

#include <algorithm>
#include <limits>
#include <vector>

#if defined(ACCEL_HAVE_ISAL)
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

namespace accel::report {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

}  // namespace

#if defined(ACCEL_HAVE_ISAL)

std::string deflated(std::string_view bytes) {
  isal_zstream stream;
  isal_deflate_init(&stream);
  std::vector<std::uint8_t> work(ISAL_DEF_LVL2_DEFAULT);
  stream.level = 2;
  stream.level_buf = work.data();
  stream.level_buf_size = static_cast<std::uint32_t>(work.size());
  std::string out;
  std::vector<std::uint8_t> piece(kPiece);
  do {
    const std::size_t take = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30);
    stream.next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(bytes.data()));
    stream.avail_in = static_cast<std::uint32_t>(take);
    bytes.remove_prefix(take);
    stream.end_of_stream = bytes.empty() ? 1 : 0;
    do {
      stream.next_out = piece.data();
      stream.avail_out = static_cast<std::uint32_t>(piece.size());
      isal_deflate(&stream);
      out.append(reinterpret_cast<const char*>(piece.data()), piece.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  } while (!bytes.empty());
  return out;
}

#else

std::string deflated(std::string_view bytes) {
  z_stream stream{};
  deflateInit2(&stream, 3, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  std::string out;
  std::vector<unsigned char> piece(kPiece);
  do {
    const std::size_t take = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30);
    stream.next_in = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(take);
    bytes.remove_prefix(take);
    do {
      stream.next_out = piece.data();
      stream.avail_out = static_cast<uInt>(piece.size());
      deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
      out.append(reinterpret_cast<const char*>(piece.data()), piece.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  } while (!bytes.empty());
  deflateEnd(&stream);
  return out;
}

#endif

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.resize((bytes.size() + 2) / 3 * 4);
  char* to = out.data();
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])); };
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    const std::uint32_t three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    *to++ = kDigits[three >> 18];
    *to++ = kDigits[three >> 12 & 63];
    *to++ = kDigits[three >> 6 & 63];
    *to++ = kDigits[three & 63];
  }
  const std::size_t rest = bytes.size() - i;
  if (rest == 0) return out;
  const std::uint32_t last = byte(i) << 16 | (rest == 2 ? byte(i + 1) << 8 : 0);
  *to++ = kDigits[last >> 18];
  *to++ = kDigits[last >> 12 & 63];
  *to++ = rest == 2 ? kDigits[last >> 6 & 63] : '=';
  *to = '=';
  return out;
}

}  // namespace accel::report
