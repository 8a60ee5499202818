#include "ingest/flight_recorder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "ingest/json_members.h"

namespace accel {
namespace {

const std::string kDump =
    R"({"comm_lib_version": "2.28.9", "entries": [
 {"collective_seq_id": 4, "input_dtypes": ["Float"], "input_sizes": [[8, 4], [2]], "is_p2p": false, "op_id": 4,
  "output_dtypes": ["Float"], "output_sizes": [[34]], "p2p_seq_id": 0, "pg_id": 0, "process_group": ["0", "default_pg"],
  "profiling_name": "nccl:all_reduce", "record_id": 11, "retired": false, "state": "started", "timeout_ms": 600000,
  "time_created_ns": 1795965788115706555, "time_discovered_completed_ns": null, "time_discovered_started_ns": 0,
  "frames": [{"name": "all_reduce", "filename": "/x/torch/distributed/c10d.py", "line": 9},
             {"name": "step", "filename": "/home/me/train.py", "line": 41}]},
 {"collective_seq_id": "3", "process_group": ["0", "default_pg"], "profiling_name": "nccl:send 1->2", "record_id": 10,
  "input_sizes": [[5]], "output_sizes": [[5]], "state": "completed", "is_p2p": true, "p2p_seq_id": "1", "duration_ms": 0.5},
 7,
 {"state": "completed"}],
 "pg_config": {"0": {"desc": "default_pg", "name": "0", "ranks": "[2, 0, 1]"}},
 "pg_status": {"0": {"last_completed_collective": "3", "last_enqueued_collective": 4, "last_started_collective": "-1"}},
 "version": "2.10"})";

TEST(FlightRecorder, ReadsCallsGroupsAndStates) {
  ASSERT_TRUE(is_flight_recorder(kDump));
  const auto dump = parse_flight_recorder(kDump, "run/x.rank2.json");
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->rank, 2);
  EXPECT_EQ(dump->version, "2.10");
  EXPECT_EQ(dump->library_version, "2.28.9");
  EXPECT_FALSE(dump->cut);
  EXPECT_EQ(dump->unreadable_records, 2U);
  ASSERT_EQ(dump->groups.size(), 1U);
  EXPECT_EQ(dump->groups[0].ranks, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(dump->groups[0].last_enqueued, 4);
  EXPECT_EQ(dump->groups[0].last_completed, 3);
  EXPECT_EQ(dump->groups[0].last_started, kNotRecorded);
  ASSERT_EQ(dump->records.size(), 2U);
  const FlightRecord& send = dump->records[0];  // by the order of the calls
  EXPECT_EQ(send.name, "send");
  EXPECT_TRUE(send.point_to_point);
  EXPECT_EQ(send.source, 1);
  EXPECT_EQ(send.destination, 2);
  EXPECT_EQ(send.sequence, 3);
  EXPECT_EQ(send.p2p_sequence, 1);
  EXPECT_EQ(send.duration_ms, 0.5);
  const FlightRecord& reduce = dump->records[1];
  EXPECT_EQ(reduce.name, "all_reduce");
  EXPECT_EQ(reduce.in_elements, 34);
  EXPECT_EQ(reduce.state, FlightState::started);
  EXPECT_EQ(reduce.created_ns, 1795965788115706555);
  EXPECT_EQ(reduce.completed_ns, kNotRecorded);
  EXPECT_EQ(reduce.started_ns, kNotRecorded);
  EXPECT_EQ(reduce.frame, "train.py:41 step");
}

TEST(FlightRecorder, KeepsWhatCameBeforeACut) {
  for (std::size_t length = 0; length < kDump.size(); ++length) {
    const auto dump = parse_flight_recorder(std::string_view(kDump).substr(0, length), "rank0");
    if (!dump) continue;
    EXPECT_TRUE(dump->cut);
    EXPECT_LE(dump->records.size(), 2U);
  }
  const std::size_t second = kDump.find(" {\"collective_seq_id\": \"3\"");
  const auto dump = parse_flight_recorder(kDump.substr(0, second + 20), "rank0");
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->records.size(), 1U);
  EXPECT_TRUE(dump->cut);
}

TEST(FlightRecorder, TakesTheRankFromTheNameInEveryForm) {
  EXPECT_EQ(rank_of_dump_name("a/even.rank1.flight_recorder.json.gz"), 1);
  EXPECT_EQ(rank_of_dump_name("nccl_trace_rank_17"), 17);
  EXPECT_EQ(rank_of_dump_name("nccl_trace_rank_container-node02_5"), 5);
  EXPECT_EQ(rank_of_dump_name("/rank9/dump.json"), std::nullopt);
  EXPECT_EQ(rank_of_dump_name("rank99999999999"), std::nullopt);
  EXPECT_EQ(rank_of_dump_name(""), std::nullopt);
}

TEST(FlightRecorder, RefusesOtherContent) {
  for (const std::string_view text :
       {"", "{", "[]", "{\"traceEvents\":[]}", "{\"pg_config\":{}}", "{\"a\":\"", "{\"a\":1,}", "{{{{", "{\"a\" 1}"}) {
    const auto dump = parse_flight_recorder(text, "x");
    ASSERT_FALSE(dump) << text;
    EXPECT_EQ(dump.error().code, ErrorCode::not_a_trace);
  }
  EXPECT_TRUE(parse_flight_recorder(R"({"entries": 3})", "x"));
  EXPECT_FALSE(is_flight_recorder(R"({"traceEvents": [], "entries": [], "pg_config": 1})"));
  const std::string deep = "{\"entries\": [" + std::string(1000000, '[');
  const auto dump = parse_flight_recorder(deep, "x");
  ASSERT_TRUE(dump);
  EXPECT_TRUE(dump->cut);
  EXPECT_TRUE(dump->records.empty());
}

TEST(FlightRecorder, ReadsTheDumpsOfRealJobs) {
  const std::filesystem::path shared = std::filesystem::path(ACCEL_SOURCE_DIR) / "../shared/traces/h200";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << "the shared traces are not here";
  const auto dump = read_flight_recorder(shared / "nccl2/unoverlapped.rank1.flight_recorder.json.gz");
  ASSERT_TRUE(dump) << dump.error().message;
  EXPECT_EQ(dump->records.size(), 1121U);
  EXPECT_EQ(dump->rank, 1);
  EXPECT_EQ(dump->groups.at(0).ranks, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(dump->records.back().state, FlightState::completed);
  EXPECT_FALSE(read_flight_recorder(shared / "nccl2/unoverlapped.rank1.json.gz"));
}

TEST(JsonMembers, AreGivenOneByOne) {
  std::string seen;
  EXPECT_TRUE(each_member(R"( {"a": [1, "]"], "b\"": {"c": "}"} , "d": tru, "e":-1.5})",
                          [&](auto key, auto value) { seen += std::string(key) + "=" + std::string(value) + ";"; }));
  EXPECT_EQ(seen, R"(a=[1, "]"];b\"={"c": "}"};d=tru;e=-1.5;)");
  seen.clear();
  EXPECT_FALSE(each_element("[1, [2, 3], \"x", [&](auto value) { seen += std::string(value) + ";"; }));
  EXPECT_EQ(seen, "1;[2, 3];");
}

}  // namespace
}  // namespace accel
