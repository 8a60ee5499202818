// The NVIDIA device of this process: memory, utilisation, clocks and why they are low, power, temperature, errors,
// link, and on Hopper and later the counters behind GPM. Only calls that are cheap and never block; measured costs
// stand in docs/formats/trigger.md. The counters change every 100 ms: a pair of GPM samples without a change in between
// reads 0 and NaN without an error, so such a pair is thrown away. One process of a user and host polls a device.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <limits>

#include "runtime/sampler/nvml_library.h"
#include "runtime/sampler/sampler.h"
#include "runtime/session/control_socket.h"
#include "runtime/topology/topology.h"

namespace accel::runtime::nvml {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
enum Field : std::size_t {
  kMemoryUsage,
  kUtilization,
  kSmActive,
  kSmOccupancy,
  kTensorActive,
  kDramActive,
  kMemoryBytes,
  kSmClock,
  kMemoryClock,
  kPower,
  kTemperature,
  kReasons,
  kPcieTx,
  kPcieRx,
  kNvlinkTx,
  kNvlinkRx,
  kEccCorrected,
  kEccUncorrected,
  kXid,
  kXidEvents,
  kPcieGeneration,
  kPcieWidth,
  kPcieReplays,
  kFieldCount,
};
constexpr std::int64_t kSlowNs = 1'000'000'000;  // what rarely changes, or costs 100 us
constexpr SampleField kFields[] = {
    {"gpu_memory_usage", ""},
    {"gpu_utilization", ""},
    {"sm_active", ""},
    {"sm_occupancy", ""},
    {"tensor_active", ""},
    {"dram_active", ""},
    {"gpu_memory_bytes", "bytes"},
    {"sm_clock_mhz", "MHz"},
    {"memory_clock_mhz", "MHz"},
    {"gpu_power_w", "W"},
    {"gpu_temperature_c", "C"},
    {"gpu_clock_reasons", "bits", FieldKind::bits},
    {"pcie_sent_mib_s", "MiB/s"},
    {"pcie_received_mib_s", "MiB/s"},
    {"nvlink_sent_mib_s", "MiB/s"},
    {"nvlink_received_mib_s", "MiB/s"},
    {"ecc_corrected", "", FieldKind::total, kSlowNs},
    {"ecc_uncorrected", "", FieldKind::total, kSlowNs},
    {"gpu_xid", ""},
    {"gpu_xid_events", "", FieldKind::total},
    {"pcie_generation", "", FieldKind::level, kSlowNs},
    {"pcie_width", "lanes", FieldKind::level, kSlowNs},
    {"pcie_replays", "", FieldKind::total, kSlowNs},
};
static_assert(sizeof kFields / sizeof kFields[0] == kFieldCount);

constexpr unsigned long long kXidEvent = 0x8;

Sample g_samples[2] = {};
bool g_has_first = false;
bool g_gpm = false;
EventSet g_events = nullptr;  // never freed
double g_xid_events = 0;
double g_last_xid = 0;
std::int64_t g_next_slow_ns = 0;
int g_lock = -1;

// Held while this process polls the device. Without a folder for it nobody is kept out.
bool is_the_poller() {
  if (g_lock >= 0) return true;
  char uuid[96] = {};
  char folder[80];
  char path[200];
  if (library().uuid == nullptr || library().uuid(device(), uuid, sizeof uuid) != 0) return true;
  for (char* c = uuid; *c != 0; ++c) {
    if (*c == '/') *c = '_';
  }
  if (private_folder(folder, sizeof folder) != 0) return true;
  std::snprintf(path, sizeof path, "%s/nvml-%s.lock", folder, uuid);
  g_lock = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (g_lock < 0) return true;
  if (::flock(g_lock, LOCK_EX | LOCK_NB) == 0) return true;
  const bool held = errno == EWOULDBLOCK;
  ::close(g_lock);
  g_lock = -1;
  return !held;
}

const char* open() {
  const char* why = open_library();
  if (why != nullptr) return why;
  take_topology();
  if (!is_the_poller())
    return "another process of this user takes the counters of this device; they are in its captures";
  const Library& nvml = library();
  GpmSupport support = {1, 0};
  g_gpm = nvml.gpm_support != nullptr && nvml.gpm_alloc != nullptr && nvml.gpm_sample != nullptr &&
          nvml.gpm_metrics != nullptr && nvml.gpm_support(device(), &support) == 0 && support.supported != 0;
  for (Sample& sample : g_samples) g_gpm = g_gpm && (sample != nullptr || nvml.gpm_alloc(&sample) == 0);
  g_has_first = false;
  g_next_slow_ns = 0;
  if (g_events == nullptr && nvml.event_set_create != nullptr && nvml.register_events != nullptr &&
      nvml.event_set_wait != nullptr && nvml.event_set_create(&g_events) == 0 &&
      nvml.register_events(device(), kXidEvent, g_events) != 0)
    g_events = nullptr;
  return nullptr;
}

void sample_gpm(double* values) {
  struct Wanted {
    unsigned id;
    Field field;
    double scale;
  };
  constexpr double kPercent = 0.01;
  constexpr Wanted kWanted[] = {{10, kDramActive, kPercent},  {2, kSmActive, kPercent}, {3, kSmOccupancy, kPercent},
                                {5, kTensorActive, kPercent}, {20, kPcieTx, 1},         {21, kPcieRx, 1},
                                {60, kNvlinkRx, 1},           {61, kNvlinkTx, 1}};
  constexpr unsigned kCount = sizeof kWanted / sizeof kWanted[0];
  const Library& nvml = library();
  if (!g_has_first) {
    g_has_first = nvml.gpm_sample(device(), g_samples[0]) == 0;
    return;
  }
  if (nvml.gpm_sample(device(), g_samples[1]) != 0) return;
  static GpmMetrics metrics;  // large; one thread
  metrics.version = 1;
  metrics.count = kCount;
  metrics.first = g_samples[0];
  metrics.second = g_samples[1];
  for (unsigned i = 0; i < kCount; ++i) metrics.metrics[i] = {kWanted[i].id, 0, kUnknown, {}};
  if (nvml.gpm_metrics(&metrics) != 0) return;
  const double dram = metrics.metrics[0].result == 0 ? metrics.metrics[0].value : kUnknown;
  if (dram != dram) return;  // no change since the first sample, which is kept
  for (unsigned i = 0; i < kCount; ++i) {
    if (metrics.metrics[i].result == 0) values[kWanted[i].field] = metrics.metrics[i].value * kWanted[i].scale;
  }
  Sample swap = g_samples[0];
  g_samples[0] = g_samples[1];
  g_samples[1] = swap;
}

void sample_slow(double* values) {
  constexpr int kCorrected = 0;
  constexpr int kUncorrected = 1;
  constexpr int kSinceBoot = 0;
  const Library& nvml = library();
  unsigned long long errors = 0;
  unsigned number = 0;
  if (nvml.ecc != nullptr && nvml.ecc(device(), kCorrected, kSinceBoot, &errors) == 0)
    values[kEccCorrected] = static_cast<double>(errors);
  if (nvml.ecc != nullptr && nvml.ecc(device(), kUncorrected, kSinceBoot, &errors) == 0)
    values[kEccUncorrected] = static_cast<double>(errors);
  if (nvml.pcie_generation != nullptr && nvml.pcie_generation(device(), &number) == 0) values[kPcieGeneration] = number;
  if (nvml.pcie_width != nullptr && nvml.pcie_width(device(), &number) == 0) values[kPcieWidth] = number;
  if (nvml.pcie_replays != nullptr && nvml.pcie_replays(device(), &number) == 0) values[kPcieReplays] = number;
}

// Events that came since the last sample; waits for none. A bound, in case a driver answers for ever.
void sample_xid(double* values) {
  constexpr int kMostAtOnce = 16;
  if (g_events == nullptr) return;
  EventData event{};
  for (int i = 0; i < kMostAtOnce && library().event_set_wait(g_events, &event, 0) == 0; ++i) {
    if ((event.type & kXidEvent) == 0) continue;
    g_xid_events += 1;
    g_last_xid = static_cast<double>(event.data);
  }
  values[kXidEvents] = g_xid_events;
  values[kXid] = g_last_xid;
}

void sample(std::int64_t now_ns, double* values) {
  constexpr int kSmDomain = 1;
  constexpr int kMemoryDomain = 2;
  constexpr int kGpuSensor = 0;
  const Library& nvml = library();
  Memory memory{};
  Utilization utilization{};
  unsigned number = 0;
  unsigned long long bits = 0;
  if (nvml.memory != nullptr && nvml.memory(device(), &memory) == 0 && memory.total > 0) {
    values[kMemoryUsage] = static_cast<double>(memory.used) / static_cast<double>(memory.total);
    values[kMemoryBytes] = static_cast<double>(memory.used);
  }
  if (nvml.utilization != nullptr && nvml.utilization(device(), &utilization) == 0)
    values[kUtilization] = utilization.gpu / 100.0;
  if (nvml.clock != nullptr && nvml.clock(device(), kSmDomain, &number) == 0) values[kSmClock] = number;
  if (nvml.clock != nullptr && nvml.clock(device(), kMemoryDomain, &number) == 0) values[kMemoryClock] = number;
  if (nvml.power != nullptr && nvml.power(device(), &number) == 0) values[kPower] = number * 1e-3;
  if (nvml.temperature != nullptr && nvml.temperature(device(), kGpuSensor, &number) == 0)
    values[kTemperature] = number;
  if (nvml.reasons != nullptr && nvml.reasons(device(), &bits) == 0) values[kReasons] = static_cast<double>(bits);
  if (g_gpm) sample_gpm(values);
  sample_xid(values);
  if (now_ns < g_next_slow_ns) return;
  g_next_slow_ns = now_ns + kSlowNs;
  sample_slow(values);
}

void close() {
  g_has_first = false;
  if (g_lock >= 0) ::close(g_lock);
  g_lock = -1;
}

}  // namespace

extern const SamplerDescriptor kSampler;
const SamplerDescriptor kSampler = {"nvml",      NumberSource::nvml, kFields, kFieldCount, 100'000'000,
                                    100'000'000, 100'000'000,        open,    sample,      close};

}  // namespace accel::runtime::nvml
