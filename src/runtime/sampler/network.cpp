// Network and InfiniBand: bytes, errors, losses, retransmissions, of all interfaces but the loopback together, as they
// stand since boot. A few small reads, 20 to 60 us a sample.
#include <dirent.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "runtime/sampler/sampler.h"

namespace accel::runtime::network {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
enum Field : std::size_t {
  kReceived,
  kSent,
  kErrors,
  kDropped,
  kRetransmits,
  kIbReceived,
  kIbSent,
  kIbErrors,
  kIbDiscards,
  kIbLinkDowns,
  kFieldCount,
};
constexpr SampleField kFields[] = {
    {"net_received_bytes", "bytes", FieldKind::total},
    {"net_sent_bytes", "bytes", FieldKind::total},
    {"net_errors", "", FieldKind::total},
    {"net_dropped", "", FieldKind::total},
    {"tcp_retransmits", "", FieldKind::total},
    {"ib_received_bytes", "bytes", FieldKind::total},
    {"ib_sent_bytes", "bytes", FieldKind::total},
    {"ib_errors", "", FieldKind::total},
    {"ib_discards", "", FieldKind::total},
    {"ib_link_downs", "", FieldKind::total},
};
static_assert(sizeof kFields / sizeof kFields[0] == kFieldCount);

constexpr double kIbWordBytes = 4;  // its data counters count words of four bytes
struct IbCounter {
  const char* file;
  Field field;
  double scale;
};
constexpr IbCounter kIbCounters[] = {
    {"port_rcv_data", kIbReceived, kIbWordBytes},
    {"port_xmit_data", kIbSent, kIbWordBytes},
    {"symbol_error", kIbErrors, 1},
    {"port_rcv_errors", kIbErrors, 1},
    {"link_error_recovery", kIbErrors, 1},
    {"local_link_integrity_errors", kIbErrors, 1},
    {"excessive_buffer_overrun_errors", kIbErrors, 1},
    {"port_xmit_discards", kIbDiscards, 1},
    {"link_downed", kIbLinkDowns, 1},
};
constexpr std::size_t kIbCounterCount = sizeof kIbCounters / sizeof kIbCounters[0];
constexpr std::size_t kMostPorts = 16;

SystemFile g_interfaces;
SystemFile g_snmp;
char g_ports[kMostPorts][96] = {};
std::size_t g_port_count = 0;

void find_ports() {
  g_port_count = 0;
  char folder[256];
  system_path("/sys/class/infiniband", folder, sizeof folder);
  DIR* devices = ::opendir(folder);
  if (devices == nullptr) return;
  for (const dirent* entry = ::readdir(devices); entry != nullptr && g_port_count < kMostPorts;
       entry = ::readdir(devices)) {
    if (entry->d_name[0] == '.') continue;
    for (int port = 1; port <= 2 && g_port_count < kMostPorts; ++port) {
      char* place = g_ports[g_port_count];
      std::snprintf(place, sizeof g_ports[0], "/sys/class/infiniband/%.32s/ports/%d/counters", entry->d_name, port);
      char probe[160];
      std::snprintf(probe, sizeof probe, "%s/port_rcv_data", place);
      SystemFile file;
      if (file.open(probe)) ++g_port_count;
      file.close();
    }
  }
  ::closedir(devices);
}

const char* open() {
  const bool interfaces = g_interfaces.open("/proc/self/net/dev");
  g_snmp.open("/proc/self/net/snmp");
  find_ports();
  return interfaces || g_port_count > 0
             ? nullptr
             : "no network figures: /proc/self/net/dev is not there and no InfiniBand port is";
}

// "  eth0: BYTES packets errs drop fifo frame compressed multicast BYTES packets errs drop ..."
void sample_interfaces(double* values) {
  constexpr int kColumns = 16;
  for (const char* line = g_interfaces.read(); line != nullptr; line = std::strchr(line, '\n')) {
    while (*line == '\n' || *line == ' ') ++line;
    const std::size_t name = std::strcspn(line, ":\n");
    if (line[name] != ':') continue;
    if (name == 2 && std::strncmp(line, "lo", 2) == 0) continue;
    const char* at = line + name + 1;
    double columns[kColumns];
    int count = 0;
    for (; count < kColumns; ++count) {
      char* end = nullptr;
      columns[count] = static_cast<double>(std::strtoull(at, &end, 10));
      if (end == at) break;
      at = end;
    }
    if (count < 12) continue;
    const auto add = [&](Field field, double value) {
      values[field] = values[field] == values[field] ? values[field] + value : value;
    };
    add(kReceived, columns[0]);
    add(kErrors, columns[2] + columns[10]);
    add(kDropped, columns[3] + columns[11]);
    add(kSent, columns[8]);
  }
}

// Two lines "Tcp: NAMES" and "Tcp: VALUES"; the 12th value is RetransSegs.
double retransmits() {
  constexpr int kPlace = 11;  // blanks before it, the first one left out
  const char* names = std::strstr(g_snmp.read(), "\nTcp: ");
  const char* at = names == nullptr ? nullptr : std::strstr(names + 1, "\nTcp: ");
  if (at == nullptr) return kUnknown;
  at += 5;
  for (int i = 0; i < kPlace && at != nullptr; ++i) at = std::strchr(at + 1, ' ');
  return at == nullptr ? kUnknown : static_cast<double>(std::strtoull(at, nullptr, 10));
}

void sample_ports(double* values) {
  for (std::size_t port = 0; port < g_port_count; ++port) {
    for (std::size_t c = 0; c < kIbCounterCount; ++c) {
      char path[160];
      std::snprintf(path, sizeof path, "%s/%s", g_ports[port], kIbCounters[c].file);
      SystemFile file;
      if (!file.open(path)) continue;
      const char* text = file.read();
      if (*text >= '0' && *text <= '9') {
        double& value = values[kIbCounters[c].field];
        const double more = static_cast<double>(std::strtoull(text, nullptr, 10)) * kIbCounters[c].scale;
        value = value == value ? value + more : more;
      }
      file.close();
    }
  }
}

void sample(std::int64_t /*now_ns*/, double* values) {
  sample_interfaces(values);
  values[kRetransmits] = retransmits();
  sample_ports(values);
}

void close() {
  g_interfaces.close();
  g_snmp.close();
}

}  // namespace

extern const SamplerDescriptor kSampler;
const SamplerDescriptor kSampler = {
    "network", NumberSource::network, kFields, kFieldCount, 100'000'000, 100'000'000, 0, open, sample, close};

}  // namespace accel::runtime::network
