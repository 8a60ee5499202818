// The container: memory against its limit, processor time withheld, pressure. Control groups of version 2 and the
// memory of version 1. A few reads, about 20 us a sample.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "runtime/sampler/sampler.h"

namespace accel::runtime::cgroup {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr SampleField kFields[] = {
    {"memory_usage", ""},          {"container_memory_bytes", "bytes"}, {"cpu_throttled_s", "s", FieldKind::total},
    {"cpu_pressure_percent", "%"}, {"memory_pressure_percent", "%"},    {"io_pressure_percent", "%"}};

SystemFile g_memory;
SystemFile g_cpu;
SystemFile g_pressure[3];
double g_limit = kUnknown;

double first_number(const char* text) { return *text < '0' || *text > '9' ? kUnknown : std::strtod(text, nullptr); }

double after(const char* text, const char* key) {
  const char* at = std::strstr(text, key);
  return at == nullptr ? kUnknown : first_number(at + std::strlen(key));
}

double file_number(const char* folder, const char* name) {
  char path[512];
  SystemFile file;
  std::snprintf(path, sizeof path, "%s/%s", folder, name);
  if (!file.open(path)) return kUnknown;
  const double value = first_number(file.read());  // "max" is no number
  file.close();
  return value;
}

double machine_memory() {
  SystemFile file;
  if (!file.open("/proc/meminfo")) return kUnknown;
  const char* text = file.read();
  const char* at = std::strstr(text, "MemTotal:");
  const double kib = at == nullptr ? kUnknown : static_cast<double>(std::strtoull(at + 9, nullptr, 10));
  file.close();
  return kib * 1024;
}

// The group's folder as this process sees it: inside a container its own group is often the root of the mount.
bool folder_of(char* folder, std::size_t size, bool& second_version) {
  SystemFile file;
  if (!file.open("/proc/self/cgroup")) return false;
  const char* text = file.read();
  const char* unified = std::strstr(text, "0::");
  char group[256] = {};
  if (unified != nullptr) std::sscanf(unified + 3, "%255[^\n]", group);
  file.close();
  const char* const candidates[][2] = {
      {"/sys/fs/cgroup", group}, {"/sys/fs/cgroup", ""}, {"/sys/fs/cgroup/memory", ""}};
  for (int i = 0; i < 3; ++i) {
    std::snprintf(folder, size, "%s%s", candidates[i][0],
                  std::strcmp(candidates[i][1], "/") == 0 ? "" : candidates[i][1]);
    second_version = i < 2;
    const double used = file_number(folder, second_version ? "memory.current" : "memory.usage_in_bytes");
    if (used == used) return true;
  }
  return false;
}

const char* open() {
  char folder[400];
  char path[512];
  bool second_version = true;
  if (!folder_of(folder, sizeof folder, second_version))
    return "no memory figures of a control group: nothing limits this process, or /sys/fs/cgroup is not mounted";
  std::snprintf(path, sizeof path, "%s/%s", folder, second_version ? "memory.current" : "memory.usage_in_bytes");
  g_memory.open(path);
  g_limit = file_number(folder, second_version ? "memory.max" : "memory.limit_in_bytes");
  const double machine = machine_memory();
  if (g_limit != g_limit || g_limit > machine) g_limit = machine;
  if (!second_version) return nullptr;
  std::snprintf(path, sizeof path, "%s/cpu.stat", folder);
  g_cpu.open(path);
  constexpr const char* kPressure[] = {"cpu.pressure", "memory.pressure", "io.pressure"};
  for (int i = 0; i < 3; ++i) {
    std::snprintf(path, sizeof path, "%s/%s", folder, kPressure[i]);
    g_pressure[i].open(path);
  }
  return nullptr;
}

void sample(std::int64_t /*now_ns*/, double* values) {
  values[1] = first_number(g_memory.read());
  values[0] = values[1] / g_limit;
  values[2] = after(g_cpu.read(), "throttled_usec ") * 1e-6;
  for (int i = 0; i < 3; ++i) values[3 + i] = after(g_pressure[i].read(), "some avg10=");
}

void close() {
  g_memory.close();
  g_cpu.close();
  for (SystemFile& file : g_pressure) file.close();
}

}  // namespace

extern const SamplerDescriptor kSampler;
const SamplerDescriptor kSampler = {"cgroup",    NumberSource::cgroup,
                                    kFields,     sizeof kFields / sizeof kFields[0],
                                    100'000'000, 100'000'000,
                                    0,           open,
                                    sample,      close};

}  // namespace accel::runtime::cgroup
