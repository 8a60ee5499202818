// The NVIDIA device of this process, through libnvidia-ml opened at run time: memory, utilisation, clock, power,
// temperature, reasons of a lower clock, and on Hopper and later the counters behind GPM. Only calls that are cheap and
// never block; measured costs stand in docs/formats/trigger.md. The counters change every 100 ms: a pair of GPM samples
// without a change in between reads 0 and NaN without an error, so such a pair is thrown away.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "runtime/sampler/sampler.h"

namespace accel::runtime::nvml {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr SampleField kFields[] = {
    {"gpu_memory_usage", ""},      {"gpu_utilization", ""},       {"sm_active", ""},
    {"sm_occupancy", ""},          {"tensor_active", ""},         {"dram_active", ""},
    {"gpu_memory_bytes", "bytes"}, {"sm_clock_mhz", "MHz"},       {"gpu_power_w", "W"},
    {"gpu_temperature_c", "C"},    {"gpu_clock_reasons", "bits"},
};

using Device = void*;
using Sample = void*;

// As nvml.h declares them; versions of the driver only add to their ends.
struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};
struct GpmMetric {
  unsigned id;
  int result;
  double value;
  const char* info[3];
};
struct GpmMetrics {
  unsigned version;
  unsigned count;
  Sample first;
  Sample second;
  GpmMetric metrics[512];  // the header's array grows; only `count` of them are used
};
static_assert(sizeof(GpmMetric) == 40);
struct GpmSupport {
  unsigned version;
  unsigned supported;
};

struct Library {
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*by_uuid)(const char*, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
  int (*gpm_support)(Device, GpmSupport*) = nullptr;
  int (*gpm_alloc)(Sample*) = nullptr;
  int (*gpm_sample)(Device, Sample) = nullptr;
  int (*gpm_metrics)(GpmMetrics*) = nullptr;
};

Library g_nvml;
void* g_library = nullptr;  // never closed
Device g_device = nullptr;
Sample g_samples[2] = {};
bool g_has_first = false;
bool g_gpm = false;

template <typename Function>
void find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(g_library, name));
}

bool load() {
  if (g_library != nullptr) return true;
  g_library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (g_library == nullptr) return false;
  find("nvmlInit_v2", g_nvml.init);
  find("nvmlDeviceGetCount_v2", g_nvml.count);
  find("nvmlDeviceGetHandleByIndex_v2", g_nvml.by_index);
  find("nvmlDeviceGetHandleByUUID", g_nvml.by_uuid);
  find("nvmlDeviceGetName", g_nvml.name);
  find("nvmlDeviceGetMemoryInfo", g_nvml.memory);
  find("nvmlDeviceGetUtilizationRates", g_nvml.utilization);
  find("nvmlDeviceGetClockInfo", g_nvml.clock);
  find("nvmlDeviceGetPowerUsage", g_nvml.power);
  find("nvmlDeviceGetTemperature", g_nvml.temperature);
  find("nvmlDeviceGetCurrentClocksEventReasons", g_nvml.reasons);
  if (g_nvml.reasons == nullptr) find("nvmlDeviceGetCurrentClocksThrottleReasons", g_nvml.reasons);
  find("nvmlGpmQueryDeviceSupport", g_nvml.gpm_support);
  find("nvmlGpmSampleAlloc", g_nvml.gpm_alloc);
  find("nvmlGpmSampleGet", g_nvml.gpm_sample);
  find("nvmlGpmMetricsGet", g_nvml.gpm_metrics);
  return true;
}

bool same_names(unsigned count) {
  char first[96] = {};
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    char name[96] = {};
    if (g_nvml.name == nullptr || g_nvml.by_index(i, &device) != 0 || g_nvml.name(device, name, sizeof name) != 0)
      return false;
    if (i == 0) std::memcpy(first, name, sizeof first);
    if (std::strcmp(first, name) != 0) return false;
  }
  return true;
}

// The entry of this process in CUDA_VISIBLE_DEVICES. Null-terminated in `entry`; false: the list is not set.
bool visible_entry(unsigned local_rank, char* entry, std::size_t size) {
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr || *list == 0) return false;
  unsigned at = 0;
  const bool single = std::strchr(list, ',') == nullptr;
  for (; at < local_rank && !single; ++at) {
    const char* comma = std::strchr(list, ',');
    if (comma == nullptr) return false;
    list = comma + 1;
  }
  const char* end = std::strchr(list, ',');
  const std::size_t length = end == nullptr ? std::strlen(list) : static_cast<std::size_t>(end - list);
  if (length == 0 || length >= size) return false;
  std::memcpy(entry, list, length);
  entry[length] = 0;
  return true;
}

// CUDA numbers devices by speed unless told otherwise, NVML by PCI address; with equal devices the two agree.
bool choose_device() {
  unsigned count = 0;
  if (g_nvml.count == nullptr || g_nvml.by_index == nullptr || g_nvml.count(&count) != 0 || count == 0) return false;
  if (count == 1) return g_nvml.by_index(0, &g_device) == 0;
  const char* rank_text = std::getenv("LOCAL_RANK");
  const auto local_rank = static_cast<unsigned>(rank_text == nullptr ? 0 : std::strtoul(rank_text, nullptr, 10));
  char entry[96] = {};
  unsigned index = local_rank;
  if (visible_entry(local_rank, entry, sizeof entry)) {
    if (entry[0] < '0' || entry[0] > '9') return g_nvml.by_uuid != nullptr && g_nvml.by_uuid(entry, &g_device) == 0;
    index = static_cast<unsigned>(std::strtoul(entry, nullptr, 10));
  }
  const char* order = std::getenv("CUDA_DEVICE_ORDER");
  const bool by_pci = order != nullptr && std::strcmp(order, "PCI_BUS_ID") == 0;
  return (by_pci || same_names(count)) && index < count && g_nvml.by_index(index, &g_device) == 0;
}

const char* open() {
  if (!load()) return "libnvidia-ml.so.1 cannot be opened: no NVIDIA driver here, or the container does not pass it on";
  if (g_nvml.init == nullptr || g_nvml.init() != 0)
    return "NVML does not start: the driver is not loaded or its version does not fit";
  if (g_device == nullptr && !choose_device())
    return "the device of this process is not known: set CUDA_VISIBLE_DEVICES to its UUID";
  GpmSupport support = {1, 0};
  g_gpm = g_nvml.gpm_support != nullptr && g_nvml.gpm_alloc != nullptr && g_nvml.gpm_sample != nullptr &&
          g_nvml.gpm_metrics != nullptr && g_nvml.gpm_support(g_device, &support) == 0 && support.supported != 0;
  for (Sample& sample : g_samples) g_gpm = g_gpm && (sample != nullptr || g_nvml.gpm_alloc(&sample) == 0);
  g_has_first = false;
  return nullptr;
}

void sample_gpm(double* values) {
  constexpr unsigned kSmUtil = 2;
  constexpr unsigned kSmOccupancy = 3;
  constexpr unsigned kAnyTensor = 5;
  constexpr unsigned kDramUtil = 10;
  if (!g_has_first) {
    g_has_first = g_nvml.gpm_sample(g_device, g_samples[0]) == 0;
    return;
  }
  if (g_nvml.gpm_sample(g_device, g_samples[1]) != 0) return;
  static GpmMetrics metrics;  // large; one thread
  metrics.version = 1;
  metrics.count = 4;
  metrics.first = g_samples[0];
  metrics.second = g_samples[1];
  constexpr unsigned kIds[] = {kSmUtil, kSmOccupancy, kAnyTensor, kDramUtil};
  for (unsigned i = 0; i < 4; ++i) metrics.metrics[i] = {kIds[i], 0, kUnknown, {}};
  if (g_nvml.gpm_metrics(&metrics) != 0) return;
  const double dram = metrics.metrics[3].result == 0 ? metrics.metrics[3].value : kUnknown;
  if (dram != dram) return;  // no change since the first sample, which is kept
  for (unsigned i = 0; i < 4; ++i)
    values[2 + i] = metrics.metrics[i].result == 0 ? metrics.metrics[i].value / 100 : kUnknown;
  Sample swap = g_samples[0];
  g_samples[0] = g_samples[1];
  g_samples[1] = swap;
}

void sample(std::int64_t /*now_ns*/, double* values) {
  constexpr int kSmClock = 1;
  constexpr int kGpuTemperature = 0;
  Memory memory{};
  Utilization utilization{};
  unsigned number = 0;
  unsigned long long bits = 0;
  if (g_nvml.memory != nullptr && g_nvml.memory(g_device, &memory) == 0 && memory.total > 0) {
    values[0] = static_cast<double>(memory.used) / static_cast<double>(memory.total);
    values[6] = static_cast<double>(memory.used);
  }
  if (g_nvml.utilization != nullptr && g_nvml.utilization(g_device, &utilization) == 0)
    values[1] = utilization.gpu / 100.0;
  if (g_nvml.clock != nullptr && g_nvml.clock(g_device, kSmClock, &number) == 0) values[7] = number;
  if (g_nvml.power != nullptr && g_nvml.power(g_device, &number) == 0) values[8] = number * 1e-3;
  if (g_nvml.temperature != nullptr && g_nvml.temperature(g_device, kGpuTemperature, &number) == 0) values[9] = number;
  if (g_nvml.reasons != nullptr && g_nvml.reasons(g_device, &bits) == 0) values[10] = static_cast<double>(bits);
  if (g_gpm) sample_gpm(values);
}

// NVML stays initialised: shutting it down may take what the host itself uses.
void close() { g_has_first = false; }

}  // namespace

extern const SamplerDescriptor kSampler;
const SamplerDescriptor kSampler = {"nvml",      NumberSource::nvml,
                                    kFields,     sizeof kFields / sizeof kFields[0],
                                    100'000'000, 100'000'000,
                                    100'000'000, open,
                                    sample,      close};

}  // namespace accel::runtime::nvml
