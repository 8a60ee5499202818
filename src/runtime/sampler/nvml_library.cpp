#include "runtime/sampler/nvml_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace accel::runtime::nvml {
namespace {

Library g_nvml;
void* g_library = nullptr;
Device g_device = nullptr;

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
  find("nvmlDeviceGetUUID", g_nvml.uuid);
  find("nvmlDeviceGetMemoryInfo", g_nvml.memory);
  find("nvmlDeviceGetUtilizationRates", g_nvml.utilization);
  find("nvmlDeviceGetClockInfo", g_nvml.clock);
  find("nvmlDeviceGetPowerUsage", g_nvml.power);
  find("nvmlDeviceGetTemperature", g_nvml.temperature);
  find("nvmlDeviceGetCurrentClocksEventReasons", g_nvml.reasons);
  if (g_nvml.reasons == nullptr) find("nvmlDeviceGetCurrentClocksThrottleReasons", g_nvml.reasons);
  find("nvmlDeviceGetTotalEccErrors", g_nvml.ecc);
  find("nvmlDeviceGetCurrPcieLinkGeneration", g_nvml.pcie_generation);
  find("nvmlDeviceGetCurrPcieLinkWidth", g_nvml.pcie_width);
  find("nvmlDeviceGetPcieReplayCounter", g_nvml.pcie_replays);
  find("nvmlEventSetCreate", g_nvml.event_set_create);
  find("nvmlDeviceRegisterEvents", g_nvml.register_events);
  find("nvmlEventSetWait_v2", g_nvml.event_set_wait);
  if (g_nvml.event_set_wait == nullptr) find("nvmlEventSetWait", g_nvml.event_set_wait);
  find("nvmlGpmQueryDeviceSupport", g_nvml.gpm_support);
  find("nvmlGpmSampleAlloc", g_nvml.gpm_alloc);
  find("nvmlGpmSampleGet", g_nvml.gpm_sample);
  find("nvmlGpmMetricsGet", g_nvml.gpm_metrics);
  find("nvmlDeviceGetPciInfo_v3", g_nvml.pci_info);
  find("nvmlDeviceGetMaxPcieLinkGeneration", g_nvml.pcie_generation_max);
  find("nvmlDeviceGetGpuMaxPcieLinkGeneration", g_nvml.pcie_generation_of_device);
  find("nvmlDeviceGetMaxPcieLinkWidth", g_nvml.pcie_width_max);
  find("nvmlDeviceGetTopologyCommonAncestor", g_nvml.common_ancestor);
  find("nvmlDeviceGetNvLinkState", g_nvml.nvlink_state);
  find("nvmlDeviceGetNvLinkVersion", g_nvml.nvlink_version);
  find("nvmlDeviceGetNvLinkRemotePciInfo_v2", g_nvml.nvlink_remote);
  find("nvmlDeviceGetNvLinkRemoteDeviceType", g_nvml.nvlink_remote_type);
  find("nvmlDeviceGetFieldValues", g_nvml.field_values);
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

}  // namespace

const Library& library() { return g_nvml; }
Device device() { return g_device; }

const char* open_library() {
  if (!load()) return "libnvidia-ml.so.1 cannot be opened: no NVIDIA driver here, or the container does not pass it on";
  if (g_nvml.init == nullptr || g_nvml.init() != 0)
    return "NVML does not start: the driver is not loaded or its version does not fit";
  if (g_device == nullptr && !choose_device())
    return "the device of this process is not known: set CUDA_VISIBLE_DEVICES to its UUID";
  return nullptr;
}

}  // namespace accel::runtime::nvml
