// The process itself: processor time, memory, faults, switches, input and output. getrusage and three reads of /proc,
// about 10 us a sample.
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "runtime/sampler/sampler.h"

namespace accel::runtime::process {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr SampleField kFields[] = {
    {"cpu_share", ""},       {"rss_bytes", "bytes"},     {"cpu_user_s", "s"},        {"cpu_system_s", "s"},
    {"major_faults", ""},    {"minor_faults", ""},       {"voluntary_switches", ""}, {"forced_switches", ""},
    {"read_bytes", "bytes"}, {"written_bytes", "bytes"}, {"run_queue_delay_s", "s"},
};

SystemFile g_statm;
SystemFile g_io;
SystemFile g_schedstat;
double g_cores = 1;
double g_last_cpu_s = kUnknown;
std::int64_t g_last_ns = 0;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// The number behind `key` in "key: value" lines.
double value_of(const char* text, const char* key) {
  const char* at = std::strstr(text, key);
  return at == nullptr ? kUnknown : static_cast<double>(std::strtoull(at + std::strlen(key), nullptr, 10));
}

double number_at(const char* text, int place) {
  for (; place > 0 && *text != 0; --place) {
    const char* space = std::strchr(text, ' ');
    if (space == nullptr) return kUnknown;
    text = space + 1;
  }
  return *text == 0 ? kUnknown : static_cast<double>(std::strtoull(text, nullptr, 10));
}

const char* open() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) g_cores = CPU_COUNT(&allowed);
  g_last_cpu_s = kUnknown;
  g_statm.open("/proc/self/statm");
  g_io.open("/proc/self/io");
  g_schedstat.open("/proc/self/schedstat");
  return nullptr;
}

void sample(std::int64_t now_ns, double* values) {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    const double cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    const double since_s = static_cast<double>(now_ns - g_last_ns) * 1e-9;
    if (g_last_cpu_s == g_last_cpu_s && since_s > 0) values[0] = (cpu_s - g_last_cpu_s) / since_s / g_cores;
    g_last_cpu_s = cpu_s;
    g_last_ns = now_ns;
    values[2] = seconds(usage.ru_utime);
    values[3] = seconds(usage.ru_stime);
    values[4] = static_cast<double>(usage.ru_majflt);
    values[5] = static_cast<double>(usage.ru_minflt);
    values[6] = static_cast<double>(usage.ru_nvcsw);
    values[7] = static_cast<double>(usage.ru_nivcsw);
  }
  values[1] = number_at(g_statm.read(), 1) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  const char* io = g_io.read();
  values[8] = value_of(io, "read_bytes: ");
  values[9] = value_of(io, "\nwrite_bytes: ");
  values[10] = number_at(g_schedstat.read(), 1) * 1e-9;  // of the main thread
}

void close() {
  g_statm.close();
  g_io.close();
  g_schedstat.close();
}

}  // namespace

extern const SamplerDescriptor kSampler;
const SamplerDescriptor kSampler = {"process",   NumberSource::process,
                                    kFields,     sizeof kFields / sizeof kFields[0],
                                    100'000'000, 10'000'000,
                                    0,           open,
                                    sample,      close};

}  // namespace accel::runtime::process
