#include "support/synthetic_job.h"
#include "trace/python_stacks.h"

namespace accel {
namespace {

using test::SyntheticJob;

// Five steps of `load_us` in the loader and 40 kernels of 100 us, launched ahead of the device.
SyntheticJob loading_job(std::string_view loader, double load_us, int kernels = 40) {
  SyntheticJob job;
  for (int step = 0; step < 5; ++step) {
    job.begin_step();
    const double start = job.now;
    job.silence(load_us);
    job.range(loader, start, job.now);
    for (int i = 0; i < kernels; ++i) job.launch("aten::mm", "gemm", 20, 100);
    job.end_step();
    job.silence(5);
  }
  return job;
}

constexpr std::string_view kSingle = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
constexpr std::string_view kMulti = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

TEST(DataloaderStarvation, FiresWithTheIdleTimeInsideTheLoader) {
  const auto outcome = loading_job(kSingle, 12'000).diagnose();
  const Finding* finding = outcome.find("dataloader_starvation");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(&outcome.diagnosis.findings.front(), finding);
  EXPECT_EQ(finding->severity, FindingSeverity::critical);
  // The device still works for about 3.2 ms after the host has launched a step; the loader keeps it waiting for the
  // rest.
  EXPECT_NEAR(finding->cost_ms_per_step, 12 - 3.2, 0.9);
  EXPECT_EQ(outcome.diagnosis.verdict.bound_by, BoundBy::data_loading);
  EXPECT_NE(finding->action.command.find("num_workers"), std::string::npos);
  EXPECT_FALSE(finding->where.empty());
  EXPECT_FALSE(finding->evidence.front().refs.empty());
}

TEST(DataloaderStarvation, IsSilentWhenTheDeviceStillHasWork) {
  const auto outcome = loading_job(kSingle, 2'000).diagnose();
  EXPECT_FALSE(outcome.fires("dataloader_starvation"));
}

TEST(DataloaderStarvation, IsGoneWithoutTheLoaderRange) {
  const auto outcome = loading_job("aten_stage", 12'000).diagnose();
  EXPECT_EQ(outcome.find("dataloader_starvation"), nullptr);
}

TEST(DataloaderStarvation, NamesTheRepairOfItsKind) {
  const auto single = loading_job(kSingle, 12'000).diagnose();
  const auto multi = loading_job(kMulti, 12'000).diagnose();
  ASSERT_NE(single.find("dataloader_starvation"), nullptr);
  ASSERT_NE(multi.find("dataloader_starvation"), nullptr);
  EXPECT_NE(single.find("dataloader_starvation")->action.detail.find("main thread"), std::string::npos);
  EXPECT_NE(multi.find("dataloader_starvation")->action.detail.find("not in this capture"), std::string::npos);
}

TEST(DataloaderStarvation, SuggestsTheWorkersThatTheTimesCallFor) {
  // Loading takes 20 ms and the rest of a step just under 4: six workers keep up, and one is spare.
  const auto outcome = loading_job(kSingle, 20'000).diagnose();
  const Finding* finding = outcome.find("dataloader_starvation");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->action.command.find("min(7,"), std::string::npos) << finding->action.command;
}

TEST(DataloaderStarvation, KnowsARangeThatTheUserNamed) {
  const auto outcome = loading_job("data_loading", 12'000).diagnose();
  EXPECT_TRUE(outcome.fires("dataloader_starvation"));
}

// loading_job(loader, 12'000) with stacks at even distances in each wait, three of four in decode().
SyntheticJob::Outcome sampled_job(std::string_view loader, bool workers, int samples) {
  SyntheticJob::Outcome outcome{loading_job(loader, 12'000).store(), {}, {}};
  const std::string top = "/home/me/train.py(90): <module>";
  const std::string next = "torch/utils/data/dataloader.py(725): _BaseDataLoaderIter.__next__";
  const std::string worker = "torch/utils/data/_utils/worker.py(374): _worker_loop";
  PythonStacks stacks;
  const auto add = [&](double at_us, const std::vector<std::string>& frames, std::int64_t pid, std::uint8_t state) {
    std::uint32_t inner = PythonStacks::kNone;
    for (const std::string& frame : frames) {
      stacks.frames.push_back({inner, frame});
      inner = static_cast<std::uint32_t>(stacks.frames.size() - 1);
    }
    const std::int64_t time = outcome.store.time_range.start_ns + static_cast<std::int64_t>(at_us * 1000);
    stacks.samples.push_back({time, pid, pid, inner, state});
  };
  for (int step = 0; step < 5; ++step) {
    for (int i = 0; i < samples; ++i) {
      const double at = step * (12'000 + 40 * 20 + 5) + 12'000.0 * (i + 0.5) / samples;
      const bool augments = i % 4 == 3;
      add(at,
          {top, workers ? worker : next, "torch/utils/data/_utils/fetch.py(54): _MapDatasetFetcher.fetch",
           "/home/me/data.py(50): Pictures.__getitem__",
           augments ? "/home/me/data.py(30): augment" : "/home/me/data.py(12): decode"},
          workers ? 99 : 1, augments ? 1 : 2);
      if (!workers) continue;
      // A worker without work, and this process: neither tells where the time goes.
      add(at, {top, worker, "multiprocessing/queues.py(113): Queue.get"}, 98, 2);
      add(at, {top, next}, 1, 2);
    }
  }
  outcome.store.process.options[std::string(kPythonStacks)] = stacks.to_text();
  outcome.results = std::move(*run_analyses(outcome.store, {}));
  outcome.diagnosis = diagnose(outcome.store, outcome.results, {});
  return outcome;
}

TEST(DataloaderStarvation, NamesTheFunctionThatMostOfTheWaitGoesInto) {
  for (const bool workers : {false, true}) {
    const auto outcome = sampled_job(workers ? kMulti : kSingle, workers, 20);
    const Finding* finding = outcome.find("dataloader_starvation");
    ASSERT_NE(finding, nullptr);
    EXPECT_NE(finding->title.find("75 % of it in decode at data.py:12"), std::string::npos) << finding->title;
    const auto place = std::find_if(finding->where.begin(), finding->where.end(),
                                    [](const Location& where) { return where.name.ends_with("): decode"); });
    ASSERT_NE(place, finding->where.end());
    EXPECT_EQ(place->file, "/home/me/data.py");
    EXPECT_EQ(place->line, 12);
    EXPECT_NE(finding->action.detail.find("decode() at /home/me/data.py:12"), std::string::npos);
    EXPECT_EQ(finding->action.detail.find("py-spy"), std::string::npos) << "the stacks are known";
    const auto share = [&](std::string_view function) {
      for (const auto& evidence : finding->evidence) {
        if (evidence.text.starts_with("share of the wait in " + std::string(function))) return evidence.value;
      }
      return -1.0;
    };
    EXPECT_NEAR(share("Pictures.__getitem__"), 100, 0.01);
    EXPECT_NEAR(share("augment"), 25, 0.01);
  }
}

TEST(DataloaderStarvation, SaysNoShareOfFewSamples) {
  const auto outcome = sampled_job(kSingle, false, 2);
  const Finding* finding = outcome.find("dataloader_starvation");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->title.find("decode"), std::string::npos);
}

}  // namespace
}  // namespace accel
