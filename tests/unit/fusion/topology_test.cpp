#include "fusion/topology/topology.h"

#include <gtest/gtest.h>

#include <string>

#include "fusion/topology/link_speed.h"
#include "fusion/topology/path.h"

namespace accel::fusion {
namespace {

// Two H200s, as the tool writes it: colour codes, tabs, blank padding.
constexpr const char* kTwo =
    "\t\x1b[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\t0-31\t0\t\tN/A\n"
    "GPU1\tNV18\t X \t0-31\t0\t\tN/A\n"
    "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n"
    "  NV#  = Connection traversing a bonded set of # NVLinks\n";

constexpr const char* kNvlink =
    "GPU 0: NVIDIA H200 (UUID: GPU-aaaa)\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n\t Link 2: <inactive>\n"
    "GPU 1: NVIDIA H200 (UUID: GPU-bbbb)\n\t Link 0: 26.562 GB/s\n\t Link 1: 20 GB/s\n";

// Four GPUs and two cards, every word of the legend.
constexpr const char* kFour =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\r\n"
    "GPU0\t X \tPIX\tNODE\tSYS\tPXB\tSYS\t0-15\t0\r\n"
    "GPU1\tPIX\t X \tPHB\tSYS\tPXB\tSYS\t0-15\t0\r\n"
    "GPU2\tNODE\tPHB\t X \tNV4\tSYS\tPIX\t16-31\t1\r\n"
    "GPU3\tSYS\tSYS\tNV4\t X \tSYS\tPHB\t16-31\t1\r\n"
    "NIC0\tPXB\tPXB\tSYS\tSYS\t X \tSYS\t\t\r\n"
    "NIC1\tSYS\tSYS\tPIX\tPHB\tSYS\t X \t\t\r\n"
    "\r\nNIC Legend:\r\n\r\n  NIC0: mlx5_0\r\n  NIC1: mlx5_bond_0\r\n";

Topology read(std::string_view text) {
  auto topology = read_topology(text, "topo.txt");
  EXPECT_TRUE(topology) << (topology ? "" : topology.error().message);
  return topology ? *topology : Topology{};
}

Endpoint rank(std::int64_t number, std::optional<std::int64_t> device, std::string host = {},
              std::string product = {}) {
  return {number, std::move(host), device, std::move(product)};
}

TEST(Topology, ReadsTheMatrixAsTheToolWritesIt) {
  const Topology topology = read(kTwo);
  ASSERT_EQ(topology.devices.size(), 2U);
  EXPECT_EQ(topology.devices[1].index, 1);
  EXPECT_EQ(topology.devices[0].cpu_affinity, "0-31");
  EXPECT_EQ(topology.devices[0].numa, "0");
  EXPECT_EQ(topology.link(0, 1), (Link{LinkKind::nvlink, 18}));
  EXPECT_EQ(topology.link(1, 1).kind, LinkKind::self);
  EXPECT_TRUE(topology.doubts.empty());
}

TEST(Topology, ReadsEveryWordOfTheLegendAndTheNamesOfCards) {
  const Topology topology = read(kFour);
  ASSERT_EQ(topology.devices.size(), 6U);
  EXPECT_EQ(topology.gpu_count(), 4U);
  EXPECT_EQ(to_string(topology.link(0, 1)), "PIX");
  EXPECT_EQ(to_string(topology.link(0, 2)), "NODE");
  EXPECT_EQ(to_string(topology.link(0, 3)), "SYS");
  EXPECT_EQ(to_string(topology.link(1, 2)), "PHB");
  EXPECT_EQ(to_string(topology.link(2, 3)), "NV4");
  EXPECT_EQ(to_string(topology.link(0, 4)), "PXB");
  EXPECT_EQ(topology.devices[4].card, "mlx5_0");
  EXPECT_EQ(topology.devices[5].card, "mlx5_bond_0");
  EXPECT_EQ(topology.devices[3].numa, "1");
  EXPECT_TRUE(topology.doubts.empty());
}

TEST(Topology, ReadsTextWhoseTabsBecameBlanksAndWhoseEscapeBytesAreLost) {
  const Topology topology = read(
      "$ nvidia-smi topo -m\n"
      "        [4mGPU0    GPU1    mlx5_0  CPU Affinity    NUMA Affinity[0m\n"
      "GPU0     X      SOC     PIX     0-23    0\n"
      "GPU1    SOC      X      SYS     24-47   1\n"
      "mlx5_0  PIX     SYS      X\n");
  ASSERT_EQ(topology.devices.size(), 3U);
  EXPECT_EQ(to_string(topology.link(0, 1)), "SYS");
  EXPECT_EQ(topology.devices[2].card, "mlx5_0");
  EXPECT_FALSE(topology.devices[2].is_gpu);
  EXPECT_EQ(topology.devices[1].cpu_affinity, "24-47");
  EXPECT_TRUE(topology.doubts.empty());
}

TEST(Topology, ReadsRowsThatATerminalBroke) {
  const Topology topology = read(
      "     GPU0 GPU1\n"
      "     GPU2 CPU Affinity\n"
      "GPU0 X NV2\n"
      "NV1 0-7\n"
      "GPU1 NV2 X\n"
      "SYS 0-7\n"
      "GPU2 NV1 SYS X 0-7\n");
  ASSERT_EQ(topology.devices.size(), 3U);
  EXPECT_EQ(to_string(topology.link(0, 2)), "NV1");
  EXPECT_EQ(to_string(topology.link(1, 2)), "SYS");
  EXPECT_TRUE(topology.doubts.empty()) << topology.doubts[0];
}

TEST(Topology, WhatIsOddIsSaidAndTheSlowerWordCounts) {
  const Topology topology = read(
      "\tGPU0\tGPU1\tGPU2\n"
      "GPU0\t X \tNV18\tWARP\n"
      "GPU1\tSYS\t X \tNV18\n"
      "GPU2\tPIX\n");
  EXPECT_EQ(to_string(topology.link(0, 1)), "SYS");
  EXPECT_EQ(to_string(topology.link(0, 2)), "PIX");  // one direction is readable
  EXPECT_EQ(to_string(topology.link(1, 2)), "NV18");
  ASSERT_EQ(topology.doubts.size(), 3U);
  EXPECT_NE(topology.doubts[0].find("\"WARP\" between GPU0 and GPU2"), std::string::npos);
  EXPECT_NE(topology.doubts[1].find("row of GPU2 is cut off"), std::string::npos);
  EXPECT_NE(topology.doubts[2].find("the slower one counts"), std::string::npos);
}

TEST(Topology, ADeviceWithoutARowAndACellWithoutAWordStayUnknown) {
  const Topology topology = read("\tGPU0\tGPU1\tGPU2\nGPU0\t X \t\tNV4\n");
  EXPECT_EQ(topology.link(0, 1).kind, LinkKind::unknown);
  EXPECT_EQ(topology.link(1, 2).kind, LinkKind::unknown);
  EXPECT_EQ(to_string(topology.link(0, 2)), "NV4");
  EXPECT_EQ(topology.doubts.size(), 2U);
}

TEST(Topology, AddsLinksAndBusesToTheGpusOfTheMatrix) {
  Topology topology = read(kTwo);
  ASSERT_TRUE(add_to_topology(topology, kNvlink, "nvlink.txt"));
  ASSERT_TRUE(add_to_topology(topology,
                              "index, name, pci.bus_id, pcie.link.gen.max, pcie.link.gen.current, "
                              "pcie.link.width.current\n0, NVIDIA H200, 00000000:0F:00.0, 5, 1, 8\n1, NVIDIA H200, "
                              "00000000:2D:00.0, 5, 5, [N/A]\n",
                              "gpus.csv"));
  EXPECT_EQ(topology.source, "topo.txt, nvlink.txt, gpus.csv");
  EXPECT_EQ(topology.devices[0].uuid, "GPU-aaaa");
  EXPECT_EQ(topology.devices[0].nvlinks_gbps.size(), 2U);
  EXPECT_EQ(topology.devices[0].nvlinks_inactive, 1);
  EXPECT_EQ(topology.devices[0].pci, "00000000:0F:00.0");
  EXPECT_EQ(topology.devices[0].pcie_generation, 5);
  EXPECT_EQ(topology.devices[0].pcie_width, 8);
  EXPECT_EQ(topology.devices[1].pcie_width, std::nullopt);
}

TEST(Topology, OtherTextIsRefusedAndNothingCrashes) {
  for (const std::string& text :
       {std::string(), std::string("hello\n"), std::string(1000, '\x1b'), std::string(100000, '\t'),
        std::string(100000, '['), std::string("GPU\n\n") + std::string(1, 0), std::string("Link 0: 26 GB/s\n"),
        std::string("GPU0 : no\n")}) {
    const auto topology = read_topology(text, "x");
    ASSERT_FALSE(topology);
    EXPECT_EQ(topology.error().code, ErrorCode::not_a_trace);
  }
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "GPU" + std::to_string(i) + " ";
  EXPECT_EQ(read_topology(many + "\n", "x").error().code, ErrorCode::out_of_range);
  many.clear();
  for (int i = 0; i < 2000; ++i) many += "GPU " + std::to_string(i) + ": x\n";
  EXPECT_EQ(read_topology(many, "x").error().code, ErrorCode::out_of_range);
  EXPECT_EQ(read_topology(std::string(kLargestTopologyText + 1, 'a'), "x").error().code, ErrorCode::out_of_range);
}

TEST(Topology, EveryCutOfATextIsReadOrRefused) {
  const std::string text = std::string(kFour) + kNvlink;
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto topology = read_topology(std::string_view(text).substr(0, length), "x");
    if (!topology) continue;
    ASSERT_EQ(topology->links.size(), topology->devices.size() * topology->devices.size());
    for (std::size_t a = 0; a < topology->devices.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) ASSERT_EQ(topology->link(a, b), topology->link(b, a));
  }
}

TEST(Path, NamesNvlinkWithGenerationLinksAndSpeed) {
  Topology topology = read(kTwo);
  const Path by_sheet = path_between(&topology, rank(0, 0, "", "NVIDIA H200"), rank(1, 1, "", "NVIDIA H200"));
  EXPECT_EQ(by_sheet.nvlink_generation, 4);
  EXPECT_DOUBLE_EQ(*by_sheet.expected_gbps, 450);
  EXPECT_EQ(describe(by_sheet), "NVLink 4, 18 links");
  const Path bare = path_between(&topology, rank(0, 0), rank(1, 1));
  EXPECT_EQ(bare.expected_gbps, std::nullopt);
  EXPECT_EQ(describe_with_speed(bare), "NVLink, 18 links: what it can carry is not known");

  std::string status;
  for (int gpu = 0; gpu < 2; ++gpu) {
    status += "GPU " + std::to_string(gpu) + ": NVIDIA H200 (UUID: GPU-x)\n";
    for (int link = 0; link < 18; ++link) status += "\t Link " + std::to_string(link) + ": 26.562 GB/s\n";
  }
  ASSERT_TRUE(add_to_topology(topology, status, "nvlink.txt"));
  const Path stated = path_between(&topology, rank(0, 0), rank(1, 1));
  EXPECT_NEAR(*stated.expected_gbps, 478.116, 1e-9);
  EXPECT_EQ(describe_with_speed(stated),
            "NVLink 4, 18 links: 478.1 GB/s each way (speed of the links as nvidia-smi nvlink -s states it)");
  EXPECT_EQ(stated.between, "GPU0 and GPU1");
}

TEST(Path, NamesPcieByWhatIsKnownOfIt) {
  Topology topology = read(kFour);
  const Path sheet = path_between(&topology, rank(0, 0, "", "NVIDIA A100-SXM4-80GB"), rank(1, 1));
  EXPECT_EQ(describe(sheet), "PCIe 4 through one switch (PIX)");
  EXPECT_NEAR(*sheet.expected_gbps, 31.508, 0.001);
  EXPECT_NE(sheet.basis.find("at most"), std::string::npos);
  ASSERT_TRUE(add_to_topology(topology, "index, pcie.link.gen.current, pcie.link.width.current\n0, 4, 16\n1, 4, 4\n",
                              "gpus.csv"));
  const Path stated = path_between(&topology, rank(0, 0), rank(1, 1));
  EXPECT_EQ(describe(stated), "PCIe 4 x4 through one switch (PIX)");  // the slower end
  EXPECT_NEAR(*stated.expected_gbps, 7.877, 0.001);
  EXPECT_EQ(describe(path_between(&topology, rank(0, 0), rank(1, 3))),
            "PCIe 4 x16 and the link between processor sockets (SYS)");
}

TEST(Path, IsUnknownWithAReasonWhereNothingSaysIt) {
  EXPECT_EQ(describe(path_between(nullptr, rank(0, 0), rank(1, 1))),
            "topology unknown: no output of nvidia-smi topo -m was given");
  const Topology four = read(kFour);
  EXPECT_EQ(path_between(&four, rank(0, 0), rank(1, 9)).link.kind, LinkKind::unknown);
  EXPECT_EQ(path_between(&four, rank(0, std::nullopt), rank(1, 1)).link.kind, LinkKind::unknown);
  // Each rank sees one device and calls it 0: with four unlike links nobody knows which ones they are.
  const Path renumbered = path_between(&four, rank(0, 0), rank(1, 0));
  EXPECT_EQ(renumbered.link.kind, LinkKind::unknown);
  EXPECT_NE(describe(renumbered).find("same device index"), std::string::npos);
  // With like links it does not matter.
  const Topology two = read(kTwo);
  EXPECT_EQ(describe(path_between(&two, rank(0, 0), rank(1, 0))), "NVLink, 18 links");
}

TEST(Path, AcrossHostsIsTheNetworkWhateverLiesInside) {
  const Topology two = read(kTwo);
  const Path path = path_between(&two, rank(0, 0, "node1"), rank(2, 0, "node2"));
  EXPECT_EQ(path.link.kind, LinkKind::network);
  EXPECT_EQ(describe_with_speed(path), "network between hosts: what it can carry is not known");
  EXPECT_EQ(path.between, "node1 and node2");
  const Endpoint group[] = {rank(0, 0, "node1"), rank(1, 1, "node1"), rank(2, 0, "node2")};
  EXPECT_EQ(path_around(&two, group).link.kind, LinkKind::network);
}

TEST(Path, AroundAGroupIsTheSlowestPartThatNoRingAvoids) {
  const Topology four = read(kFour);
  const Endpoint all[] = {rank(0, 0, "", "V100"), rank(1, 1, "", "V100"), rank(2, 2, "", "V100"),
                          rank(3, 3, "", "V100")};
  // 0-1 PIX, 1-2 PHB, 2-3 NV4: the host bridge cannot be avoided, the socket link can.
  const Path path = path_around(&four, all);
  EXPECT_EQ(path.link.kind, LinkKind::phb);
  EXPECT_EQ(path.between, "GPU1 and GPU2");
  EXPECT_EQ(to_string(path_around(&four, std::span(all).subspan(2)).link), "NV4");
  EXPECT_EQ(path_around(&four, std::span(all).first(1)).link.kind, LinkKind::unknown);
}

TEST(Path, SaysWhetherItIsTheLimit) {
  const Topology two = read(kTwo);
  const Path path = path_between(&two, rank(0, 0, "", "H100"), rank(1, 1, "", "H100"));
  const PathUse high = use_of_path(path, 360);
  EXPECT_TRUE(*high.is_limit);
  EXPECT_EQ(
      high.sentence,
      "360.0 GB/s, 80 % of NVLink 4, 18 links: 450.0 GB/s each way (by the product's data sheet); the path is the "
      "limit");
  EXPECT_FALSE(*use_of_path(path, 90).is_limit);
  const PathUse usual = use_of_path(path, 250);
  EXPECT_FALSE(*usual.is_limit);
  EXPECT_NE(usual.sentence.find("56 % of NVLink 4, 18 links"), std::string::npos) << usual.sentence;
  EXPECT_NE(usual.sentence.find("as much as a sound path gives messages of tens of megabytes"), std::string::npos);
  const PathUse blind = use_of_path(path_between(nullptr, rank(0, 0), rank(1, 1)), 10);
  EXPECT_EQ(blind.is_limit, std::nullopt);
  EXPECT_EQ(blind.sentence, "10.0 GB/s over topology unknown: no output of nvidia-smi topo -m was given");
}

TEST(LinkSpeed, KnowsProductsByWholeWords) {
  EXPECT_EQ(links_of_product("NVIDIA A100-SXM4-80GB")->nvlink_generation, 3);
  EXPECT_EQ(links_of_product("NVIDIA H100 80GB HBM3")->pcie_generation, 5);
  EXPECT_EQ(links_of_product("Tesla T4")->nvlink_generation, 0);
  EXPECT_EQ(links_of_product("NVIDIA A3000"), std::nullopt);
  EXPECT_EQ(links_of_product(""), std::nullopt);
  EXPECT_NEAR(*pcie_gbps(5, 16), 63.015, 0.001);
  EXPECT_EQ(pcie_gbps(9, 16), std::nullopt);
}

}  // namespace
}  // namespace accel::fusion
