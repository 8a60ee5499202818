#include <gtest/gtest.h>

#include <filesystem>

#include "fusion/flight_recorder/progress.h"

namespace accel::fusion {
namespace {

// A dump of one rank with all-reduces `first` to `last`, completed up to `completed`.
FlightRecorderDump dump(std::int64_t rank, std::int64_t first, std::int64_t last, std::int64_t completed,
                        std::vector<std::int64_t> ranks = {0, 1, 2, 3}, FlightState pending = FlightState::started) {
  FlightRecorderDump made;
  made.source = "rank" + std::to_string(rank);
  made.rank = rank;
  FlightGroup group;
  group.name = "0";
  group.description = "default_pg";
  group.ranks = std::move(ranks);
  made.groups.push_back(group);
  for (std::int64_t sequence = first; sequence <= last; ++sequence) {
    FlightRecord record;
    record.record_id = sequence;
    record.sequence = sequence;
    record.name = "all_reduce";
    record.dtype = "Float";
    record.in_elements = 1024;
    record.state = sequence <= completed ? FlightState::completed : pending;
    record.frame = "train.py:41 step";
    made.records.push_back(record);
  }
  return made;
}

using Ranks = std::vector<std::int64_t>;

TEST(FlightProgress, NamesTheRanksThatAreBehindNotThoseAhead) {
  std::vector<FlightRecorderDump> dumps;
  dumps.reserve(4);
  for (std::int64_t rank = 0; rank < 4; ++rank) dumps.push_back(dump(rank, 600, rank == 2 ? 640 : 641, 640));
  const FlightReport report = compare_dumps(dumps);
  ASSERT_EQ(report.groups.size(), 1U);
  const GroupProgress& group = report.groups[0];
  EXPECT_EQ(group.state, GroupState::behind);
  EXPECT_EQ(group.sequence, 641);
  EXPECT_EQ(group.culprits, Ranks{2});
  EXPECT_EQ(group.sentence,
            "default_pg (group 0): ranks 0, 1, 3 wait in collective 641, all_reduce of 1024 Float (train.py:41 step), "
            "which rank 2 has not issued (last issued: rank 2: 640).");
  EXPECT_NE(group.sentence_zh.find("rank 2 尚未发起"), std::string::npos);
}

TEST(FlightProgress, RingBuffersThatBeginAndEndElsewhereAreNoFault) {
  const FlightRecorderDump dumps[] = {dump(0, 5, 10, 10, {0, 1}), dump(1, 8, 13, 13, {0, 1})};
  const FlightReport report = compare_dumps(dumps);
  ASSERT_EQ(report.groups.size(), 1U);
  EXPECT_EQ(report.groups[0].state, GroupState::complete);
  EXPECT_TRUE(report.groups[0].culprits.empty());
  EXPECT_EQ(report.groups[0].sentence,
            "default_pg (group 0): nothing is pending; 6 collectives in each dump, all completed.");
}

TEST(FlightProgress, GroupsOfOneNameAndOtherRanksAreOtherGroups) {
  FlightRecorderDump dumps[] = {dump(0, 1, 9, 9, {0, 1}), dump(2, 1, 4, 4, {2, 3})};
  const FlightReport report = compare_dumps(dumps);
  ASSERT_EQ(report.groups.size(), 2U);
  EXPECT_EQ(report.groups[0].state, GroupState::complete);
  EXPECT_EQ(report.groups[0].ranks_without_dump, Ranks{1});
}

TEST(FlightProgress, ARankWithoutADumpIsTheFirstSuspect) {
  const FlightRecorderDump dumps[] = {dump(0, 1, 9, 8), dump(1, 1, 9, 8), dump(3, 1, 9, 8)};
  const FlightReport report = compare_dumps(dumps);
  EXPECT_EQ(report.groups[0].state, GroupState::in_progress);
  EXPECT_EQ(report.groups[0].ranks_without_dump, Ranks{2});
  EXPECT_NE(report.groups[0].sentence.find("There is no dump of rank 2: it is the first suspect."), std::string::npos);
}

TEST(FlightProgress, ADeviceThatHasNotStartedIsNamed) {
  FlightRecorderDump dumps[] = {dump(0, 1, 9, 8, {0, 1}), dump(1, 1, 9, 8, {0, 1}, FlightState::scheduled)};
  EXPECT_EQ(compare_dumps(dumps).groups[0].culprits, Ranks{1});
  dumps[0] = dump(0, 1, 9, 8, {0, 1}, FlightState::scheduled);  // nothing notes starts: nobody is told apart
  EXPECT_TRUE(compare_dumps(dumps).groups[0].culprits.empty());
}

TEST(FlightProgress, NamesTheFirstCollectiveInWhichRanksDisagree) {
  std::vector<FlightRecorderDump> dumps;
  dumps.reserve(4);
  for (std::int64_t rank = 0; rank < 4; ++rank) dumps.push_back(dump(rank, 1, 9, 6));
  dumps[3].records[6].in_elements = 2048;
  dumps[3].records[7].name = "broadcast";
  const FlightReport report = compare_dumps(dumps);
  EXPECT_EQ(report.groups[0].state, GroupState::mismatch);
  EXPECT_EQ(report.groups[0].sequence, 7);
  EXPECT_EQ(report.groups[0].culprits, Ranks{3});
  EXPECT_NE(report.groups[0].sentence.find("0 to 2: all_reduce of 1024 Float; 3: all_reduce of 2048 Float"),
            std::string::npos);
  // One against one: nobody knows who is right.
  const FlightRecorderDump two[] = {dumps[0], dumps[3]};
  EXPECT_TRUE(compare_dumps(two).groups[0].culprits.empty());
}

TEST(FlightProgress, UnevenSplitsAreNoDisagreement) {
  FlightRecorderDump dumps[] = {dump(0, 1, 2, 2, {0, 1}), dump(1, 1, 2, 2, {0, 1})};
  for (FlightRecorderDump& one : dumps) {
    for (FlightRecord& record : one.records) record.name = "all_to_all_single";
  }
  dumps[1].records[0].in_elements = 4;
  EXPECT_EQ(compare_dumps(dumps).groups[0].state, GroupState::complete);
}

TEST(FlightProgress, SendsAndReceivesAreMappedToRanksOfTheJob) {
  FlightRecorderDump dumps[] = {dump(4, 1, 0, 0, {4, 6}), dump(6, 1, 0, 0, {4, 6})};
  FlightRecord record;
  record.name = "recv";
  record.point_to_point = true;
  record.source = 1;
  record.destination = 0;
  record.state = FlightState::started;
  dumps[0].records.push_back(record);
  const FlightReport alone = compare_dumps(dumps);
  ASSERT_EQ(alone.transfers.size(), 1U);
  EXPECT_EQ(alone.transfers[0].sentence,
            "Rank 4 waits to receive from rank 6, which does not wait in its half: it has not come to it.");
  record.name = "send";
  dumps[1].records.push_back(record);
  const FlightReport both = compare_dumps(dumps);
  ASSERT_EQ(both.transfers.size(), 2U);
  EXPECT_TRUE(both.transfers[0].peer_waits_too);
  EXPECT_TRUE(both.transfers[1].peer_waits_too);
}

TEST(FlightProgress, SaysWhatIsOddAboutTheDumps) {
  FlightRecorderDump dumps[] = {dump(0, 1, 3, 3), dump(0, 1, 2, 2), dump(1, 1, 3, 3)};
  dumps[2].rank.reset();
  dumps[2].cut = true;
  dumps[0].records[0].duration_ms = 0.1;
  const FlightReport report = compare_dumps(dumps);
  ASSERT_EQ(report.remarks.size(), 4U);
  EXPECT_NE(report.remarks[0].find("TORCH_NCCL_ENABLE_TIMING"), std::string::npos);
  EXPECT_NE(report.remarks[1].find("second dump of rank 0"), std::string::npos);
  EXPECT_EQ(report.groups[0].progress.size(), 2U);
  EXPECT_NE(flight_text(report, false).find("Flight recorder: 3 dumps (rank0, ...)\n"), std::string::npos);
  EXPECT_EQ(flight_text(compare_dumps({}), true), "飞行记录器转储：0 份（）\n");
}

TEST(FlightProgress, DumpsOfSeveralJobsAreTakenApartByTheirNames) {
  FlightRecorderDump dumps[] = {dump(0, 1, 3, 3), dump(1, 1, 3, 3), dump(0, 1, 3, 3), dump(1, 1, 3, 3)};
  const char* names[] = {"x/even.rank0.json", "x/late.rank1.json", "x/late.rank0.json", "x/even.rank1.json"};
  for (std::size_t i = 0; i < 4; ++i) dumps[i].source = names[i];
  using Jobs = std::vector<std::vector<std::size_t>>;
  EXPECT_EQ(jobs_of_dumps(std::span(dumps).first(2)), (Jobs{{0, 1}}));
  EXPECT_EQ(jobs_of_dumps(dumps), (Jobs{{0, 3}, {1, 2}}));
}

TEST(FlightProgress, FindsNothingPendingInTheDumpsOfRealJobs) {
  const std::filesystem::path shared = std::filesystem::path(ACCEL_SOURCE_DIR) / "../shared/traces/h200/nccl2";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "the shared traces are not here";
  for (const char* name : {"even", "host_straggler", "device_imbalance", "unoverlapped", "fsdp2"}) {
    std::vector<FlightRecorderDump> dumps;
    for (const char* rank : {".rank0", ".rank1"}) {
      auto read = read_flight_recorder(shared / (std::string(name) + rank + ".flight_recorder.json.gz"));
      ASSERT_TRUE(read);
      dumps.push_back(std::move(*read));
    }
    const FlightReport report = compare_dumps(dumps);
    ASSERT_EQ(report.groups.size(), 1U) << name;
    EXPECT_EQ(report.groups[0].state, GroupState::complete) << report.groups[0].sentence;
    EXPECT_TRUE(report.remarks.empty());
  }
}

}  // namespace
}  // namespace accel::fusion
