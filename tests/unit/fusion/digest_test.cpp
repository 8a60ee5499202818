#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "fusion/digest/collective_name.h"
#include "fusion/digest/digest_file.h"
#include "fusion/digest/make_digest.h"
#include "fusion/rank_set/load_digest.h"
#include "unit/analysis/small_trace.h"
#include "unit/fusion/captures.h"

namespace accel::fusion {
namespace {

// Two steps of 1 ms: a kernel, 200 us of nothing on the host, then an all-reduce.
RankDigest small_digest() {
  SmallTrace trace;
  for (int k = 0; k < 3; ++k) {
    const std::int64_t at = 1000 * k;
    trace.step(k, at, 990);
    trace.op("aten::mm", at + 10, 20).launched("gemm", at + 15, at + 30, 400, 10 * k + 1);
    trace.range("nccl:all_reduce", at + 240, 20)
        .launched("ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)", at + 245, at + 500, 100, 10 * k + 2);
  }
  const TraceStore store = trace.store();
  return make_digest(store, analyse(store));
}

TEST(Digest, names_collectives_alike_whoever_recorded_them) {
  for (const char* name : {"allreduce", "nccl:all_reduce", "c10d::allreduce_", "gloo:all_reduce",
                           "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", "_allreduce_base"})
    EXPECT_EQ(canonical_collective(name), "all_reduce") << name;
  EXPECT_EQ(canonical_collective("_reduce_scatter_base"), "reduce_scatter");
  EXPECT_EQ(canonical_collective("ncclDevKernel_SendRecv(args)"), "send_recv");
  EXPECT_EQ(canonical_collective("aten::mm"), "");
}

TEST(Digest, reads_lists_of_ranks_and_refuses_cut_ones) {
  EXPECT_EQ(parse_ranks("[3, 0,1]"), (std::vector<std::int64_t>{0, 1, 3}));
  EXPECT_TRUE(parse_ranks("[0, 1, ..., 7]").empty());
  EXPECT_TRUE(parse_ranks("nothing").empty());
}

TEST(Digest, holds_each_collective_with_what_was_done_before_it) {
  const RankDigest digest = small_digest();
  ASSERT_EQ(digest.steps.size(), 3U);
  ASSERT_EQ(digest.events.size(), 3U);
  const CommunicationEvent& event = digest.events[1];
  EXPECT_EQ(digest.text(event.name), "all_reduce");
  EXPECT_EQ(event.end_ns - event.start_ns, 100'000);
  EXPECT_EQ(event.step, 1U);
  EXPECT_EQ(event.overlapped_ns, 0);
  const Segment& segment = digest.segments[1];
  EXPECT_TRUE(segment.whole);
  EXPECT_FALSE(digest.segments[0].whole);
  EXPECT_EQ(segment.device_ns, 900'000);
  EXPECT_EQ(segment.compute_ns, 400'000);
  ASSERT_EQ(segment.kernels.size(), 1U);
  EXPECT_EQ(digest.text(segment.kernels[0].name), "gemm");
  EXPECT_EQ(segment.kernels[0].count, 1U);
  EXPECT_EQ(segment.host_ns, 1'000'000);
  ASSERT_FALSE(segment.host.empty());
  EXPECT_EQ(segment.host[0].name, kNoRow);  // the longest part is outside of everything recorded
}

// A coalescing range with two descriptions and one kernel.
RankDigest coalesced(const std::string& first, const std::string& second) {
  const auto described = [](const std::string& what, int at) {
    return R"({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":)" + std::to_string(at) +
           R"(,"dur":5,"args":{"Process Group Name":"2","Process Group Ranks":"[0, 1]","dtype":"Float",)" +
           R"("In msg nelems":1000,"Out msg nelems":1000,"Group size":2,)" + what + "}},";
  };
  return digest_of_text(
      "coalesced",
      R"({"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":0,"world_size":4},"traceEvents":[)"
      R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#0","pid":1,"tid":1,"ts":0,"dur":900},)"
      R"({"ph":"X","cat":"user_annotation","name":"nccl:coalesced","pid":1,"tid":1,"ts":10,"dur":60},)" +
          described(first, 12) + described(second, 20) +
          R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":40,"dur":5,"args":{"correlation":1}},)"
          R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv","pid":0,"tid":7,"ts":100,"dur":50,"args":{"correlation":1,"device":0,"stream":7}
}]
})");
}

TEST(Digest, holds_each_send_and_receive_of_one_coalesced_kernel) {
  const RankDigest digest =
      coalesced(R"("Collective name":"send","Dst Rank":1)", R"("Collective name":"recv","Src Rank":1)");
  ASSERT_EQ(digest.events.size(), 2U);
  EXPECT_EQ(digest.text(digest.events[0].name), "send");
  EXPECT_EQ(digest.text(digest.events[1].name), "recv");
  for (const CommunicationEvent& event : digest.events) {
    EXPECT_EQ(event.peer, 1);
    EXPECT_EQ(event.bytes, 4000);
    EXPECT_EQ(event.end_ns - event.start_ns, 50'000);
    EXPECT_EQ(digest.groups[event.group].ranks, (std::vector<std::int64_t>{0, 1}));
  }
}

TEST(Digest, joins_coalesced_collectives_of_one_kind_into_one_of_their_joint_size) {
  const RankDigest digest =
      coalesced(R"("Collective name":"_allgather_base")", R"("Collective name":"_allgather_base")");
  ASSERT_EQ(digest.events.size(), 1U);
  EXPECT_EQ(digest.text(digest.events[0].name), "all_gather");
  EXPECT_EQ(digest.events[0].bytes, 8000);
  EXPECT_EQ(digest.groups[digest.events[0].group].name, "2");
}

TEST(Digest, comes_back_from_its_file_as_it_was) {
  const RankDigest digest = small_digest();
  const std::string bytes = write_digest(digest);
  const auto back = read_digest(bytes, "file");
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(write_digest(*back), bytes);
  EXPECT_EQ(back->events.size(), digest.events.size());
  EXPECT_EQ(back->segments[2].kernels.size(), digest.segments[2].kernels.size());
}

TEST(Digest, damaged_files_are_refused_and_never_believed) {
  const std::string bytes = write_digest(small_digest());
  for (std::size_t cut = 0; cut < bytes.size(); cut += 7)
    EXPECT_FALSE(read_digest(std::string_view(bytes).substr(0, cut), "cut").ok()) << cut;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    (void)read_digest(damaged, "flipped");  // must come back; mostly with an error
  }
}

TEST(Digest, is_at_most_three_percent_of_the_text_of_a_real_rank) {
  const std::string path = std::string(ACCEL_SOURCE_DIR) + "/../shared/traces/h200/nccl2/even.rank0.json.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "skipped: no ../shared";
  const auto digest = load_digest(path, {}, {});
  ASSERT_TRUE(digest.ok());
  EXPECT_EQ(digest->rank, 0);
  EXPECT_EQ(digest->world_size, 2);
  EXPECT_EQ(digest->events.size(), 68U);  // 89 kernels, 21 of them launched before the recording
  EXPECT_EQ(digest->events[0].bytes, 4 * 16777216);
  EXPECT_LT(write_digest(*digest).size(), digest->source_text_bytes * 3 / 100);
}

}  // namespace
}  // namespace accel::fusion
