#include "history/kernel_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analysis/counter_values.h"
#include "analysis/efficiency/efficiency.h"
#include "analysis/kernel_table.h"

namespace accel::history {
namespace {

constexpr std::size_t kLongestText = 4096;  // of a name or a list of shapes

std::string bounded(std::string_view text) { return std::string(text.substr(0, kLongestText)); }

std::string extent(std::int32_t x, std::int32_t y, std::int32_t z) {
  return x == kNotRecorded32 ? std::string() : fmt::format("{}x{}x{}", x, y, z);
}

std::string text_of(const TraceStore& store, StringId id) {
  return id.valid() ? bounded(store.text(id)) : std::string();
}

std::string device_name(const TraceStore& store, std::int64_t index) {
  for (const DeviceProperties& device : store.process.devices) {
    if (device.index == index && !device.name.empty()) return bounded(device.name);
  }
  return {};
}

// Ids instead of texts while events are gathered: a capture has millions of events and hundreds of kernels.
struct Key {
  std::uint32_t name;
  std::uint32_t config;
  std::uint32_t op;
  std::uint32_t args;
  std::int64_t device;

  auto operator<=>(const Key&) const = default;
};

class Gather {
 public:
  Gather(const TraceStore& store, const AnalysisResults& results) : store_(store), results_(results) {}

  std::vector<KernelSample> run() {
    for (std::uint32_t i = 0; i < store_.device_events.size(); ++i) add(i);
    std::map<KernelIdentity, std::pair<std::vector<std::int64_t>, std::string>> merged;
    for (auto& [key, times] : times_) {
      auto& [all, concrete] = merged[identity(key)];
      all.insert(all.end(), times.begin(), times.end());
      if (concrete.empty() && key.args != kNone) concrete = text_of(store_, store_.op_args.concrete[key.args]);
    }
    std::vector<KernelSample> samples;
    samples.reserve(merged.size());
    for (auto& [kernel, measured] : merged) samples.push_back(sample(kernel, measured.first, measured.second));
    return samples;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  bool communicates(StringId name) {
    const auto [at, inserted] = communicates_.try_emplace(name.value, false);
    if (inserted) at->second = is_communication_kernel(store_.text(name));
    return at->second;
  }

  void add(std::uint32_t event) {
    const auto& events = store_.device_events;
    if (events.kind[event] != DeviceEventKind::kernel || events.dur_ns[event] <= 0 || communicates(events.name[event]))
      return;
    Key key{events.name[event].value, kNone, kNone, kNone, store_.streams.device[events.stream[event].value]};
    if (events.detail[event].valid()) {
      const LaunchConfigId config = store_.kernel_details.config[events.detail[event].value];
      if (config.valid()) key.config = config.value;
    }
    const SliceId owner = results_.efficiency ? results_.efficiency->owner_of_event[event] : SliceId();
    if (owner.valid() && store_.slices.kind[owner.value] == SliceKind::op) {
      key.op = store_.slices.name[owner.value].value;
      if (store_.slices.detail[owner.value].valid()) {
        const ArgsId args = store_.op_details.args[store_.slices.detail[owner.value].value];
        if (args.valid()) key.args = args.value;
      }
    }
    times_[key].push_back(events.dur_ns[event]);
  }

  KernelIdentity identity(const Key& key) const {
    KernelIdentity kernel;
    kernel.name = bounded(short_kernel_name(store_.text(StringId(key.name))));
    kernel.work.device = device_name(store_, key.device);
    if (key.config != kNone) {
      const auto& configs = store_.launch_configs;
      kernel.grid = extent(configs.grid_x[key.config], configs.grid_y[key.config], configs.grid_z[key.config]);
      kernel.block = extent(configs.block_x[key.config], configs.block_y[key.config], configs.block_z[key.config]);
    }
    if (key.op != kNone) kernel.work.op = text_of(store_, StringId(key.op));
    if (key.args != kNone) {
      kernel.work.dims = text_of(store_, store_.op_args.dims[key.args]);
      kernel.work.types = text_of(store_, store_.op_args.types[key.args]);
      kernel.work.strides = text_of(store_, store_.op_args.strides[key.args]);
    }
    return kernel;
  }

  static KernelSample sample(const KernelIdentity& kernel, std::vector<std::int64_t>& times, std::string& concrete) {
    std::sort(times.begin(), times.end());
    KernelSample one;
    one.kernel = kernel;
    one.concrete = std::move(concrete);
    one.count = times.size();
    for (const std::int64_t time : times) one.total_ns += time;
    one.min_ns = times.front();
    one.median_ns = times[(times.size() - 1) / 2];
    one.max_ns = times.back();
    return one;
  }

  const TraceStore& store_;
  const AnalysisResults& results_;
  std::map<Key, std::vector<std::int64_t>> times_;
  std::unordered_map<std::uint32_t, bool> communicates_;
};

class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) step(static_cast<unsigned char>(c));
    step(0xFF);
  }
  void add(std::int64_t number) {
    for (int byte = 0; byte < 8; ++byte) step(static_cast<unsigned char>(number >> (8 * byte)));
  }
  std::string text() const { return fmt::format("{:016x}{:016x}", first_, second_); }

 private:
  void step(unsigned char byte) {
    first_ = (first_ ^ byte) * 1099511628211ULL;
    second_ = (second_ + byte + 1) * 6364136223846793005ULL + 1442695040888963407ULL;
  }
  std::uint64_t first_ = 14695981039346656037ULL;
  std::uint64_t second_ = 0;
};

// Versions of the file format say nothing of what ran.
bool of_the_job(std::string_view key) { return key != "schemaVersion" && key != "format" && key != "recorder"; }

void take_clock(RunSamples& run, const TraceStore& store) {
  const CounterValues values(store);
  const Interval all{std::numeric_limits<std::int64_t>::min() / 2, std::numeric_limits<std::int64_t>::max() / 2};
  if (const auto* clock = values.find("sm_clock_mhz")) run.sm_clock_mhz = values.over(*clock, all).mean;
  if (const auto* reasons = values.find("gpu_clock_reasons")) run.clock_reasons = values.over(*reasons, all).bits;
}

}  // namespace

RunSamples kernel_samples(const TraceStore& store, const AnalysisResults& results) {
  RunSamples run;
  run.kernels = Gather(store, results).run();
  std::stable_sort(run.kernels.begin(), run.kernels.end(),
                   [](const KernelSample& a, const KernelSample& b) { return a.total_ns > b.total_ns; });
  if (run.kernels.size() > kMostKernelsOfRun) {
    run.left_out = run.kernels.size() - kMostKernelsOfRun;
    run.kernels.resize(kMostKernelsOfRun);
  }
  const std::string& path = store.input.path;
  run.source = bounded(path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1));
  run.producer = store.input.format;
  std::int64_t first_ns = 0;
  if (!store.device_events.empty()) {
    first_ns = *std::min_element(store.device_events.start_ns.begin(), store.device_events.start_ns.end());
    if (store.process.base_time_ns) run.time_ns = first_ns;
  }
  for (const auto& [key, value] : store.process.versions) {
    if (of_the_job(key)) run.versions[bounded(key)] = bounded(value);
  }
  take_clock(run, store);
  Hash hash;
  hash.add(first_ns);
  for (const auto& [key, value] : run.versions) {
    hash.add(key);
    hash.add(value);
  }
  for (const KernelSample& one : run.kernels) {
    hash.add(one.kernel.name);
    hash.add(one.kernel.work.op);
    hash.add(one.kernel.work.dims);
    hash.add(static_cast<std::int64_t>(one.count));
    hash.add(one.total_ns);
  }
  run.fingerprint = hash.text();
  return run;
}

}  // namespace accel::history
