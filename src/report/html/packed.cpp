#include "report/html/packed.h"

#include "report/deflate.h"

namespace accel::report {

std::string deflated(std::string_view bytes) {
  std::string out;
  Deflater deflater(Deflater::Format::raw, [&](std::string_view piece) { out += piece; });
  deflater.append(bytes);
  deflater.finish();
  return out;
}

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
