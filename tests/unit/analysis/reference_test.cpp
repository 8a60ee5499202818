// Every figure of real captures against figures computed independently (../shared/traces/h200/reference.json) and
// against torch's own operator tables. Skipped where the captures are not at hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/analysis.h"
#include "analysis/audit.h"
#include "analysis/device_timeline.h"
#include "analysis/idle_attribution.h"
#include "analysis/kernel_table.h"
#include "analysis/operator_table.h"
#include "analysis/step_segmentation.h"
#include "analysis/time_breakdown.h"
#include "analysis/waits.h"
#include "ingest/importer.h"

namespace accel {
namespace {

using nlohmann::json;

const std::string kFolder = std::string(ACCEL_SOURCE_DIR) + "/../shared/traces/h200/";

json read_json(const std::string& path) {
  std::ifstream file(path);
  return file ? json::parse(file) : json();
}

const json& reference() {
  static const json all = read_json(kFolder + "reference.json");
  return all;
}

std::vector<std::string> captures() {
  std::vector<std::string> names;
  if (reference().is_object()) {
    for (const auto& [name, figures] : reference().items()) {
      if (name != "comment") names.push_back(name);
    }
  }
  if (names.empty()) names.emplace_back("absent");
  return names;
}

json torch_table(const std::string& name) {
  const json truth = read_json(kFolder + name.substr(0, name.find(".json")) + ".truth.json");
  return truth.is_object() && truth.contains("key_averages_top") ? truth["key_averages_top"] : json();
}

std::vector<std::string> captures_with_table() {
  std::vector<std::string> names = captures();
  std::erase_if(names, [](const std::string& name) { return name != "absent" && torch_table(name).is_null(); });
  return names;
}

struct Capture {
  TraceStore store;
  AnalysisResults results;
};

Capture read(const std::string& name) {
  Result<TraceStore> store = import_trace(kFolder + name, {});
  EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
  Capture capture{std::move(*store), {}};
  Result<AnalysisResults> results = run_analyses(capture.store, {});
  EXPECT_TRUE(results.ok());
  capture.results = std::move(*results);
  return capture;
}

class Reference : public testing::TestWithParam<std::string> {};
class TorchTable : public testing::TestWithParam<std::string> {};

void expect_steps(const json& want, const Capture& capture) {
  const StepSegmentation& steps = *capture.results.step_segmentation;
  const json& list = want["steps"];
  if (list.empty()) {
    EXPECT_NE(steps.source, StepSource::profiler_step);
    return;
  }
  ASSERT_EQ(steps.steps.size(), list.size());
  const std::int64_t base = capture.store.process.base_time_ns.value_or(0);
  for (std::size_t k = 0; k < list.size(); ++k) {
    EXPECT_EQ(steps.steps[k].number, list[k][0].get<std::int64_t>());
    EXPECT_EQ(steps.steps[k].host.start_ns - base, list[k][1].get<std::int64_t>());
    EXPECT_EQ(steps.steps[k].host.length_ns(), list[k][2].get<std::int64_t>());
  }
  EXPECT_EQ(steps.complete_count, want["complete_steps"].get<std::uint32_t>());
}

void expect_window(const json& want, const DeviceTimeline::Device& device,
                   const std::vector<StepSegmentation::Window>& windows) {
  const auto mean = [&](const IntervalSet& set) {
    double total = 0;
    for (const auto& window : windows) total += static_cast<double>(set.clipped(window.time).total_ns());
    return total / static_cast<double>(windows.size());
  };
  EXPECT_NEAR(mean(device.busy), want["busy_ns"].get<double>(), 1);
  EXPECT_NEAR(mean(device.compute), want["compute_union_ns"].get<double>(), 1);
  EXPECT_NEAR(mean(device.communication_exposed), want["communication_exposed_ns"].get<double>(), 1);
  EXPECT_NEAR(mean(device.communication_overlapped), want["communication_overlapped_ns"].get<double>(), 1);
  EXPECT_NEAR(mean(device.copy_exposed), want["memcpy_exposed_ns"].get<double>(), 1);
  EXPECT_NEAR(mean(device.memory_exposed), want["memory_exposed_ns"].get<double>(), 1);
  double wall = 0;
  for (const auto& window : windows) wall += static_cast<double>(window.time.length_ns());
  EXPECT_NEAR(wall / static_cast<double>(windows.size()) - mean(device.busy), want["idle_ns"].get<double>(), 1);
}

void expect_device(const json& want, const Capture& capture, std::size_t d) {
  const DeviceSteps& device = capture.results.step_segmentation->devices[d];
  const std::string key = std::to_string(device.device);
  EXPECT_EQ(json(device.period_ns), want["step_time"]["device_period_ns"]);
  const json& steps = want["steps_by_device"][key];
  ASSERT_EQ(device.steps.size(), steps.size());
  for (std::size_t k = 0; k < steps.size(); ++k) {
    EXPECT_EQ(device.steps[k].assigned_busy_ns, steps[k]["assigned_busy_ns"].get<std::int64_t>());
    EXPECT_EQ(device.steps[k].assigned_events, steps[k]["assigned_events"].get<std::uint32_t>());
  }
  const json& mean = want["mean_over_complete_steps"][key];
  const DeviceTimeline::Device& timeline = capture.results.device_timeline->devices[d];
  expect_window(mean["window"], timeline, capture.results.step_segmentation->host_windows());
  const auto periods = capture.results.step_segmentation->device_windows(device.device);
  if (mean.contains("device_window") && periods.size() + 1 == steps.size())
    expect_window(mean["device_window"], timeline, periods);
}

// What the host did in the idle time, where windows are host intervals. The reference has no class of its own for host
// communication: such ranges are ranges to it, and such ops are ops.
void expect_host_states(const json& want, const Capture& capture, std::size_t d) {
  const StepSegmentation& segmentation = *capture.results.step_segmentation;
  const IdleOfDevice& idle = capture.results.idle_attribution->devices[d];
  if (segmentation.paced_by != PacedBy::host || idle.by_step.empty()) return;
  const json& states = want["mean_over_complete_steps"][std::to_string(idle.device)]["host_state_during_idle_ns"];
  if (!states.is_object()) return;
  const auto of = [&](HostState state) {
    return static_cast<double>(idle.host_states[static_cast<std::size_t>(state)]) /
           static_cast<double>(idle.by_step.size());
  };
  const double step = segmentation.host_mean_ns;
  for (std::size_t s = 0; s < kHostStateCount; ++s) {
    const auto state = static_cast<HostState>(s);
    if (state == HostState::host_communication) continue;
    const double also = state == HostState::annotation_only ? of(HostState::host_communication) : 0;
    EXPECT_NEAR(of(state) + also, states[std::string(to_string(state))].get<double>(), 2e-3 * step) << to_string(state);
  }
}

void expect_waits(const json& want, const Capture& capture) {
  if (want["steps"].empty()) return;
  std::map<std::string, std::pair<std::uint64_t, std::int64_t>> by;
  for (const WaitGroup& group : capture.results.waits->groups) {
    std::string name(capture.store.text(group.by));
    if (name.starts_with("ProfilerStep#")) name = "ProfilerStep*";
    by[name].first += group.count_in_steps;
    by[name].second += group.host_ns;
  }
  std::map<std::string, std::pair<std::uint64_t, std::int64_t>> wanted;
  for (const auto& [name, figures] : want["waits_in_steps"].items())
    wanted[name] = {figures[0].get<std::uint64_t>(), figures[1].get<std::int64_t>()};
  EXPECT_EQ(by, wanted);
}

void expect_operators(const json& want, const Capture& capture) {
  const OperatorTable& table = *capture.results.operator_table;
  for (const json& row : want["operators"]) {
    const auto name = row[0].get<std::string>();
    bool found = false;
    for (const OperatorRow& own : table.by_name) {
      const std::string own_name =
          own.name == table.profiler_step_name ? "ProfilerStep*" : std::string(capture.store.text(own.name));
      if (own_name != name) continue;
      found |= json{own.count, own.self_cpu_ns, own.cpu_ns, own.self_device_ns, own.device_ns} ==
               json{row[1], row[2], row[3], row[4], row[5]};
    }
    EXPECT_TRUE(found) << row.dump();
  }
}

void expect_kernels(const json& want, const Capture& capture) {
  const bool marked = !want["steps"].empty();
  for (const json& row : want["top_kernels"]) {
    bool found = false;
    for (const KernelRow& own : capture.results.kernel_table->kernels) {
      if (capture.store.text(own.name) != row[0].get<std::string>()) continue;
      found |= json{own.count, own.total_ns} == json{row[1], row[2]} &&
               (!marked || json{own.count_in_steps, own.ns_in_steps} == json{row[3], row[4]});
    }
    EXPECT_TRUE(found) << row.dump();
  }
}

void expect_audit(const json& want, const Capture& capture) {
  const Audit& audit = *capture.results.audit;
  const json& own = want["audit"];
  EXPECT_EQ(audit.same_stream_overlaps, own["same_stream_overlaps"]["count"].get<std::uint64_t>());
  EXPECT_EQ(audit.device_without_launch, own["device_records_without_launch"]["total"].get<std::uint64_t>());
  EXPECT_EQ(audit.launches_without_device, own["launches_without_device_record"]["total"].get<std::uint64_t>());
  EXPECT_EQ(audit.crossing_ranges, own["crossing_ranges"]["count"].get<std::uint64_t>());
  EXPECT_EQ(audit.starts_before_launch, own["device_start_before_launch"]["count"].get<std::uint64_t>());
}

void expect_sums(const TimeParts& parts) {
  std::int64_t causes = 0;
  for (const std::int64_t cause : parts.idle_causes) {
    EXPECT_GE(cause, 0);
    causes += cause;
  }
  EXPECT_EQ(causes, parts.idle_ns);
  EXPECT_EQ(parts.window_ns,
            parts.compute_ns + parts.memory_exposed_ns + parts.communication_exposed_ns + parts.idle_ns);
}

TEST_P(Reference, FiguresAgree) {
  if (GetParam() == "absent") GTEST_SKIP() << "no shared captures";
  const json& want = reference()[GetParam()];
  const Capture capture = read(GetParam());
  expect_steps(want, capture);
  if (want.contains("mean_over_complete_steps")) {
    for (std::size_t d = 0; d < capture.results.step_segmentation->devices.size(); ++d) {
      expect_device(want, capture, d);
      expect_host_states(want, capture, d);
    }
  }
  expect_waits(want, capture);
  expect_operators(want, capture);
  expect_kernels(want, capture);
  expect_audit(want, capture);
  for (const DeviceBreakdown& device : capture.results.time_breakdown->devices) {
    expect_sums(device.measured);
    expect_sums(device.undisturbed);
  }
}

// torch's own table, to 1 ns a cell. Its double count of device time under overhead rows is not copied: then device
// time is less than torch's in such a row and in every op that holds one.
TEST_P(TorchTable, OperatorsAreTorchsOwn) {
  if (GetParam() == "absent") GTEST_SKIP() << "no shared captures";
  const Capture capture = read(GetParam());
  const bool double_counted = capture.results.notes.find(NoteCode::launch_queue_full) != nullptr;
  for (const json& row : torch_table(GetParam())) {
    const auto name = row["key"].get<std::string>();
    const double self_cpu = row["self_cpu_us"].get<double>() * 1e3;
    const double cpu = row["cpu_us"].get<double>() * 1e3;
    const double self_device = row["self_dev_us"].get<double>() * 1e3;
    const double device = row["dev_us"].get<double>() * 1e3;
    if (self_cpu == 0 && cpu == 0) continue;  // rows of the device side
    const auto near = [](std::int64_t a, double b) { return std::fabs(static_cast<double>(a) - b) <= 1; };
    bool found = false;
    for (const OperatorRow& own : capture.results.operator_table->by_name) {
      if (capture.store.text(own.name) != name && own.name != capture.results.operator_table->profiler_step_name)
        continue;
      if (own.count != row["count"].get<std::uint64_t>() || !near(own.self_cpu_ns, self_cpu) || !near(own.cpu_ns, cpu))
        continue;
      found |= near(own.self_device_ns, self_device) && near(own.device_ns, device);
      found |= double_counted && static_cast<double>(own.device_ns) < device;
    }
    EXPECT_TRUE(found) << row.dump();
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(0, info.param.find(".json"));
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(H200, Reference, testing::ValuesIn(captures()), test_name);
INSTANTIATE_TEST_SUITE_P(H200, TorchTable, testing::ValuesIn(captures_with_table()), test_name);

TEST(ReferenceTables, EveryRowOfTorchsTableByNameAndByShape) {
  const json by_name = read_json(kFolder + "variety/all_options.key_averages.json");
  const json by_shape = read_json(kFolder + "variety/all_options.key_averages_by_shape.json");
  if (!by_name.is_array() || !by_shape.is_array()) GTEST_SKIP() << "no shared captures";
  const Capture capture = read("variety/all_options.json.gz");
  const OperatorTable& table = *capture.results.operator_table;
  const auto near = [](std::int64_t a, double us) { return std::fabs(static_cast<double>(a) - us * 1e3) <= 1; };
  const auto named = [&](const OperatorRow& own, const json& row) {
    return (own.name == table.profiler_step_name ? std::string("ProfilerStep*")
                                                 : std::string(capture.store.text(own.name))) == row["key"];
  };
  int rows = 0;
  for (const json& row : by_name) {
    if (row["cpu"].get<double>() == 0 && row["self_cpu"].get<double>() == 0) continue;  // rows of the device side
    ++rows;
    bool found = false;
    for (const OperatorRow& own : table.by_name) {
      found |= named(own, row) && own.count == row["count"].get<std::uint64_t>() &&
               near(own.self_cpu_ns, row["self_cpu"].get<double>()) && near(own.cpu_ns, row["cpu"].get<double>()) &&
               near(own.self_device_ns, row["self_dev"].get<double>()) && near(own.device_ns, row["dev"].get<double>());
    }
    EXPECT_TRUE(found) << row.dump();
  }
  EXPECT_GT(rows, 90);
  std::map<std::string, int> known;
  for (const OperatorRow& own : table.by_shape) ++known[std::string(capture.store.text(own.name))];
  for (const json& row : by_shape) {
    if (known.count(row["key"].get<std::string>()) == 0) continue;
    std::string shapes = row["shapes"].get<std::string>();
    std::replace(shapes.begin(), shapes.end(), '\'', '"');
    bool found = false;
    for (const OperatorRow& own : table.by_shape) {
      if (!named(own, row) || own.count != row["count"].get<std::uint64_t>() ||
          !near(own.self_device_ns, row["self_dev"].get<double>()))
        continue;
      const std::string dims =
          own.args.valid() ? std::string(capture.store.text(capture.store.op_args.dims[own.args.value])) : "[]";
      found |= json::parse(dims) == json::parse(shapes);
    }
    const bool device_side = row["key"] == "Optimizer.step#Adam.step" && row["self_dev"].get<double>() > 0;
    EXPECT_TRUE(found || device_side) << row.dump();
  }
}

}  // namespace
}  // namespace accel
