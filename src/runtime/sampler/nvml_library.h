// libnvidia-ml opened at run time: the functions that the sampler uses, every one optional, and the device of this
// process. Never closed, NVML never shut down: that may take what the host itself uses. Sampler thread only.
#pragma once

#include <cstdint>

namespace accel::runtime::nvml {

using Device = void*;
using Sample = void*;
using EventSet = void*;

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
struct EventData {
  Device device;
  unsigned long long type;
  unsigned long long data;  // of an Xid event: its number
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  unsigned type;
  int result;
  unsigned long long value;
};
static_assert(sizeof(FieldValue) == 40);

struct Library {
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*by_uuid)(const char*, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
  int (*ecc)(Device, int, int, unsigned long long*) = nullptr;
  int (*pcie_generation)(Device, unsigned*) = nullptr;
  int (*pcie_width)(Device, unsigned*) = nullptr;
  int (*pcie_replays)(Device, unsigned*) = nullptr;
  int (*event_set_create)(EventSet*) = nullptr;
  int (*register_events)(Device, unsigned long long, EventSet) = nullptr;
  int (*event_set_wait)(EventSet, EventData*, unsigned) = nullptr;
  int (*gpm_support)(Device, GpmSupport*) = nullptr;
  int (*gpm_alloc)(Sample*) = nullptr;
  int (*gpm_sample)(Device, Sample) = nullptr;
  int (*gpm_metrics)(GpmMetrics*) = nullptr;
  int (*pci_info)(Device, PciInfo*) = nullptr;
  int (*pcie_generation_max)(Device, unsigned*) = nullptr;
  int (*pcie_generation_of_device)(Device, unsigned*) = nullptr;
  int (*pcie_width_max)(Device, unsigned*) = nullptr;
  int (*common_ancestor)(Device, Device, unsigned*) = nullptr;
  int (*nvlink_state)(Device, unsigned, unsigned*) = nullptr;
  int (*nvlink_version)(Device, unsigned, unsigned*) = nullptr;
  int (*nvlink_remote)(Device, unsigned, PciInfo*) = nullptr;
  int (*nvlink_remote_type)(Device, unsigned, unsigned*) = nullptr;
  int (*field_values)(Device, int, FieldValue*) = nullptr;
};

// Null: ready. Else why not, in words.
const char* open_library();
const Library& library();
Device device();  // of this process; null before open_library()

}  // namespace accel::runtime::nvml
