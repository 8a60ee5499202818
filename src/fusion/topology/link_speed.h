// What a link can carry in one direction, and where that figure comes from: stated by the driver, or by the generation
// of the product. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace accel::fusion {

struct ProductLinks {
  std::int32_t nvlink_generation = 0;  // 0: none
  double nvlink_gbps = 0;              // one link, one direction
  std::int32_t pcie_generation = 0;
};

// By the product's name ("NVIDIA H100 80GB HBM3"); nothing for a product that is not known.
std::optional<ProductLinks> links_of_product(std::string_view product);

// GB/s of one direction after the line code, before packet headers; nothing for a generation that is not known.
std::optional<double> pcie_gbps(std::int32_t generation, std::int32_t width);

}  // namespace accel::fusion
