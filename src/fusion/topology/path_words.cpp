#include <fmt/format.h>

#include <string>
#include <string_view>

#include "fusion/topology/path.h"

namespace accel::fusion {
namespace {

std::string pcie(const Path& path, std::string_view unknown) {
  if (!path.pcie_generation) return "PCIe" + std::string(unknown);
  if (!path.pcie_width) return fmt::format("PCIe {}", *path.pcie_generation);
  return fmt::format("PCIe {} x{}", *path.pcie_generation, *path.pcie_width);
}

std::string nvlink(const Path& path) {
  return path.nvlink_generation ? fmt::format("NVLink {}", *path.nvlink_generation) : std::string("NVLink");
}

}  // namespace

std::string describe(const Path& path) {
  switch (path.link.kind) {
    case LinkKind::self:
      return "the device itself";
    case LinkKind::nvlink:
      return fmt::format("{}, {} link{}", nvlink(path), path.link.lanes, path.link.lanes == 1 ? "" : "s");
    case LinkKind::pix:
      return pcie(path, "") + " through one switch (PIX)";
    case LinkKind::pxb:
      return pcie(path, "") + " through several switches (PXB)";
    case LinkKind::phb:
      return pcie(path, "") + " through the host bridge (PHB)";
    case LinkKind::node:
      return pcie(path, "") + " between host bridges of one NUMA node (NODE)";
    case LinkKind::sys:
      return pcie(path, "") + " and the link between processor sockets (SYS)";
    case LinkKind::network:
      return "network between hosts";
    case LinkKind::unknown:
      break;
  }
  return "topology unknown: " + path.reason;
}

std::string describe_zh(const Path& path) {
  switch (path.link.kind) {
    case LinkKind::self:
      return "设备自身";
    case LinkKind::nvlink:
      return fmt::format("{}，{} 条链路", nvlink(path), path.link.lanes);
    case LinkKind::pix:
      return pcie(path, "") + "，经一个交换芯片（PIX）";
    case LinkKind::pxb:
      return pcie(path, "") + "，经多个交换芯片（PXB）";
    case LinkKind::phb:
      return pcie(path, "") + "，经主桥（PHB）";
    case LinkKind::node:
      return pcie(path, "") + "，经同一 NUMA 节点的多个主桥（NODE）";
    case LinkKind::sys:
      return pcie(path, "") + "，并跨 CPU 插槽互连（SYS）";
    case LinkKind::network:
      return "主机间网络";
    case LinkKind::unknown:
      break;
  }
  return "拓扑未知（" + path.reason + "）";
}

std::string describe_with_speed(const Path& path) {
  if (path.expected_gbps)
    return fmt::format("{}: {:.1f} GB/s each way ({})", describe(path), *path.expected_gbps, path.basis);
  if (path.link.kind == LinkKind::unknown || path.link.kind == LinkKind::self) return describe(path);
  return describe(path) + ": what it can carry is not known";
}

std::string describe_with_speed_zh(const Path& path) {
  if (path.expected_gbps)
    return fmt::format("{}：单向 {:.1f} GB/s（{}）", describe_zh(path), *path.expected_gbps, path.basis_zh);
  if (path.link.kind == LinkKind::unknown || path.link.kind == LinkKind::self) return describe_zh(path);
  return describe_zh(path) + "：可达带宽未知";
}

PathUse use_of_path(const Path& path, double achieved_gbps) {
  PathUse use;
  use.achieved_gbps = achieved_gbps;
  if (!path.expected_gbps) {
    use.sentence = fmt::format("{:.1f} GB/s over {}", achieved_gbps, describe_with_speed(path));
    use.sentence_zh = fmt::format("{:.1f} GB/s，路径：{}", achieved_gbps, describe_with_speed_zh(path));
    return use;
  }
  use.share = achieved_gbps / *path.expected_gbps;
  use.is_limit = *use.share >= kPathFullShare;
  const bool sound = *use.share >= kPathSoundShare;
  use.sentence =
      fmt::format("{:.1f} GB/s, {:.0f} % of {}; {}", achieved_gbps, 100 * *use.share, describe_with_speed(path),
                  *use.is_limit ? "the path is the limit"
                  : sound       ? "as much as a sound path gives messages of tens of megabytes"
                                : "the path could carry more");
  use.sentence_zh =
      fmt::format("{:.1f} GB/s，为{}的 {:.0f} %；{}", achieved_gbps, describe_with_speed_zh(path), 100 * *use.share,
                  *use.is_limit ? "路径已是瓶颈"
                  : sound       ? "与正常路径上数十兆字节消息的实测水平相当"
                                : "路径尚有余量");
  return use;
}

}  // namespace accel::fusion
