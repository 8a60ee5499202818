#include "fusion/topology/link_speed.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"

namespace accel::fusion {
namespace {

struct Product {
  std::string_view part;  // of the name, in lower case
  ProductLinks links;
};

// NVIDIA's data sheets; an NVLink carries half of the stated "bidirectional" figure each way. The more special name
// comes first.
constexpr Product kProducts[] = {
    {"gb300", {5, 50, 6}},     {"b300", {5, 50, 6}},     {"gb200", {5, 50, 5}},      {"b200", {5, 50, 5}},
    {"b100", {5, 50, 5}},      {"gh200", {4, 25, 5}},    {"h200", {4, 25, 5}},       {"h100", {4, 25, 5}},
    {"h800", {4, 25, 5}},      {"h20", {4, 25, 5}},      {"a100", {3, 25, 4}},       {"a800", {3, 25, 4}},
    {"a30", {3, 25, 4}},       {"a40", {3, 14.0625, 4}}, {"a6000", {3, 14.0625, 4}}, {"a5000", {3, 14.0625, 4}},
    {"3090", {3, 14.0625, 4}}, {"l40", {0, 0, 4}},       {"l4", {0, 0, 4}},          {"a10", {0, 0, 4}},
    {"4090", {0, 0, 4}},       {"5090", {0, 0, 5}},      {"v100", {2, 25, 3}},       {"t4", {0, 0, 3}},
    {"p100", {1, 20, 3}},
};

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// As a word of its own: "a30" is not in "a300".
bool names(std::string_view text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if ((at == 0 || !is_alphanumeric(text[at - 1])) && (end == text.size() || !is_alphanumeric(text[end]))) return true;
  }
  return false;
}

}  // namespace

std::optional<ProductLinks> links_of_product(std::string_view product) {
  const std::string lower = ascii_lower(product);
  for (const Product& known : kProducts) {
    if (names(lower, known.part)) return known.links;
  }
  return std::nullopt;
}

std::optional<double> pcie_gbps(std::int32_t generation, std::int32_t width) {
  // GT/s of a lane; 8b/10b up to generation 2, 128b/130b up to 5, flits of 242 payload bytes in 256 in 6.
  constexpr double kLane[] = {2.5 * 0.8 / 8,        5 * 0.8 / 8,          8 * 128.0 / 130 / 8,
                              16 * 128.0 / 130 / 8, 32 * 128.0 / 130 / 8, 64 * 242.0 / 256 / 8};
  if (generation < 1 || generation > 6 || width < 1) return std::nullopt;
  return kLane[generation - 1] * width;
}

}  // namespace accel::fusion
