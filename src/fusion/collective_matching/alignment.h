// Lines up the operations that one rank issued in a step with those that most ranks issued. Private to the matching.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "fusion/digest/digest.h"

namespace accel::fusion {

// What must agree between two ranks' views of one collective. Sizes of uneven exchanges differ by nature.
struct Signature {
  std::string_view name;
  std::int64_t bytes = kNotRecorded;

  friend bool operator==(const Signature&, const Signature&) = default;
  friend auto operator<=>(const Signature&, const Signature&) = default;
};

Signature signature_of(const RankDigest& digest, const CommunicationEvent& event);

// For each of `own` its place in `reference`, kNoRow where it has none. `head_lost`: the list may lack its beginning.
std::vector<std::uint32_t> align(const std::vector<Signature>& reference, const std::vector<Signature>& own,
                                 bool head_lost);

}  // namespace accel::fusion
