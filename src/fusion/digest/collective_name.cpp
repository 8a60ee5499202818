#include "fusion/digest/collective_name.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace accel::fusion {
namespace {

// Letters alone, lower case, of at most the first bytes: names of kernels go on with their arguments.
std::string letters_of(std::string_view text) {
  constexpr std::size_t kMost = 96;
  std::string out;
  for (const char c : text.substr(0, kMost)) {
    if (c == '(') break;
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') out += c;
  }
  return out;
}

// The first that the text holds wins, so longer ones stand before their parts.
constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"allreduce", "all_reduce"},
    {"allgather", "all_gather"},
    {"reducescatter", "reduce_scatter"},
    {"alltoall", "all_to_all"},
    {"coalesced", "coalesced"},
    {"broadcast", "broadcast"},
    {"sendrecv", "send_recv"},
    {"barrier", "barrier"},
    {"recv", "recv"},
    {"send", "send"},
    {"gather", "gather"},
    {"scatter", "scatter"},
    {"reduce", "reduce"},
};

}  // namespace

std::string_view canonical_collective(std::string_view recorded) {
  const std::string letters = letters_of(recorded);
  for (const auto& [part, name] : kNames) {
    if (letters.find(part) != std::string::npos) return name;
  }
  return {};
}

bool is_point_to_point(std::string_view canonical) {
  return canonical == "send" || canonical == "recv" || canonical == "send_recv";
}

bool is_one_sided(std::string_view canonical) {
  return is_point_to_point(canonical) || canonical == "broadcast" || canonical == "reduce" || canonical == "gather" ||
         canonical == "scatter";
}

double bus_factor(std::string_view canonical, std::size_t ranks) {
  if (ranks < 2) return 0;
  const auto n = static_cast<double>(ranks);
  if (canonical == "all_reduce") return 2 * (n - 1) / n;
  if (canonical == "all_gather" || canonical == "reduce_scatter" || canonical == "all_to_all") return (n - 1) / n;
  if (canonical == "broadcast" || canonical == "reduce" || is_point_to_point(canonical)) return 1;
  return 0;
}

std::int64_t element_bytes(std::string_view dtype) {
  const std::string letters = letters_of(dtype);
  const auto is = [&](std::string_view part) { return letters.find(part) != std::string::npos; };
  const auto has = [&](std::string_view part) { return dtype.find(part) != std::string_view::npos; };
  if (letters.empty()) return 0;
  if (is("bfloat") || is("half") || letters == "short") return 2;
  if (has("Float8") || has("float8")) return 1;
  if (is("complexdouble")) return 16;
  if (is("complex") || is("double") || is("long")) return 8;
  if (is("float") || letters == "int") return 4;
  if (is("bool") || is("byte") || is("char")) return 1;
  return 0;
}

std::vector<std::int64_t> parse_ranks(std::string_view text) {
  constexpr std::size_t kMost = 1U << 20U;
  std::vector<std::int64_t> ranks;
  const std::size_t open = text.find('[');
  const std::size_t close = text.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  std::string_view rest = text.substr(open + 1, close - open - 1);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view one = rest.substr(0, comma);
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    while (!one.empty() && one.back() == ' ') one.remove_suffix(1);
    std::int64_t rank = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), rank);
    if (error != std::errc() || end != one.data() + one.size() || rank < 0 || ranks.size() >= kMost) return {};
    ranks.push_back(rank);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace accel::fusion
