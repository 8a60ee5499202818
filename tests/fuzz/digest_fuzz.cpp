// Any bytes as a digest: refused, or read into something that comes back from its own file as it is and that is fused
// with itself without a sanitizer report. The input is the content of the file: checksum and compression are made here,
// so that the fuzzer gets behind them; an input that begins as a digest does is read as it stands.
#include <zstd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/crc32c.h"
#include "fusion/digest/digest_file.h"
#include "fusion/job.h"

namespace {

using namespace accel;          // NOLINT(google-build-using-namespace)
using namespace accel::fusion;  // NOLINT(google-build-using-namespace)

void require(bool held) {
  if (!held) std::abort();
}

void little_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

std::string as_file(std::string_view content) {
  std::string frame(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size = ZSTD_compress(frame.data(), frame.size(), content.data(), content.size(), 1);
  require(ZSTD_isError(size) == 0);
  std::string file(kDigestMagic);
  little_endian(file, 1, 4);
  little_endian(file, content.size(), 8);
  little_endian(file, format::crc32c(content.data(), content.size()), 4);
  return file.append(frame, 0, size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto digest = read_digest(looks_like_digest(bytes) ? std::string(bytes) : as_file(bytes), "fuzz");
  if (!digest) return 0;
  const std::string written = write_digest(*digest);
  const auto back = read_digest(written, "fuzz");
  require(back.ok());
  require(write_digest(*back) == written);
  std::vector<RankDigest> ranks;
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    ranks.push_back(*digest);
    ranks.back().rank = rank;
    ranks.back().world_size = 3;
  }
  const Job job = fuse(std::move(ranks));
  require(job.timings.size() == job.matching.collectives.size());
  return 0;
}
