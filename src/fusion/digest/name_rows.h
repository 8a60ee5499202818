// Rows of RankDigest::names while a digest is made: every text once. Private to the digest; one thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "fusion/digest/digest.h"

namespace accel::fusion {

class NameRows {
 public:
  explicit NameRows(std::vector<std::string>& names) : names_(names) {}

  std::uint32_t row(std::string_view text) {
    if (text.empty()) return kNoRow;
    const auto [at, is_new] = rows_.try_emplace(std::string(text), static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.emplace_back(text);
    return at->second;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, std::uint32_t> rows_;
};

}  // namespace accel::fusion
