#include "report/perfetto/perfetto.h"

#include <gtest/gtest.h>

#include <map>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <vector>

#include "base/byte_source.h"
#include "ingest/importer.h"
#include "report/perfetto/lanes.h"
#include "unit/analysis/small_trace.h"

namespace accel::report {
namespace {

std::string unpacked(std::string_view bytes) {
  const auto source = gzip_source(memory_source("trace.perfetto", bytes));
  std::string out;
  std::string piece(1 << 16, '\0');
  for (;;) {
    const auto n = source->read(piece);
    if (!n || *n == 0) return out;
    out.append(piece, 0, *n);
  }
}

struct Slice {
  std::string name;
  std::uint64_t start, end;
  std::vector<std::uint64_t> flows;
};

// The slices of each track, as trace_processor makes them: an end closes what was opened last on its track.
struct Decoded {
  std::map<std::uint64_t, std::string> names;
  std::map<std::uint64_t, std::uint64_t> parents;
  std::map<std::string, std::vector<Slice>> slices;  // by the track's name
  std::map<std::string, std::size_t> samples;
  bool all_closed = true;
};

Decoded decode(std::string_view gzip) {
  using protozero::pbf_reader;
  const std::string bytes = unpacked(gzip);
  Decoded out;
  std::map<std::uint64_t, std::string> event_names;
  std::map<std::uint64_t, std::vector<Slice>> open;
  for (pbf_reader trace(bytes); trace.next(1);) {
    std::uint64_t time = 0, track = 0, name = 0;
    std::int32_t type = 0;
    std::vector<std::uint64_t> flows;
    for (pbf_reader packet = trace.get_message(); packet.next();) {
      if (packet.tag() == 8) {
        time = packet.get_uint64();
      } else if (packet.tag() == 12) {
        for (pbf_reader data = packet.get_message(); data.next();) {
          const bool is_name = data.tag() == 2;
          pbf_reader entry = data.get_message();
          std::uint64_t id = 0;
          std::string text;
          while (entry.next()) entry.tag() == 1 ? void(id = entry.get_uint64()) : void(text = entry.get_string());
          if (is_name) event_names[id] = text;
        }
      } else if (packet.tag() == 60) {
        std::uint64_t uuid = 0, parent = 0;
        std::string label;
        for (pbf_reader descriptor = packet.get_message(); descriptor.next();) {
          if (descriptor.tag() == 1) {
            uuid = descriptor.get_uint64();
          } else if (descriptor.tag() == 2) {
            label = descriptor.get_string();
          } else if (descriptor.tag() == 5) {
            parent = descriptor.get_uint64();
          } else {
            descriptor.skip();
          }
        }
        out.names[uuid] = label;
        out.parents[uuid] = parent;
      } else if (packet.tag() == 11) {
        for (pbf_reader event = packet.get_message(); event.next();) {
          if (event.tag() == 9) {
            type = event.get_enum();
          } else if (event.tag() == 10) {
            name = event.get_uint64();
          } else if (event.tag() == 11) {
            track = event.get_uint64();
          } else if (event.tag() == 47) {
            flows.push_back(event.get_fixed64());
          } else {
            event.skip();
          }
        }
      } else {
        packet.skip();
      }
    }
    if (type == 1) open[track].push_back({event_names[name], time, 0, flows});
    if (type == 2) {
      EXPECT_FALSE(open[track].empty());
      Slice slice = open[track].back();
      open[track].pop_back();
      slice.end = time;
      out.slices[out.names[track]].push_back(slice);
    }
    if (type == 4) ++out.samples[out.names[track]];
  }
  for (const auto& [track, left] : open) out.all_closed = out.all_closed && left.empty();
  return out;
}

TEST(Perfetto, HoldsThreadsStreamsStepsIdleAndAFlowFromEachLaunch) {
  SmallTrace trace;
  trace.step(0, 0, 100).op("a", 10, 20).launched("k", 12, 30, 40, 1);
  const TraceStore store = trace.store();
  const Decoded decoded = decode(perfetto_trace(store, analyse(store)));
  EXPECT_TRUE(decoded.all_closed);
  ASSERT_EQ(decoded.slices.at("iterations").size(), 1U);
  EXPECT_EQ(decoded.slices.at("iterations")[0].name, "step 0");
  EXPECT_FALSE(decoded.slices.at("device 0: why idle").empty());
  const auto& kernels = decoded.slices.at("device 0 stream 7");
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].name, "k");
  ASSERT_EQ(kernels[0].flows.size(), 1U);
  std::size_t launches = 0;
  for (const auto& [track, slices] : decoded.slices) {
    if (!track.starts_with("thread")) continue;
    for (const Slice& slice : slices) launches += slice.flows == kernels[0].flows ? 1 : 0;
  }
  EXPECT_EQ(launches, 1U);
}

TEST(Perfetto, EveryRecordOfACaptureIsThereOnceWithItsTimes) {
  const auto store =
      import_trace(std::string(ACCEL_SOURCE_DIR) + "/tests/golden/pytorch-2.11_h200/fsdp2.rank0.json.gz", {});
  ASSERT_TRUE(store.ok());
  const Decoded decoded = decode(perfetto_trace(*store, analyse(*store)));
  EXPECT_TRUE(decoded.all_closed);
  std::multiset<std::tuple<std::string, std::int64_t, std::int64_t>> expected, found;
  for (std::uint32_t i = 0; i < store->slices.size(); ++i)
    expected.emplace(store->text(store->slices.name[i]), store->slices.start_ns[i], store->slices.dur_ns[i]);
  for (std::uint32_t i = 0; i < store->device_events.size(); ++i)
    expected.emplace(store->text(store->device_events.name[i]), store->device_events.start_ns[i],
                     store->device_events.dur_ns[i]);
  for (const auto& [track, slices] : decoded.slices) {
    const bool is_stream = track.starts_with("device ") && track.find(':') == std::string::npos;
    if (!track.starts_with("thread") && !is_stream) continue;
    for (const Slice& slice : slices)
      found.emplace(slice.name, static_cast<std::int64_t>(slice.start),
                    static_cast<std::int64_t>(slice.end - slice.start));
  }
  EXPECT_EQ(expected, found);
}

TEST(Perfetto, RanksOfAJobShareAFlowAndNoTrack) {
  SmallTrace one, two;
  one.step(0, 0, 100).launched("allreduce", 12, 30, 40, 1);
  two.step(0, 0, 100).launched("allreduce", 14, 35, 35, 1);
  std::string bytes;
  PerfettoTrace out([&](std::string_view piece) { bytes += piece; });
  RankOnAxis axis;
  axis.common_ns = [](std::int64_t ns) { return ns + 1'000'000; };
  axis.flow_of_event[0] = 77;
  axis.name = "rank 0";
  const TraceStore first = one.store(), second = two.store();
  out.add(first, analyse(first), &axis);
  axis.name = "rank 1";
  out.add(second, analyse(second), &axis);
  out.finish();
  const Decoded decoded = decode(bytes);
  std::set<std::string> roots;
  for (const auto& [uuid, parent] : decoded.parents) {
    if (parent == 0) roots.insert(decoded.names.at(uuid));
  }
  EXPECT_EQ(roots, (std::set<std::string>{"rank 0", "rank 1"}));
  std::set<std::uint64_t> launch_flows;
  for (const Slice& slice : decoded.slices.at("device 0 stream 7")) {
    ASSERT_EQ(slice.flows.size(), 2U);
    launch_flows.insert(slice.flows[0]);
    EXPECT_EQ(slice.flows[1], 77U);
    EXPECT_GE(slice.start, 1'000'000U);
  }
  EXPECT_EQ(launch_flows.size(), 2U);
}

TEST(PerfettoLanes, CrossingSlicesGetLanesOfTheirOwnAndTooManyNone) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> ends;
  perfetto::Lanes lanes([](std::size_t lane) { return lane + 1; },
                        [&](std::uint64_t track, std::int64_t at) { ends.emplace_back(track, at); });
  EXPECT_EQ(lanes.place(0, 10), 1U);
  EXPECT_EQ(lanes.place(2, 8), 1U);
  EXPECT_EQ(lanes.place(5, 12), 2U);
  EXPECT_EQ(lanes.place(10, 11), 1U);
  lanes.finish();
  EXPECT_EQ(ends, (std::vector<std::pair<std::uint64_t, std::int64_t>>{{1, 8}, {1, 10}, {1, 11}, {2, 12}}));
  perfetto::Lanes crowded([](std::size_t lane) { return lane + 1; }, [](std::uint64_t, std::int64_t) {});
  std::size_t placed = 0;
  for (std::int64_t i = 0; i < 100; ++i) placed += crowded.place(i, 1000 + i) != 0 ? 1 : 0;
  EXPECT_EQ(placed, perfetto::kMostLanes);
}

}  // namespace
}  // namespace accel::report
