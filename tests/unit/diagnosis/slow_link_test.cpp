#include <gtest/gtest.h>

#include <string>

#include "unit/diagnosis/small_job.h"

namespace accel {
namespace {

// Two ranks of SmallJob share device 0, so every pair of GPUs here is joined alike.
fusion::Topology joined_by(const std::string& link) {
  const std::string text = "\tGPU0\tGPU1\nGPU0\tX\t" + link + "\nGPU1\t" + link + "\tX\n";
  auto topology = fusion::read_topology(text, "topo.txt");
  EXPECT_TRUE(topology);
  std::string nvlinks;
  for (int gpu = 0; gpu < 2; ++gpu) {
    nvlinks += "GPU " + std::to_string(gpu) + ": NVIDIA H100 (UUID: x)\n";
    for (int i = 0; i < 4; ++i) nvlinks += " Link " + std::to_string(i) + ": 25 GB/s\n";
  }
  EXPECT_TRUE(fusion::add_to_topology(*topology, nvlinks, "nvlink.txt"));
  return *topology;
}

// 64 MiB among two ranks in `transfer_ms`: 67 GB/s in 1 ms.
Diagnosis of(std::int64_t transfer_ns, std::optional<fusion::Topology> topology, std::int64_t bytes = 64 << 20) {
  SmallJob small;
  small.ranks = 2;
  small.steps = 8;
  small.transfer_ns = transfer_ns;
  small.bytes = bytes;
  fusion::Job job = small.job();
  return diagnose_job(fusion::fuse(std::move(job.set.ranks), std::move(topology)));
}

TEST(SlowLink, fires_far_below_what_the_path_carries_and_names_the_path) {
  const Diagnosis diagnosis = of(4'000'000, joined_by("NV4"));  // 16.8 of 100 GB/s
  const Finding* finding = find_rule(diagnosis, "slow_link");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title,
            "All-reduce of ranks 0, 1 reaches 17 GB/s over NVLink 4, 4 links, which carries 100 GB/s each way");
  EXPECT_NEAR(finding->cost_ms_per_step, 4 * (1 - 16.78 / 45), 0.05);
  EXPECT_NE(finding->action.command.find("all_reduce_perf"), std::string::npos);
}

TEST(SlowLink, is_silent_where_the_path_is_the_limit_or_nearly) {
  EXPECT_EQ(find_rule(of(1'000'000, joined_by("NV4")), "slow_link"), nullptr);  // 67 GB/s
  EXPECT_EQ(find_rule(of(1'600'000, joined_by("NV4")), "slow_link"), nullptr);  // 42 GB/s
}

TEST(SlowLink, is_silent_without_a_topology_and_for_small_messages) {
  EXPECT_EQ(find_rule(of(4'000'000, std::nullopt), "slow_link"), nullptr);
  EXPECT_EQ(find_rule(of(4'000'000, joined_by("NV4"), 8 << 20), "slow_link"), nullptr);
}

TEST(SlowLink, is_silent_where_what_the_path_carries_is_not_known) {
  auto topology = fusion::read_topology("\tGPU0\tGPU1\nGPU0\tX\tSYS\nGPU1\tSYS\tX\n", "topo.txt");
  ASSERT_TRUE(topology);
  EXPECT_EQ(find_rule(of(40'000'000, *topology), "slow_link"), nullptr);
}

// Four pairs on four hosts, one of which is far slower: no topology is needed to see that.
fusion::Job pairs(std::int64_t slow_ns) {
  std::vector<fusion::RankDigest> digests;
  for (std::int64_t pair = 0; pair < 4; ++pair) {
    SmallJob small;
    small.ranks = 2;
    small.steps = 8;
    small.transfer_ns = pair == 2 ? slow_ns : 1'000'000;
    small.compute_ns = 8'000'000 + 1'000'000 - small.transfer_ns;
    fusion::Job job = small.job();
    for (fusion::RankDigest& digest : job.set.ranks) {
      digest.rank = *digest.rank + 2 * pair;
      digest.world_size = 8;
      digest.groups[0] = {std::to_string(pair), "tp", {2 * pair, 2 * pair + 1}};
      digests.push_back(std::move(digest));
    }
  }
  return fusion::fuse(std::move(digests));
}

TEST(SlowLink, fires_far_below_like_groups_and_says_that_the_topology_is_unknown) {
  const Diagnosis diagnosis = diagnose_job(pairs(4'000'000));
  const Finding* finding = find_rule(diagnosis, "slow_link");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(
      finding->title,
      "All-reduce of ranks 4, 5 reaches 17 GB/s, like groups reach 67 GB/s; its path: topology unknown: no output "
      "of nvidia-smi topo -m was given");
  EXPECT_EQ(find_rule(diagnose_job(pairs(1'600'000)), "slow_link"), nullptr);
}

TEST(SlowLink, fires_where_a_group_lies_on_pcie_though_nvlinks_are_there) {
  auto topology = fusion::read_topology(
      "\tGPU0\tGPU1\tGPU2\tGPU3\n"
      "GPU0\tX\tNV4\tSYS\tSYS\nGPU1\tNV4\tX\tSYS\tSYS\nGPU2\tSYS\tSYS\tX\tNV4\nGPU3\tSYS\tSYS\tNV4\tX\n"
      "index, name, pcie.link.gen.max, pcie.link.width.current\n"
      "0, NVIDIA A100, 4, 16\n1, NVIDIA A100, 4, 16\n2, NVIDIA A100, 4, 16\n3, NVIDIA A100, 4, 16\n",
      "topo.txt");
  ASSERT_TRUE(topology);
  SmallJob small;
  small.ranks = 2;
  small.steps = 8;
  small.transfer_ns = 3'000'000;  // 22 GB/s: all that PCIe 4 gives
  fusion::Job job = small.job();
  for (fusion::CommunicationEvent& event : job.set.ranks[1].events) event.device = 2;
  const Diagnosis diagnosis = diagnose_job(fusion::fuse(job.set.ranks, *topology));
  const Finding* finding = find_rule(diagnosis, "slow_link");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(
      finding->title,
      "All-reduce of ranks 0, 1 reaches 22 GB/s over PCIe 4 x16 and the link between processor sockets (SYS); the "
      "host has as many GPUs that NVLinks join");
  for (fusion::CommunicationEvent& event : job.set.ranks[1].events) event.device = 1;
  EXPECT_EQ(find_rule(diagnose_job(fusion::fuse(job.set.ranks,
                                                fusion::read_topology("\tGPU0\tGPU1\nGPU0\tX\tSYS\n", "x").value())),
                      "slow_link"),
            nullptr);
}

}  // namespace
}  // namespace accel
