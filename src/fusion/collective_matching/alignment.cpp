#include "fusion/collective_matching/alignment.h"

#include <algorithm>

namespace accel::fusion {
namespace {

// Cells of the table of the longest common subsequence; beyond it the middle stays unmatched.
constexpr std::size_t kMostCells = 1U << 20U;

struct Part {
  std::size_t reference_first = 0, reference_last = 0;
  std::size_t own_first = 0, own_last = 0;
};

void align_middle(const std::vector<Signature>& reference, const std::vector<Signature>& own, Part part,
                  std::vector<std::uint32_t>& places) {
  const std::size_t n = part.reference_last - part.reference_first;
  const std::size_t m = part.own_last - part.own_first;
  if (n == 0 || m == 0 || (n + 1) * (m + 1) > kMostCells) return;
  std::vector<std::uint32_t> length((n + 1) * (m + 1), 0);
  const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& { return length[i * (m + 1) + j]; };
  const auto same = [&](std::size_t i, std::size_t j) {
    return reference[part.reference_first + i] == own[part.own_first + j];
  };
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;)
      at(i, j) = same(i, j) ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
  }
  for (std::size_t i = 0, j = 0; i < n && j < m;) {
    if (same(i, j)) {
      places[part.own_first + j++] = static_cast<std::uint32_t>(part.reference_first + i++);
    } else if (at(i + 1, j) >= at(i, j + 1)) {
      ++i;
    } else {
      ++j;
    }
  }
}

}  // namespace

Signature signature_of(const RankDigest& digest, const CommunicationEvent& event) {
  const std::string_view name = digest.text(event.name);
  return {name, name == "all_to_all" ? kNotRecorded : event.bytes};
}

std::vector<std::uint32_t> align(const std::vector<Signature>& reference, const std::vector<Signature>& own,
                                 bool head_lost) {
  std::vector<std::uint32_t> places(own.size(), kNoRow);
  Part part{0, reference.size(), 0, own.size()};
  const auto from_front = [&] {
    while (part.reference_first < part.reference_last && part.own_first < part.own_last &&
           reference[part.reference_first] == own[part.own_first]) {
      places[part.own_first++] = static_cast<std::uint32_t>(part.reference_first++);
    }
  };
  const auto from_back = [&] {
    while (part.reference_first < part.reference_last && part.own_first < part.own_last &&
           reference[part.reference_last - 1] == own[part.own_last - 1]) {
      places[--part.own_last] = static_cast<std::uint32_t>(--part.reference_last);
    }
  };
  if (head_lost) {
    from_back();
    from_front();
  } else {
    from_front();
    from_back();
  }
  align_middle(reference, own, part, places);
  return places;
}

}  // namespace accel::fusion
