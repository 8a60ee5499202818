#include "fusion/rank_set/load_digest.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fusion/digest/digest_file.h"
#include "fusion/digest/make_digest.h"

namespace accel::fusion {
namespace {

constexpr std::uintmax_t kLargestDigest = std::uintmax_t{256} << 20U;

Result<RankDigest> read_digest_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) > kLargestDigest && !error)
    return Error{ErrorCode::out_of_range, "a digest of more than 256 MiB is not read", path};
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::io, "cannot be read", path};
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return read_digest(bytes, path);
}

}  // namespace

bool is_digest_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(kDigestMagic.size(), '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return looks_like_digest(head);
}

Result<RankDigest> load_digest(const std::string& path, const ImportOptions& import, const AnalysisOptions& analysis) {
  if (path != "-" && is_digest_file(path)) return read_digest_file(path);
  const auto store = import_trace(path, import);
  if (!store) return store.error();
  const auto results = run_analyses(*store, analysis);
  if (!results) return results.error();
  return make_digest(*store, *results);
}

}  // namespace accel::fusion
