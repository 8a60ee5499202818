// `nvidia-smi nvlink -s`:
//   GPU 0: NVIDIA H200 (UUID: GPU-870a...)
//       Link 0: 26.562 GB/s
//       Link 1: <inactive>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "fusion/topology/lines.h"
#include "fusion/topology/readers.h"

namespace accel::fusion {
namespace {

constexpr double kFastestLinkGbps = 1000;
constexpr std::size_t kMostLinks = 64;

std::string part_of(std::string_view text, std::size_t most) {
  std::string part;
  for (const char c : trimmed(text).substr(0, most)) part += c >= 0x20 && c < 0x7F ? c : '?';
  return part;
}

struct GpuLine {
  std::int64_t index = 0;
  std::string product;
  std::string uuid;
};

std::optional<GpuLine> gpu_line(std::string_view line) {
  if (!line.starts_with("GPU ")) return std::nullopt;
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto index = number_of(trimmed(line.substr(4, colon - 4)));
  if (!index) return std::nullopt;
  GpuLine gpu{*index, {}, {}};
  const std::size_t open = line.find("(UUID:", colon);
  gpu.product = part_of(line.substr(colon + 1, std::min(open, line.size()) - colon - 1), 64);
  if (open != std::string_view::npos) {
    const std::size_t close = std::min(line.find(')', open), line.size());
    gpu.uuid = part_of(line.substr(open + 6, close - open - 6), 64);
  }
  return gpu;
}

void take_link(std::string_view line, TopologyDevice& gpu) {
  const std::size_t colon = line.find(':');
  if (!line.starts_with("Link ") || colon == std::string_view::npos) return;
  if (!number_of(trimmed(line.substr(5, colon - 5)))) return;
  const std::string said(trimmed(line.substr(colon + 1)));
  if (said.find("nactive") != std::string::npos) {
    ++gpu.nvlinks_inactive;
    return;
  }
  char* end = nullptr;
  const double speed = std::strtod(said.c_str(), &end);
  if (end == said.c_str() || trimmed(end) != "GB/s" || !(speed > 0) || speed > kFastestLinkGbps) return;
  if (gpu.nvlinks_gbps.size() < kMostLinks) gpu.nvlinks_gbps.push_back(speed);
}

}  // namespace

Result<bool> read_nvlink_status(const std::vector<std::string>& lines, Topology& topology) {
  bool any = false;
  constexpr std::size_t kNone = kMostTopologyDevices;
  std::size_t current = kNone;  // position in the topology of the GPU whose links follow
  for (const std::string& text : lines) {
    const std::string_view line = trimmed(text);
    if (auto gpu = gpu_line(line)) {
      auto device = gpu_of_index(topology, gpu->index);
      if (!device) return device.error();
      current = kNone;
      if (!(*device)->nvlinks_gbps.empty() || (*device)->nvlinks_inactive > 0) {
        if (topology.doubts.size() < 20)
          topology.doubts.push_back(
              fmt::format("the links of GPU{} are stated twice; the first list counts", gpu->index));
        continue;
      }
      any = true;
      current = static_cast<std::size_t>(*device - topology.devices.data());
      (*device)->product = gpu->product;
      (*device)->uuid = gpu->uuid;
    } else if (current < topology.devices.size()) {
      take_link(line, topology.devices[current]);
    }
  }
  return any;
}

}  // namespace accel::fusion
