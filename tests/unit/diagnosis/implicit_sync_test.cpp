#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

// A device-bound loop: kernels of 300 us, launched in 20 us each, with `waits` waits a step spread over it.
SyntheticJob waiting_job(int waits, std::string_view op = "aten::_local_scalar_dense") {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    for (int i = 0; i < 30; ++i) {
      job.launch("aten::mm", "gemm", 100, 300);
      if (waits > 0 && i % (30 / waits) == 0) job.wait(op);
    }
    job.end_step();
    job.silence(5);
  }
  return job;
}

TEST(ImplicitSync, CostsTheDeviceTimeThatItWastes) {
  const auto outcome = waiting_job(30).diagnose();
  const Finding* finding = outcome.find("implicit_sync");
  ASSERT_NE(finding, nullptr);
  // After each wait about 80 us pass until the next kernel starts, of 380 in all; the host waited 300 of them.
  EXPECT_NEAR(finding->share_of_step, 80.0 / 385, 0.05);
  EXPECT_NE(finding->action.command.find("set_sync_debug_mode"), std::string::npos);
  ASSERT_FALSE(finding->where.empty());
  EXPECT_EQ(finding->where.front().name, "aten::_local_scalar_dense");
}

TEST(ImplicitSync, AWaitAtTheEndOfALongStepIsNoFinding) {
  EXPECT_FALSE(waiting_job(1).diagnose().fires("implicit_sync"));
}

TEST(ImplicitSync, ItemsOfCpuTensorsNeverWait) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    for (int i = 0; i < 30; ++i) {
      job.launch("aten::mm", "gemm", 20, 300);
      job.cpu_op("aten::item", 3);
    }
    job.end_step();
    job.silence(5);
  }
  EXPECT_EQ(job.diagnose().find("implicit_sync"), nullptr);
}

TEST(ImplicitSync, IsGoneWithoutTheWaits) { EXPECT_EQ(waiting_job(0).diagnose().find("implicit_sync"), nullptr); }

TEST(ImplicitSync, AnExplicitSynchronisationIsNobodysOpAndOneFinding) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    job.copy({CopyDirection::host_to_device, MemoryKind::pinned, MemoryKind::device, 1'000, 2, 7});
    for (int i = 0; i < 30; ++i) {
      job.launch("aten::mm", "gemm", 100, 300);
      job.now = std::max(job.now, job.device_free) + 5;
      job.call("cudaDeviceSynchronize", 10);
    }
    job.end_step();
    job.silence(5);
  }
  const auto outcome = job.diagnose();
  const Finding* finding = outcome.find("implicit_sync");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->title.find("30 waits"), std::string::npos) << finding->title;
  EXPECT_NE(finding->action.title.find("synchronisation"), std::string::npos) << finding->action.title;
}

TEST(ImplicitSync, NamesTheRepairOfItsKind) {
  const auto shape = waiting_job(30, "aten::nonzero").diagnose();
  ASSERT_NE(shape.find("implicit_sync"), nullptr);
  EXPECT_NE(shape.find("implicit_sync")->action.command.find("torch.where"), std::string::npos);
}

TEST(ImplicitSync, NamesTheLineWhenFramesWereRecorded) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    for (int i = 0; i < 30; ++i) {
      job.launch("aten::mm", "gemm", 100, 300);
      const double start = job.now;
      job.wait("aten::_local_scalar_dense");
      job.frame("/home/user/train (copy)/loop.py(42): clip", start - 1, job.now + 1);
      job.silence(2);
    }
    job.end_step();
    job.silence(5);
  }
  const auto outcome = job.diagnose();
  const Finding* finding = outcome.find("implicit_sync");
  ASSERT_NE(finding, nullptr);
  ASSERT_FALSE(finding->where.empty());
  EXPECT_EQ(finding->where.front().file, "/home/user/train (copy)/loop.py");
  EXPECT_EQ(finding->where.front().line, 42);
  EXPECT_NE(finding->action.title.find("loop.py:42"), std::string::npos);
}

}  // namespace
}  // namespace accel
