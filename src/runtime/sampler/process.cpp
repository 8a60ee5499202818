// The process itself: processor time, memory, faults, switches, input and output. getrusage and three reads of /proc,
// about 10 us a sample.
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "runtime/sampler/sampler.h"

namespace accel::runtime::process {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kFrequencyEveryNs = 1'000'000'000;
constexpr SampleField kFields[] = {
    {"cpu_share", ""},
    {"rss_bytes", "bytes"},
    {"cpu_user_s", "s", FieldKind::total},
    {"cpu_system_s", "s", FieldKind::total},
    {"major_faults", "", FieldKind::total},
    {"minor_faults", "", FieldKind::total},
    {"voluntary_switches", "", FieldKind::total},
    {"forced_switches", "", FieldKind::total},
    {"read_bytes", "bytes", FieldKind::total},
    {"written_bytes", "bytes", FieldKind::total},
    {"run_queue_delay_s", "s", FieldKind::total},
    {"main_thread_cpu_s", "s", FieldKind::total},
    {"cpu_frequency_mhz", "MHz", FieldKind::level, kFrequencyEveryNs},
};

SystemFile g_statm;
SystemFile g_io;
SystemFile g_schedstat;
constexpr std::size_t kFrequencies = 4;
SystemFile g_frequency[kFrequencies];
std::int64_t g_next_frequency_ns = 0;
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

// Mean of a few cores that this process may use, once a second: a read may wake a sleeping core.
double frequency_mhz(std::int64_t now_ns) {
  if (now_ns < g_next_frequency_ns) return kUnknown;
  g_next_frequency_ns = now_ns + kFrequencyEveryNs;
  double sum = 0;
  int count = 0;
  for (SystemFile& file : g_frequency) {
    const double khz = number_at(file.read(), 0);
    if (!(khz > 0)) continue;
    sum += khz;
    ++count;
  }
  return count == 0 ? kUnknown : sum / count * 1e-3;
}

void open_frequencies(const cpu_set_t& allowed) {
  std::size_t opened = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && opened < kFrequencies; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    char path[96];
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu);
    if (!g_frequency[opened].open(path)) return;  // virtual machines rarely have it
    ++opened;
  }
}

const char* open() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) g_cores = CPU_COUNT(&allowed);
  open_frequencies(allowed);
  g_next_frequency_ns = 0;
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
  const char* main_thread = g_schedstat.read();
  values[10] = number_at(main_thread, 1) * 1e-9;
  values[11] = number_at(main_thread, 0) * 1e-9;
  values[12] = frequency_mhz(now_ns);
}

void close() {
  g_statm.close();
  g_io.close();
  g_schedstat.close();
  for (SystemFile& file : g_frequency) file.close();
}

}  // namespace

extern const SamplerDescriptor kSampler;
const SamplerDescriptor kSampler = {"process",   NumberSource::process,
                                    kFields,     sizeof kFields / sizeof kFields[0],
                                    100'000'000, 10'000'000,
                                    0,           open,
                                    sample,      close};

}  // namespace accel::runtime::process
