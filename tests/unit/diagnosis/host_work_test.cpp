#include "diagnosis/host_work.h"

#include "diagnosis/facts.h"
#include "support/synthetic_job.h"

namespace accel {
namespace {

using test::SyntheticJob;

// Small kernels, and in some of the steps a stretch without any record.
SyntheticJob job_with_stretch(double stretch_us, int every, int first_position = 10, int move = 0) {
  SyntheticJob job;
  for (int step = 0; step < 8; ++step) {
    job.begin_step();
    const int position = first_position + move * step;
    for (int i = 0; i < 100; ++i) {
      job.launch("aten::op" + std::to_string(i), "add", 20, 5);
      if (i == position && step % every == 0) job.silence(stretch_us);
    }
    job.end_step();
    job.silence(5);
  }
  return job;
}

HostWork host_work_of(SyntheticJob job) {
  const auto outcome = job.diagnose();
  return gather_facts(outcome.store, outcome.results).host_work;
}

TEST(HostWork, AStretchInOnePlaceOfEveryStepIsHostWork) {
  const HostWork work = host_work_of(job_with_stretch(5'000, 1));
  ASSERT_EQ(work.groups.size(), 1U);
  EXPECT_EQ(work.groups[0].count, 8U);
  EXPECT_NEAR(work.ns_per_step, 5e6, 0.1e6);
}

TEST(HostWork, AStretchOfEveryFourthStepIsHostWork) {
  const HostWork work = host_work_of(job_with_stretch(20'000, 4));
  ASSERT_EQ(work.groups.size(), 1U);
  EXPECT_EQ(work.groups[0].count, 2U);
}

TEST(HostWork, StretchesAtEverChangingPlacesAreAHostThatIsTakenAway) {
  EXPECT_TRUE(host_work_of(job_with_stretch(600, 1, 5, 11)).groups.empty());
}

TEST(HostWork, ShortPythonBetweenLaunchesIsLaunching) {
  EXPECT_TRUE(host_work_of(job_with_stretch(150, 1)).groups.empty());
}

TEST(HostWork, TimeInTheLoaderIsNotHostWork) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    const double start = job.now;
    job.silence(10'000);
    job.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", start, job.now);
    for (int i = 0; i < 50; ++i) job.launch("aten::add", "add", 20, 5);
    job.end_step();
    job.silence(5);
  }
  EXPECT_TRUE(host_work_of(std::move(job)).groups.empty());
}

TEST(HostWork, AWaitForTheDeviceIsNotHostWork) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    for (int i = 0; i < 50; ++i) job.launch("aten::add", "add", 20, 5);
    job.call("cudaDeviceSynchronize", 3'000);
    job.end_step();
    job.silence(5);
  }
  EXPECT_TRUE(host_work_of(std::move(job)).groups.empty());
}

}  // namespace
}  // namespace accel
