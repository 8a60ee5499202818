// The table of `nvidia-smi --query-gpu=... --format=csv`: a line of column names, one line for each GPU.
#include <array>

#include "fusion/topology/lines.h"
#include "fusion/topology/readers.h"

namespace accel::fusion {
namespace {

enum Column : std::size_t { kIndex, kName, kBus, kGeneration, kMostGeneration, kWidth, kUuid, kColumns };

// Only with the index can a line be told to be of one GPU.
std::optional<Column> column_of(std::string_view title) {
  if (title == "index") return kIndex;
  if (title == "name" || title == "gpu_name") return kName;
  if (title == "pci.bus_id" || title == "gpu_bus_id") return kBus;
  if (title == "pcie.link.gen.current" || title == "pcie.link.gen.gpucurrent") return kGeneration;
  if (title == "pcie.link.gen.max") return kMostGeneration;
  if (title == "pcie.link.width.current") return kWidth;
  if (title == "uuid" || title == "gpu_uuid") return kUuid;
  return std::nullopt;
}

using Columns = std::array<std::optional<std::size_t>, kColumns>;

std::optional<Columns> columns_of(std::string_view line) {
  Columns columns;
  const std::vector<std::string_view> titles = cells_of(line, ',');
  if (titles.size() < 2) return std::nullopt;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    if (const auto column = column_of(titles[i])) columns[*column] = i;
  }
  return columns[kIndex] ? std::optional(columns) : std::nullopt;
}

std::string plain(std::string_view text) {
  std::string part;
  for (const char c : text.substr(0, 64)) part += c >= 0x20 && c < 0x7F ? c : '?';
  return part;
}

}  // namespace

Result<bool> read_gpu_query(const std::vector<std::string>& lines, Topology& topology) {
  std::optional<Columns> columns;
  bool any = false;
  for (const std::string& line : lines) {
    if (auto header = columns_of(line)) {
      columns = header;
      continue;
    }
    if (!columns) continue;
    const std::vector<std::string_view> cells = cells_of(line, ',');
    const auto cell = [&](Column column) {
      const auto at = (*columns)[column];
      return at && *at < cells.size() ? cells[*at] : std::string_view();
    };
    const auto index = number_of(cell(kIndex));
    if (!index) continue;
    auto device = gpu_of_index(topology, *index);
    if (!device) return device.error();
    any = true;
    TopologyDevice& gpu = **device;
    if (!cell(kName).empty()) gpu.product = plain(cell(kName));
    if (!cell(kBus).empty()) gpu.pci = plain(cell(kBus));
    if (!cell(kUuid).empty()) gpu.uuid = plain(cell(kUuid));
    // An idle device lowers its generation; what device and slot can do together is what a copy gets. The width stays.
    const auto most = number_of(cell(kMostGeneration));
    const auto generation = most ? most : number_of(cell(kGeneration));
    const auto width = number_of(cell(kWidth));
    if (generation && *generation >= 1 && *generation <= 8)
      gpu.pcie_generation = static_cast<std::int32_t>(*generation);
    if (width && *width >= 1 && *width <= 32) gpu.pcie_width = static_cast<std::int32_t>(*width);
  }
  return any;
}

}  // namespace accel::fusion
