#include <gtest/gtest.h>

#include <filesystem>

#include "analysis/analysis.h"
#include "fusion/flight_recorder/agreement.h"
#include "fusion/rank_set/load_digest.h"

namespace accel::fusion {
namespace {

// Calls 10 to 29 of a group, sizes in a pattern; the trace holds calls 15 to 24.
struct Pair {
  RankDigest digest;
  FlightRecorderDump dump;
};

Pair pair() {
  Pair made;
  made.digest.rank = 1;
  made.digest.absolute_time = true;
  made.digest.names = {"all_reduce", "broadcast"};
  made.digest.groups.push_back({"0", "default_pg", {0, 1}});
  made.dump.rank = 1;
  FlightGroup group;
  group.name = "0";
  group.ranks = {0, 1};
  made.dump.groups.push_back(group);
  constexpr std::int64_t kStart = 1'700'000'000'000'000'000;
  for (std::int64_t n = 10; n < 30; ++n) {
    FlightRecord record;
    record.record_id = n;
    record.sequence = n;
    record.name = "all_reduce";
    record.dtype = "Float";
    record.in_elements = record.out_elements = 100 + n % 5;
    record.created_ns = kStart + n * 1'000'000;
    made.dump.records.push_back(record);
    if (n < 15 || n >= 25) continue;
    CommunicationEvent event;
    event.name = 0;
    event.group = 0;
    event.bytes = 4 * (100 + n % 5);
    event.launch_ns = record.created_ns + 80'000;
    made.digest.events.push_back(event);
  }
  return made;
}

DumpAgreement only(const Pair& pair) {
  const auto results = compare_with_dumps({&pair.digest, 1}, {&pair.dump, 1});
  EXPECT_EQ(results.size(), 1U);
  return results.empty() ? DumpAgreement{} : results[0];
}

TEST(FlightAgreement, FindsTheTracesCallsInTheDumpByTheirTimes) {
  const DumpAgreement found = only(pair());
  EXPECT_TRUE(found.agrees);
  EXPECT_TRUE(found.by_time);
  EXPECT_EQ(found.agreeing, 10U);
  EXPECT_EQ(found.first_sequence, 15);
  EXPECT_EQ(found.last_sequence, 24);
  EXPECT_EQ(found.sentence,
            "rank 1, group 0: 10 of 10 collectives of the trace are in the flight recorder's dump, in the same order "
            "(numbers 15 to 24)");
}

TEST(FlightAgreement, FindsThemByOrderWhereTimesSayNothing) {
  Pair made = pair();
  made.digest.absolute_time = false;
  const DumpAgreement found = only(made);
  EXPECT_TRUE(found.agrees);
  EXPECT_FALSE(found.by_time);
  EXPECT_EQ(found.first_sequence, 20);  // the last place that fits
}

TEST(FlightAgreement, ARingThatLostItsBeginningStillAgrees) {
  Pair made = pair();
  made.dump.records.erase(made.dump.records.begin(), made.dump.records.begin() + 8);
  const DumpAgreement found = only(made);
  EXPECT_TRUE(found.agrees);
  EXPECT_EQ(found.in_dump, 7U);
  EXPECT_EQ(found.calls, 10U);
  EXPECT_EQ(found.first_sequence, 18);
}

TEST(FlightAgreement, NamesTheFirstDifference) {
  Pair made = pair();
  made.digest.events[4].name = 1;
  DumpAgreement found = only(made);
  EXPECT_FALSE(found.agrees);
  EXPECT_EQ(found.agreeing, 9U);
  EXPECT_NE(
      found.sentence.find("collective 5 of the trace on: it has broadcast of 416 bytes, the dump all_reduce of 416 "
                          "bytes (number 19)"),
      std::string::npos)
      << found.sentence;
  made = pair();
  made.digest.events.erase(made.digest.events.begin() + 3);  // a lost record of the trace
  found = only(made);
  EXPECT_FALSE(found.agrees);
}

TEST(FlightAgreement, OtherRanksAndGroupsAreNotCompared) {
  Pair made = pair();
  made.dump.rank = 0;
  EXPECT_TRUE(compare_with_dumps({&made.digest, 1}, {&made.dump, 1}).empty());
  made = pair();
  made.dump.groups[0].ranks = {0, 1, 2};
  EXPECT_TRUE(compare_with_dumps({&made.digest, 1}, {&made.dump, 1}).empty());
}

TEST(FlightAgreement, HoldsForTheTracesAndDumpsOfRealJobs) {
  const std::filesystem::path shared = std::filesystem::path(ACCEL_SOURCE_DIR) / "../shared/traces/h200/nccl2";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "the shared traces are not here";
  const std::pair<const char*, std::uint64_t> jobs[] = {
      {"even", 68}, {"host_straggler", 68}, {"device_imbalance", 68}, {"unoverlapped", 128}, {"fsdp2", 96}};
  for (const auto& [name, calls] : jobs) {
    for (const char* rank : {".rank0", ".rank1"}) {
      const std::string stem = (shared / (std::string(name) + rank)).string();
      const auto digest = load_digest(stem + ".json.gz", {}, {});
      const auto dump = read_flight_recorder(stem + ".flight_recorder.json.gz");
      ASSERT_TRUE(digest && dump) << stem;
      const auto results = compare_with_dumps({&*digest, 1}, {&*dump, 1});
      ASSERT_EQ(results.size(), 1U);
      EXPECT_TRUE(results[0].agrees) << results[0].sentence;
      EXPECT_EQ(results[0].calls, calls) << results[0].sentence;
      EXPECT_TRUE(results[0].by_time);
    }
  }
}

}  // namespace
}  // namespace accel::fusion
