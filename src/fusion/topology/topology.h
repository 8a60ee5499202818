// Topology: how the devices and network cards of one host are connected, as the tools of the driver state it. Made from
// text by read_topology() (the output of `nvidia-smi topo -m`, `nvidia-smi nvlink -s` and `nvidia-smi --query-gpu=...
// --format=csv`, alone or one after the other in one file) and constant from then on. What the text does not say stays
// unknown; what is odd about it stands in `doubts`. Pure functions, any thread; linear in the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace accel::fusion {

// From the fastest to the slowest, in the words of nvidia-smi: NV#, PIX, PXB, PHB, NODE, SYS.
enum class LinkKind : std::uint8_t { self, nvlink, pix, pxb, phb, node, sys, network, unknown };

struct Link {
  LinkKind kind = LinkKind::unknown;
  std::int32_t lanes = 0;  // of an NVLink: bonded links

  bool operator==(const Link&) const = default;
};

// Whether `a` is slower than `b`. Unknown is slower than everything: it may be.
bool slower(const Link& a, const Link& b);
// The word of nvidia-smi: NV18, PIX, X; "?" for unknown.
std::string to_string(const Link& link);

struct TopologyDevice {
  std::string name;  // as the matrix calls it: GPU0, NIC0, mlx5_0
  std::string card;  // of a network card: its own name, from the NIC legend
  bool is_gpu = false;
  std::int64_t index = -1;  // of a GPU: the driver's index
  std::string product;
  std::string uuid;
  std::string pci;
  std::string cpu_affinity;  // as written: 0-31
  std::string numa;
  std::optional<std::int32_t> pcie_generation;  // as negotiated
  std::optional<std::int32_t> pcie_width;
  std::vector<double> nvlinks_gbps;  // each active NVLink, one direction; empty: not stated
  std::int32_t nvlinks_inactive = 0;
};

struct Topology {
  std::string source;                   // files that it was read from
  std::vector<TopologyDevice> devices;  // in the order of the matrix
  std::vector<Link> links;              // devices x devices, row by row, symmetric
  std::vector<std::string> doubts;      // sentences: contradictions, unknown words, missing rows

  const Link& link(std::size_t a, std::size_t b) const { return links[a * devices.size() + b]; }
  // Position of the GPU with the driver's index.
  std::optional<std::size_t> gpu(std::int64_t index) const;
  std::size_t gpu_count() const;
};

// Bounds of what is read: more is no output of these tools.
inline constexpr std::size_t kLargestTopologyText = std::size_t{4} << 20;
inline constexpr std::size_t kMostTopologyDevices = 512;

// ErrorCode::not_a_trace where the text holds nothing of these tools.
Result<Topology> read_topology(std::string_view text, const std::string& source);
// Adds what another output says about the same host; what contradicts becomes a doubt.
Result<void> add_to_topology(Topology& topology, std::string_view text, const std::string& source);

}  // namespace accel::fusion
