#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/buffer/args_cache.h"
#include "runtime/buffer/clock.h"
#include "runtime/buffer/frame_recorder.h"
#include "runtime/buffer/names.h"

namespace accel::runtime {
namespace {

// Keeps everything that a drain hands on.
struct Kept {
  std::map<std::uint32_t, std::vector<ScopeRecord>> scopes;
  std::map<std::uint32_t, std::uint32_t> tids;
  std::uint64_t count = 0;
  bool announced_late = false;

  FrameRecorder::Sink sink() {
    return {this,
            [](void* context, std::uint32_t thread, std::uint32_t tid, const char*) {
              static_cast<Kept*>(context)->tids[thread] = tid;
            },
            [](void* context, std::uint32_t thread, const ScopeRecord& record) {
              Kept& kept = *static_cast<Kept*>(context);
              kept.announced_late |= kept.tids.count(thread) == 0;
              kept.scopes[thread].push_back(record);
              ++kept.count;
            }};
  }
};

// The recorder is never destroyed: threads keep pointers into it until they end.
FrameRecorder& recorder() {
  static FrameRecorder* const one = [] {
    choose_clock();
    auto* made = new FrameRecorder;
    made->open();
    return made;
  }();
  return *one;
}

// Registries and recorders live as long as the process, also in tests.
template <typename T>
T& immortal() {
  static auto* const kept = new std::vector<T*>;  // outlives main, so that the leak check finds what it holds
  kept->push_back(new T);
  return *kept->back();
}

void record(std::uint32_t name, std::uint64_t bytes = 0) {
  const OpenScope scope = recorder().begin(name);
  recorder().end(scope, 0, bytes);
}

TEST(Recorder, scopes_come_back_in_order_with_name_arguments_and_bytes) {
  recorder().open();
  std::thread([] {
    for (std::uint64_t i = 0; i < 100; ++i) {
      const OpenScope outer = recorder().begin(1);
      const OpenScope inner = recorder().begin(2);
      recorder().end(inner, 7, i);
      recorder().end(outer, 0, ~std::uint64_t{0});
    }
  }).join();
  Kept kept;
  recorder().drain(kept.sink());
  ASSERT_EQ(kept.scopes.size(), 1U);
  const std::vector<ScopeRecord>& scopes = kept.scopes.begin()->second;
  ASSERT_EQ(scopes.size(), 200U);
  for (std::size_t i = 0; i < scopes.size(); i += 2) {
    EXPECT_EQ(scopes[i].name, 2U);
    EXPECT_EQ(scopes[i].args, 7U);
    EXPECT_EQ(scopes[i].bytes, i / 2);
    EXPECT_EQ(scopes[i + 1].name, 1U);
    EXPECT_LE(scopes[i + 1].begin, scopes[i].begin);
    EXPECT_LE(scopes[i].end, scopes[i + 1].end);
  }
}

TEST(Recorder, a_full_ring_drops_the_new_records_and_counts_them) {
  recorder().open();
  constexpr std::uint64_t kScopes = 100000;
  std::thread([] {
    for (std::uint64_t i = 0; i < kScopes; ++i) record(1, i);
  }).join();
  Kept kept;
  EXPECT_TRUE(recorder().drain(kept.sink()));
  EXPECT_LT(kept.count, kScopes);
  EXPECT_EQ(kept.count + recorder().dropped(), kScopes);
  const std::vector<ScopeRecord>& scopes = kept.scopes.begin()->second;
  for (std::uint64_t i = 0; i < scopes.size(); ++i) ASSERT_EQ(scopes[i].bytes, i) << "the oldest are kept";
  recorder().open();
  EXPECT_EQ(recorder().dropped(), 0U);
}

TEST(Recorder, a_thousand_threads_that_come_and_go_lose_nothing_while_the_drainer_runs) {
  recorder().open();
  constexpr int kThreads = 1000;
  constexpr int kAtOnce = 50;
  constexpr std::uint64_t kScopes = 200;
  Kept kept;
  std::atomic<bool> done{false};
  std::thread drainer([&] {
    while (!done.load()) {
      recorder().drain(kept.sink());
      ::usleep(200);
    }
    recorder().drain(kept.sink());
  });
  for (int round = 0; round < kThreads / kAtOnce; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kAtOnce; ++t) {
      threads.emplace_back([] {
        for (std::uint64_t i = 0; i < kScopes; ++i) record(1, i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  done.store(true);
  drainer.join();
  EXPECT_EQ(kept.count + recorder().dropped(), kThreads * kScopes);
  EXPECT_EQ(recorder().dropped(), 0U);
  EXPECT_FALSE(kept.announced_late);
  EXPECT_EQ(kept.scopes.size(), static_cast<std::size_t>(kThreads)) << "blocks are used again, numbers are not";
  for (const auto& [thread, scopes] : kept.scopes) {
    ASSERT_EQ(scopes.size(), kScopes);
    for (std::uint64_t i = 0; i < kScopes; ++i) ASSERT_EQ(scopes[i].bytes, i);
  }
  EXPECT_LT(recorder().threads(), 200U);
}

TEST(Recorder, a_thousand_threads_at_once_stay_inside_the_budget) {
  recorder().open();
  constexpr int kThreads = 1000;
  std::mutex mutex;
  std::condition_variable changed;
  int recorded = 0;
  bool go = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      record(1);
      std::unique_lock lock(mutex);
      if (++recorded == kThreads) changed.notify_all();
      changed.wait(lock, [&] { return go; });
    });
  }
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return recorded == kThreads; });
  }
  EXPECT_LE(recorder().reserved_bytes(), FrameRecorder::kDefaultBudget);
  EXPECT_EQ(recorder().refused_threads(), 0U);
  Kept kept;
  recorder().drain(kept.sink());
  {
    const std::scoped_lock lock(mutex);
    go = true;
  }
  changed.notify_all();
  for (std::thread& thread : threads) thread.join();
  recorder().drain(kept.sink());
  EXPECT_EQ(kept.count, 1000U);
}

TEST(Recorder, threads_beyond_the_budget_record_nothing_and_are_counted) {
  FrameRecorder* const small = &immortal<FrameRecorder>();
  small->set_budget(50000);
  small->open();
  for (int t = 0; t < 3; ++t) {
    std::thread([&] {
      for (int i = 0; i < 3; ++i) {
        const OpenScope scope = small->begin(1);
        small->end(scope, 0, 0);
      }
      EXPECT_TRUE(true);
    }).join();
  }
  EXPECT_EQ(small->refused_threads() + small->threads(), 3U);
  EXPECT_GE(small->refused_threads(), 1U);
  EXPECT_LE(small->reserved_bytes(), 50000U);
}

TEST(Recorder, scopes_that_are_never_ended_do_not_pile_up_and_open_ones_can_be_shown) {
  recorder().open();
  std::thread([] {
    for (int i = 0; i < 1000; ++i) {
      const OpenScope outer = recorder().begin(1);
      (void)recorder().begin(2);  // never ended
      recorder().end(outer, 0, 0);
    }
    (void)recorder().begin(5);
    (void)recorder().begin(6);
    Kept open;
    recorder().open_scopes(open.sink());
    std::vector<std::uint32_t> names;
    for (const auto& [thread, scopes] : open.scopes) {
      for (const ScopeRecord& scope : scopes) {
        EXPECT_EQ(scope.end, ~std::uint64_t{0});
        names.push_back(scope.name);
      }
    }
    EXPECT_EQ(names, (std::vector<std::uint32_t>{5, 6}));
  }).join();
}

TEST(Recorder, a_scope_that_ends_after_the_rings_were_given_back_does_no_harm) {
  recorder().open();
  std::thread([] {
    const OpenScope scope = recorder().begin(1);
    recorder().close();
    recorder().end(scope, 0, 0);
    recorder().open();
    record(3);
    Kept kept;
    recorder().drain(kept.sink());
    EXPECT_EQ(kept.count, 1U) << "the late one is forgotten";
  }).join();
}

TEST(Recorder, a_forked_child_falls_silent) {
  recorder().open();
  record(1);
  const pid_t child = ::fork();
  if (child == 0) {
    recorder().fall_silent();
    const OpenScope scope = recorder().begin(1);
    ::_exit(scope.begin == 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  Kept kept;
  recorder().drain(kept.sink());
  EXPECT_EQ(kept.count, 1U);
}

TEST(Names, are_interned_once_and_keep_their_ids_under_many_threads) {
  NameRegistry* const names = &immortal<NameRegistry>();
  std::vector<std::vector<std::uint32_t>> ids(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) ids[t].push_back(names->intern("op", "name " + std::to_string(i)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 1; t < ids.size(); ++t) EXPECT_EQ(ids[t], ids[0]);
  EXPECT_EQ(std::set<std::uint32_t>(ids[0].begin(), ids[0].end()).size(), 2000U);
  EXPECT_EQ(names->count(), 2001U);
  for (std::size_t i = 0; i < 2000; ++i) EXPECT_EQ(names->entry(ids[0][i]).text(), "name " + std::to_string(i));
  EXPECT_NE(names->intern("annotation", "name 1"), ids[0][1]);
  EXPECT_EQ(names->entry(ids[0][1]).category(), "op");
}

TEST(Names, past_the_limit_are_one_counted_other_name) {
  NameRegistry* const names = &immortal<NameRegistry>();
  for (std::uint32_t i = 0; i < NameRegistry::kMaxNames + 10; ++i) names->intern("", std::to_string(i));
  EXPECT_EQ(names->intern("", "one more"), NameRegistry::kOther);
  EXPECT_EQ(names->entry(NameRegistry::kOther).text(), "(other names)");
  EXPECT_GT(names->refused(), 10U);
  EXPECT_EQ(names->intern("", "5"), names->intern("", "5"));
  const std::string long_text(5000, 'x');
  EXPECT_EQ(immortal<NameRegistry>().intern("", long_text), 2U);
}

TEST(Args, the_last_thousand_shapes_are_known_and_an_id_never_means_two_things) {
  auto cache = std::make_unique<ArgsCache>();
  ArgsCache::Args args;
  std::map<std::uint32_t, std::string> seen;
  std::set<std::uint32_t> ids;
  for (int i = 0; i < 100000; ++i) {
    const std::string shape = "[[" + std::to_string(i * 7919 % 5000) + ", 64]]";
    const std::uint32_t id = cache->intern(shape, "f32");
    ASSERT_NE(id, 0U);
    EXPECT_EQ(cache->intern(shape, "f32"), id);
    ids.insert(id);
    while (cache->next_unwritten(args)) {
      EXPECT_EQ(seen.count(args.id), 0U);
      seen[args.id] = std::string(args.shape, args.shape_bytes);
    }
    EXPECT_EQ(seen[id], shape);
  }
  EXPECT_EQ(ids.size(), 100000U) << "5,000 shapes in turn never hit 1,000 remembered ones";
  cache->rewind();
  std::size_t again = 0;
  while (cache->next_unwritten(args)) ++again;
  EXPECT_EQ(again, ArgsCache::kEntries);
}

TEST(Args, a_writer_that_is_behind_costs_new_shapes_not_memory) {
  auto cache = std::make_unique<ArgsCache>();
  for (std::uint32_t i = 0; i < ArgsCache::kEntries; ++i) EXPECT_NE(cache->intern(std::to_string(i), ""), 0U);
  EXPECT_EQ(cache->intern("new", ""), 0U);
  EXPECT_EQ(cache->refused(), 1U);
  EXPECT_NE(cache->intern("5", ""), 0U);
}

TEST(Clock, ticks_follow_the_monotonic_clock) {
  choose_clock();
  const ClockPair first = read_clock_pair();
  ::usleep(50000);
  const ClockPair second = read_clock_pair();
  const double seconds = static_cast<double>(second.monotonic_ns - first.monotonic_ns) / 1e9;
  const double by_ticks = static_cast<double>(second.ticks - first.ticks) / static_cast<double>(tick_hz());
  EXPECT_NEAR(by_ticks, seconds, seconds * 0.01);
  EXPECT_LT(first.uncertainty_ns, 10'000'000U);
}

}  // namespace
}  // namespace accel::runtime
