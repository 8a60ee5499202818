// Sections A and B of what people report: JSON that is broken or odd, and times that are.
#include <gtest/gtest.h>

#include "unit/ingest/stores.h"

namespace accel {
namespace {

using testing::count_of;
using testing::import_text;
using testing::store_of;
using testing::trace_of;

std::string op(std::string_view name, std::string_view ts = "10", std::string_view dur = "5") {
  return R"({"ph": "X", "cat": "cpu_op", "name": ")" + std::string(name) + R"(", "pid": 1, "tid": 1, "ts": )" +
         std::string(ts) + R"(, "dur": )" + std::string(dur) + "}";
}

std::string_view first_name(const TraceStore& store) { return store.text(store.slices.name.at(0)); }

TEST(OddJson, AKeyWithoutItsQuoteCostsOneEvent) {
  const std::string text = R"([{"name":"a","ph":"X","ts":1,"dur":2,"tid":0,"pid":"CPU functions"},
{"name":"add","ph":"f","ts":102.9,tid":0,"pid":"CUDA functions"},
{"name":"b","ph":"X","ts":5,"dur":2,"tid":0,"pid":"CPU functions"}])";
  const TraceStore store = store_of(text);
  EXPECT_EQ(store.slices.size(), 2U);
  ASSERT_EQ(count_of(store, NoteCode::malformed_event), 1U);
  EXPECT_EQ(store.notes.find(NoteCode::malformed_event)->where,
            "byte " + std::to_string(text.find("{\"name\":\"add\"")));
}

TEST(OddJson, WindowsPathsWithRawBackslashesAreReadAsMeant) {
  const TraceStore store = store_of(
      trace_of(op(R"(torch\cuda\__init__.py(219): _lazy_init)") + "," + op(R"(C:\Users\user\python\lib\torch)")));
  EXPECT_EQ(first_name(store), R"(torch\cuda\__init__.py(219): _lazy_init)");
  EXPECT_EQ(store.text(store.slices.name[1]), R"(C:\Users\user\python\lib\torch)");
  EXPECT_EQ(count_of(store, NoteCode::repaired_escape), 2U);
}

TEST(OddJson, EscapesThatJsonKnowsAreResolved) {
  const TraceStore store = store_of(trace_of(op(R"(a\"b\\c\/d\u00e9\ud83d\ude00\n)")));
  EXPECT_EQ(first_name(store), "a\"b\\c/d\u00e9\U0001F600\n");
  EXPECT_EQ(count_of(store, NoteCode::repaired_escape), 0U);
}

TEST(OddJson, RawControlCharactersAreKeptAndNoted) {
  const TraceStore store = store_of(trace_of(op("|||S(1): <module>\x01") + "," + op("two\nlines")));
  EXPECT_EQ(store.slices.size(), 2U);
  EXPECT_EQ(first_name(store), "|||S(1): <module>\x01");
  EXPECT_EQ(count_of(store, NoteCode::repaired_control_character), 2U);
}

TEST(OddJson, NamesThatAreNotUtf8StayDistinct) {
  const TraceStore store = store_of(trace_of(op("\xff\xfe\x80") + "," + op("\xff\xfe\x81")));
  EXPECT_EQ(store.slices.size(), 2U);
  EXPECT_NE(store.slices.name[0], store.slices.name[1]);
  EXPECT_EQ(count_of(store, NoteCode::repaired_utf8), 2U);
}

TEST(OddJson, NaNAndInfinityMeanNotRecorded) {
  for (const std::string_view word : {"inf", "-inf", "nan", "NaN", "Infinity", "-Infinity"}) {
    const TraceStore store = store_of(trace_of(
        R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{"device":0,"stream":7,"blocks per SM": )" +
        std::string(word) + R"j(, "memory bandwidth (GB/s)": )j" + std::string(word) + "}}"));
    ASSERT_EQ(store.device_events.size(), 1U) << word;
    EXPECT_LT(store.launch_configs.blocks_per_sm[0], 0) << word;
    EXPECT_EQ(count_of(store, NoteCode::not_a_number), 1U) << word;
    EXPECT_EQ(count_of(store, NoteCode::malformed_event), 0U) << word;
  }
}

TEST(OddJson, TwentyDigitNumbersAreNotWrapped) {
  const TraceStore store = store_of(trace_of(
      R"({"ph":"X","cat":"cuda_runtime","name":"c","pid":123456789012345678901,"tid":139627874611776,"ts":1,"dur":2,"args":{"correlation":99999999999999999999}})"));
  ASSERT_EQ(store.slices.size(), 1U);
  EXPECT_EQ(store.threads.pid[0], kNotRecorded);
  EXPECT_EQ(store.text(store.threads.pid_text[0]), "123456789012345678901");
  EXPECT_EQ(store.threads.tid[0], 139627874611776);
  EXPECT_EQ(store.call_details.correlation[0], kNotRecorded);
  EXPECT_EQ(count_of(store, NoteCode::number_out_of_range), 1U);
}

TEST(OddJson, MembersOfTheDocumentMayStandInAnyOrder) {
  const TraceStore store = store_of(
      R"({"a":1,"b":"x","c":[1,{"ph":"X"}],"d":{"traceEvents":[1]},"e":null,"f":true,"traceEvents":[)" + op("a") +
      R"(],"g":[[]],"deviceProperties":[{"id":0,"name":"H200","numSms":132}],"distributedInfo":{"backend":"nccl","rank":3,"world_size":8}})");
  EXPECT_EQ(store.slices.size(), 1U);
  EXPECT_EQ(store.process.rank, 3);
  EXPECT_EQ(store.process.world_size, 8);
  EXPECT_EQ(store.process.backend, "nccl");
  ASSERT_EQ(store.process.devices.size(), 1U);
  EXPECT_EQ(store.process.devices[0].sms, 132);
}

TEST(OddJson, ATextCutAnywhereKeepsEveryCompleteEvent) {
  const std::string whole = trace_of(op("first", "1.5") + ",\n" + op("second", "20") + ",\n" + op("third", "40"));
  const std::size_t second_ends = whole.find("},", whole.find("second")) + 1;
  for (std::size_t cut = second_ends; cut < whole.find("]}"); ++cut) {
    const TraceStore store = store_of(std::string_view(whole).substr(0, cut));
    EXPECT_GE(store.slices.size(), 2U) << cut;
    EXPECT_EQ(count_of(store, NoteCode::truncated), 1U) << cut;
    EXPECT_EQ(store.notes.find(NoteCode::truncated)->where, "byte " + std::to_string(cut));
    EXPECT_EQ(count_of(store, NoteCode::malformed_event), 0U) << cut;
  }
}

TEST(OddJson, TwoWritersInOneFileAreNamedAndOnlyTheFirstIsKept) {
  std::string first = R"({"schemaVersion": 1, "traceEvents": [)";
  std::string second = first;
  for (int i = 0; i < 40; ++i) {
    first += op("of the first", std::to_string(i * 10)) + ",";
    second += op("of the second", std::to_string(i * 10)) + ",";
  }
  for (const std::size_t lost : {0U, 1U, 30U, 75U}) {
    const TraceStore store = store_of(first.substr(0, first.size() - lost) + second + op("last") + "]}");
    EXPECT_EQ(count_of(store, NoteCode::interleaved_writers), 1U) << lost;
    EXPECT_GE(store.slices.size(), 39U) << lost;
    for (const StringId name : store.slices.name) EXPECT_EQ(store.text(name), "of the first");
  }
}

TEST(OddJson, EventsOfAnotherProcessBehindABreakAreAnotherWriters) {
  std::string text = R"({"schemaVersion": 1, "traceEvents": [)";
  for (int i = 0; i < 40; ++i) text += op("mine", std::to_string(i * 10)) + ",";
  text += R"({"ph": "X", "cat": "cpu_op", "name": "at)";
  for (int i = 0; i < 40; ++i) {
    std::string foreign = op("theirs", std::to_string(i * 10));
    foreign.replace(foreign.find("\"pid\": 1"), 8, "\"pid\": 2");
    text += foreign + ",";
  }
  const TraceStore store = store_of(text + op("x") + "]}");
  EXPECT_EQ(count_of(store, NoteCode::interleaved_writers), 0U) << "the first process comes back: it is damage";
  text.back() = ']';
  const TraceStore alone = store_of(text + "}");
  EXPECT_EQ(count_of(alone, NoteCode::interleaved_writers), 1U);
  EXPECT_EQ(alone.slices.size(), 40U);
}

TEST(OddJson, TwoRanksInOneFileAreRefused) {
  const auto call = [](int pid) {
    return R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":)" + std::to_string(pid) +
           R"(,"tid":1,"ts":1,"dur":2,"args":{"correlation":5}})";
  };
  const Result<TraceStore> store = import_text(trace_of(call(1) + "," + call(2)));
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, ErrorCode::unreadable);
  EXPECT_NE(store.error().message.find("more than one rank"), std::string::npos);
}

TEST(OddJson, HalfAnEventInTheMiddleCostsThatEvent) {
  const TraceStore store = store_of(trace_of(op("a") + "," + op("destroyed").substr(0, 60) + op("b") + "," + op("c")));
  EXPECT_EQ(store.slices.size(), 3U);
  EXPECT_EQ(count_of(store, NoteCode::malformed_event), 1U);
  EXPECT_EQ(count_of(store, NoteCode::truncated), 0U);
}

TEST(OddJson, ABracketThatNeverClosesCostsOneEvent) {
  const TraceStore store = store_of(
      trace_of(op("a") + R"(,{"ph":"X","name":"x","args":{"Input Dims": [[[[1,2}},)" + op("b") + "," + op("c")));
  EXPECT_EQ(store.slices.size(), 3U);
  EXPECT_EQ(count_of(store, NoteCode::malformed_event), 1U);
}

TEST(OddJson, ADamagedHeadIsNoReasonToLoseTheEvents) {
  const TraceStore store =
      store_of("\x01\x02 garbage \"schemaVersion\": 1, \"traceEvents\": [" + op("a") + "," + op("b") + "]}");
  EXPECT_EQ(store.slices.size(), 2U);
  EXPECT_EQ(count_of(store, NoteCode::malformed_event), 1U);
}

TEST(OddTimes, AreReadAsDecimalTextToTheNanosecond) {
  const TraceStore store =
      store_of(trace_of(op("a", "1711964646123456.789", "0.211") + "," + op("b", "1711964646123457", "1e1") + "," +
                        op("c", "\"1711964646123468.5\"", "\"2\"")));
  ASSERT_EQ(store.slices.size(), 3U);
  EXPECT_EQ(store.slices.start_ns[0], 1711964646123456789);
  EXPECT_EQ(store.slices.start_ns[0] + store.slices.dur_ns[0], store.slices.start_ns[1]);
  EXPECT_EQ(store.slices.dur_ns[1], 10'000);
  EXPECT_EQ(store.slices.start_ns[2], 1711964646123468500);
}

TEST(OddTimes, DigitsBelowANanosecondAreRoundedAndCounted) {
  const TraceStore store = store_of(trace_of(op("a", "1.0004", "2.0005")));
  EXPECT_EQ(store.slices.start_ns[0], 1000);
  EXPECT_EQ(store.slices.dur_ns[0], 2000);
  EXPECT_EQ(count_of(store, NoteCode::finer_than_ns), 2U);
}

TEST(OddTimes, NegativeDurationsAreUnfinishedAndCountNoTime) {
  const TraceStore store = store_of(trace_of(op("a", "10", "-1") + "," + op("b", "20", "-1661938466265032")));
  EXPECT_EQ(store.slices.dur_ns[0], 0);
  EXPECT_EQ(store.slices.flags[0], kSliceUnfinished);
  EXPECT_EQ(count_of(store, NoteCode::negative_duration), 2U);
}

TEST(OddTimes, AKernelAtTimeZeroIsKeptOutOfTheRange) {
  const TraceStore store = store_of(trace_of(
      R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1615207264505000,"dur":5,"args":{"correlation":5}},
         {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":0,"dur":0,"args":{"device":0,"stream":7,"correlation":5}})"));
  EXPECT_EQ(store.device_events.flags[0], kDeviceNoTiming);
  EXPECT_TRUE(store.device_events.launch[0].valid());
  EXPECT_EQ(store.time_range.length_ns(), 5000);
  EXPECT_EQ(count_of(store, NoteCode::device_no_timing), 1U);
}

TEST(OddTimes, TheBaseMayStandBehindTheEvents) {
  const TraceStore store =
      store_of(R"({"traceEvents":[)" + op("a", "1.5") + R"(],"baseTimeNanoseconds": 1790857026000000000})");
  EXPECT_EQ(store.slices.start_ns[0], 1790857026000001500);
  EXPECT_EQ(count_of(store, NoteCode::no_time_base), 0U);
}

TEST(OddTimes, ATimeThatWouldOverflowCostsThatEventOnly) {
  const TraceStore store = store_of(trace_of(op("a", "9e18") + "," + op("b", "1", "9e18") + "," +
                                             op("c", "99999999999999999999999999") + "," + op("d")));
  EXPECT_EQ(store.slices.size(), 2U);
  EXPECT_EQ(count_of(store, NoteCode::missing_field), 2U);
  EXPECT_EQ(count_of(store, NoteCode::number_out_of_range), 3U);
}

}  // namespace
}  // namespace accel
