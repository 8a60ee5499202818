// The digest as a file: "ACCDIGST", version, sizes, checksum, then one zstd frame. docs/formats/digest.md. Reading is
// safe for any bytes: every count is checked against what is left before memory is taken. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fusion/digest/digest.h"

namespace accel::fusion {

inline constexpr std::string_view kDigestMagic = "ACCDIGST";
inline constexpr std::uint32_t kDigestVersion = 1;

std::string write_digest(const RankDigest& digest);

bool looks_like_digest(std::string_view head);
// `where` names the bytes in errors.
Result<RankDigest> read_digest(std::string_view bytes, const std::string& where);

}  // namespace accel::fusion
