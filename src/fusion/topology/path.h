// The path that data takes between two devices of a job, or around a process group: its kind, what it can carry each
// way and where that figure comes from, in numbers and in words. A path that is not known says why. Pure functions, any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "fusion/topology/topology.h"

namespace accel::fusion {

// One end of a transfer: a device of a rank. `device` is the index that the trace states; it is the driver's index
// unless CUDA_VISIBLE_DEVICES renumbered it, which shows when ranks of one host share an index.
struct Endpoint {
  std::int64_t rank = 0;
  std::string host;  // empty: not recorded
  std::optional<std::int64_t> device;
  std::string product;  // empty: not recorded
};

struct Path {
  Link link;                                      // kind unknown: `reason` says why
  std::string reason;                             // of an unknown path, a sentence without its full stop
  std::optional<std::int32_t> nvlink_generation;  // NVLink
  std::optional<std::int32_t> pcie_generation;    // what runs over PCIe
  std::optional<std::int32_t> pcie_width;
  std::optional<double> expected_gbps;  // one direction; an upper bound, not what programs reach
  std::string basis;                    // of expected_gbps: "speed of 18 links as nvidia-smi nvlink -s states it"
  std::string basis_zh;
  std::string between;  // "GPU0 and GPU3": the ends of the slowest part
};

// `topology` may be null. Endpoints of different hosts are joined by the network.
Path path_between(const Topology* topology, const Endpoint& a, const Endpoint& b);

// The slowest part that no ring around the endpoints can avoid. Unknown when fewer than two are given.
Path path_around(const Topology* topology, std::span<const Endpoint> endpoints);

// "NVLink 4, 18 links", "PCIe 5 x16 through one switch (PIX)", "network", "topology unknown: ...".
std::string describe(const Path& path);
std::string describe_zh(const Path& path);
// With the bandwidth: "NVLink 4, 18 links: 478.1 GB/s each way (...)".
std::string describe_with_speed(const Path& path);
std::string describe_with_speed_zh(const Path& path);

// Bus bandwidth of a large collective against what its path carries.
struct PathUse {
  double achieved_gbps = 0;
  std::optional<double> share;   // of expected_gbps
  std::optional<bool> is_limit;  // whether the path itself sets the pace
  std::string sentence;
  std::string sentence_zh;
};

// What large collectives reach of the wire on a sound path. From the first share on the path is the limit: nccl-tests
// as published for NVLink 3 and 4 and PCIe 3 to 5, messages of a gigabyte. Messages of 32 to 64 MB between two H200
// over 18 NVLinks were measured at 49 to 57 %, with and without compute beside them: from the second share on nothing
// is wrong.
inline constexpr double kPathFullShare = 0.7;
inline constexpr double kPathSoundShare = 0.45;
PathUse use_of_path(const Path& path, double achieved_gbps);

}  // namespace accel::fusion
