#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

struct Link {
  double generation = 5;
  double width = 16;
  const char* generation_max = "5";
  const char* width_max = "16";
  double gigabytes_per_second = 50;  // of the copies
  bool in_steps = true;              // samples are taken while the device works
  std::int64_t bytes = 100'000'000;
};

SyntheticJob::Outcome judged(const Link& link) {
  SyntheticJob job;
  for (int step = 0; step < 6; ++step) {
    job.begin_step();
    SyntheticJob::Copy copy;
    copy.bytes = link.bytes;
    copy.device_us = static_cast<double>(link.bytes) / link.gigabytes_per_second / 1e3;
    job.copy(copy);
    for (int i = 0; i < 20; ++i) job.launch("aten::mm", "gemm", 20, 300);
    job.wait("aten::item");
    job.end_step();
  }
  SyntheticJob::Outcome outcome{job.store(), {}, {}};
  TraceStore& store = outcome.store;
  store.process.options["pcie_generation_max"] = link.generation_max;
  store.process.options["pcie_width_max"] = link.width_max;
  const StringId generation = store.strings.intern("pcie_generation");
  const StringId width = store.strings.intern("pcie_width");
  for (int sample = 0; sample < 5; ++sample) {
    const std::int64_t at = link.in_steps ? 1'000'000'000 + static_cast<std::int64_t>(job.now * 100) * (sample + 3)
                                          : 1'000'000 * (sample + 1);
    store.counters.push({at, link.generation, generation});
    store.counters.push({at, link.width, width});
  }
  auto results = run_analyses(store, {});
  EXPECT_TRUE(results.ok());
  outcome.results = std::move(*results);
  outcome.diagnosis = diagnose(store, outcome.results, {});
  return outcome;
}

double evidence(const Finding& finding, std::string_view text) {
  for (const Evidence& one : finding.evidence)
    if (one.text == text) return one.value;
  ADD_FAILURE() << text;
  return -1;
}

TEST(PcieDegraded, four_lanes_in_a_slot_of_sixteen_cost_three_quarters_of_the_copies) {
  const auto outcome = judged({.width = 4, .gigabytes_per_second = 14});
  const Finding* finding = outcome.find("pcie_degraded");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->severity, FindingSeverity::info);
  EXPECT_EQ(finding->title, "PCIe runs at generation 5 x4 where device and slot can do generation 5 x16");
  EXPECT_NEAR(evidence(*finding, "the link carries at most, one direction, as it runs"), 15.75, 0.01);
  EXPECT_NEAR(evidence(*finding, "it would carry at full width and generation"), 63.0, 0.1);
  // 100 MB at 14 GB/s are 7.14 ms; a link four times as fast takes a quarter.
  EXPECT_NEAR(finding->cost_ms_per_step, 7.14 * 0.75, 0.1);
}

TEST(PcieDegraded, generation_one_under_load_is_found_and_a_sleeping_device_is_not) {
  const auto outcome = judged({.generation = 1, .gigabytes_per_second = 3.5});
  ASSERT_NE(outcome.find("pcie_degraded"), nullptr);
  EXPECT_EQ(outcome.find("pcie_degraded")->severity, FindingSeverity::critical);
  EXPECT_EQ(judged({.generation = 1, .gigabytes_per_second = 50, .in_steps = false}).find("pcie_degraded"), nullptr);
}

TEST(PcieDegraded, a_sound_link_and_one_that_says_nothing_are_silent) {
  EXPECT_EQ(judged({}).find("pcie_degraded"), nullptr);
  EXPECT_EQ(judged({.width = 4, .generation_max = "unknown"}).find("pcie_degraded"), nullptr);
  EXPECT_EQ(judged({.generation = 4, .generation_max = "4", .gigabytes_per_second = 25}).find("pcie_degraded"), nullptr)
      << "what the slot can do at most is not the device's fault";
}

TEST(PcieDegraded, a_copy_that_is_faster_than_the_stated_link_proves_the_statement_wrong) {
  EXPECT_EQ(judged({.width = 4, .gigabytes_per_second = 50}).find("pcie_degraded"), nullptr);
}

TEST(PcieDegraded, a_link_that_little_goes_over_is_said_and_promises_nothing) {
  const auto outcome = judged({.width = 4, .gigabytes_per_second = 14, .bytes = 4000});
  const Finding* finding = outcome.find("pcie_degraded");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, FindingSeverity::info);
  EXPECT_LT(finding->cost_ms_per_step, 0.01);
}

}  // namespace
}  // namespace accel
