/* A libnvidia-ml for tests: devices whose figures follow a counter that moves with every call of nvmlGpmSampleGet, and
 * whose GPM counters refresh at every second one, as the real ones do every 100 ms. FAKE_NVML_GPUS: how many [1], all
 * joined by 18 NVLinks through a switch but for the last link of each, which is down; device 3 has none. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  unsigned long long total, free, used;
} Memory;
typedef struct {
  unsigned gpu, memory;
} Utilization;
typedef struct {
  unsigned id;
  int result;
  double value;
  const char* info[3];
} Metric;
typedef struct {
  unsigned version, count;
  void* first;
  void* second;
  Metric metrics[512];
} Metrics;
typedef struct {
  unsigned version, supported;
} Support;
typedef struct {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
} Event;

typedef struct {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
} PciInfo;
typedef struct {
  unsigned field, scope;
  long long timestamp, latency;
  unsigned type;
  int result;
  unsigned long long value;
} FieldValue;

enum { kMostDevices = 8, kLinks = 18 };
static int devices[kMostDevices];
static int events;

static unsigned device_count(void) {
  const char* count = getenv("FAKE_NVML_GPUS");
  return count == NULL ? 1 : (unsigned)atoi(count);
}
static unsigned index_of(void* handle) { return (unsigned)((int*)handle - devices); }

static struct {
  int taken_at;
} samples[2];
static int samples_made, samples_taken, xid_given;

int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = device_count();
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = &devices[index % kMostDevices];
  return index < device_count() ? 0 : 2;
}
int nvmlDeviceGetName(void* handle, char* name, unsigned size) {
  (void)handle;
  strncpy(name, "NVIDIA H200", size);
  return 0;
}
int nvmlDeviceGetUUID(void* handle, char* uuid, unsigned size) {
  if (index_of(handle) == 0)
    strncpy(uuid, "GPU-fake", size);
  else
    snprintf(uuid, size, "GPU-fake-%u", index_of(handle));
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void* handle, PciInfo* pci) {
  memset(pci, 0, sizeof *pci);
  pci->bus = 0x18 + index_of(handle);
  snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", pci->bus);
  return 0;
}
int nvmlDeviceGetTopologyCommonAncestor(void* a, void* b, unsigned* level) {
  *level = index_of(a) / 2 == index_of(b) / 2 ? 40 : 50;
  return 0;
}
int nvmlDeviceGetNvLinkState(void* handle, unsigned link, unsigned* state) {
  if (link >= kLinks || index_of(handle) == 3) return 2;
  *state = link < kLinks - 1;
  return 0;
}
int nvmlDeviceGetNvLinkVersion(void* handle, unsigned link, unsigned* version) {
  (void)handle;
  (void)link;
  *version = 4;
  return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void* handle, unsigned link, unsigned* type) {
  (void)handle;
  (void)link;
  *type = 2;
  return 0;
}
int nvmlDeviceGetFieldValues(void* handle, int count, FieldValue* values) {
  (void)handle;
  for (int i = 0; i < count; ++i) {
    values[i].result = values[i].field == 90 ? 0 : 3;
    values[i].type = 1;
    values[i].value = 26562;
  }
  return 0;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void* handle, unsigned* generation) {
  (void)handle;
  *generation = 5;
  return 0;
}
int nvmlDeviceGetGpuMaxPcieLinkGeneration(void* handle, unsigned* generation) {
  (void)handle;
  *generation = 5;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(void* handle, unsigned* width) {
  (void)handle;
  *width = 16;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* handle, Memory* memory) {
  (void)handle;
  memory->total = 1000;
  memory->used = 250;
  memory->free = 750;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* handle, Utilization* rates) {
  (void)handle;
  rates->gpu = 50;
  rates->memory = 5;
  return 0;
}
int nvmlDeviceGetClockInfo(void* handle, int domain, unsigned* mhz) {
  (void)handle;
  *mhz = domain == 1 ? 1455 : 2619;
  return 0;
}
int nvmlDeviceGetPowerUsage(void* handle, unsigned* milliwatts) {
  (void)handle;
  *milliwatts = 700000;
  return 0;
}
int nvmlDeviceGetTemperature(void* handle, int sensor, unsigned* celsius) {
  (void)handle;
  *celsius = 61;
  return sensor == 0 ? 0 : 2;
}
int nvmlDeviceGetCurrentClocksEventReasons(void* handle, unsigned long long* bits) {
  (void)handle;
  *bits = 0x4;
  return 0;
}
int nvmlDeviceGetTotalEccErrors(void* handle, int type, int since, unsigned long long* count) {
  (void)handle;
  *count = type == 0 ? 3 : 0;
  return since == 0 ? 0 : 2;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void* handle, unsigned* generation) {
  (void)handle;
  *generation = 5;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkWidth(void* handle, unsigned* width) {
  (void)handle;
  *width = 8;
  return 0;
}
/* Not supported here: the field stays unknown. */
int nvmlDeviceGetPcieReplayCounter(void* handle, unsigned* count) {
  (void)handle;
  (void)count;
  return 3;
}
int nvmlEventSetCreate(void** set) {
  *set = &events;
  return 0;
}
int nvmlDeviceRegisterEvents(void* handle, unsigned long long types, void* set) {
  (void)handle;
  return types == 0x8 && set == &events ? 0 : 2;
}
int nvmlEventSetWait_v2(void* set, Event* event, unsigned timeout_ms) {
  (void)set;
  if (timeout_ms != 0 || xid_given) return 10;
  xid_given = 1;
  event->device = &devices[0];
  event->type = 0x8;
  event->data = 79;
  return 0;
}
int nvmlGpmQueryDeviceSupport(void* handle, Support* support) {
  (void)handle;
  support->supported = 1;
  return 0;
}
int nvmlGpmSampleAlloc(void** sample) {
  *sample = &samples[samples_made++ % 2];
  return 0;
}
int nvmlGpmSampleGet(void* handle, void* sample) {
  (void)handle;
  ((struct { int taken_at; }*)sample)->taken_at = ++samples_taken / 2;
  return 0;
}
/* A pair without a refresh in between reads 0 and NaN without an error. */
int nvmlGpmMetricsGet(Metrics* metrics) {
  const int first = ((struct { int taken_at; }*)metrics->first)->taken_at;
  const int second = ((struct { int taken_at; }*)metrics->second)->taken_at;
  for (unsigned i = 0; i < metrics->count; ++i) {
    Metric* metric = &metrics->metrics[i];
    metric->result = metric->id == 60 || metric->id == 61 ? 3 : 0; /* no NVLink */
    metric->value = first == second ? (metric->id == 10 ? NAN : 0) : metric->id == 2 ? 94.9 : metric->id;
  }
  return 0;
}
