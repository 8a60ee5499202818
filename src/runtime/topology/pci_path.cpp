#include "runtime/topology/pci_path.h"

#include <dirent.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/sampler/sampler.h"

namespace accel::runtime {
namespace {

constexpr std::size_t kMostParts = 24;

void read_line(const char* folder, const char* name, char* out, std::size_t size) {
  char path[400];
  std::snprintf(path, sizeof path, "%s/%s", folder, name);
  out[0] = 0;
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return;
  if (std::fgets(out, static_cast<int>(size), file) == nullptr) out[0] = 0;
  out[std::strcspn(out, "\n")] = 0;
  std::fclose(file);
}

// The folder of the device behind the link, as the kernel nests bridges. Tests have a root of their own in front.
PciPlace place_behind(const char* link) {
  PciPlace place;
  char full[400];
  char real[PATH_MAX];
  system_path(link, full, sizeof full);
  if (::realpath(full, real) == nullptr) return place;
  const char* devices = std::strstr(real, "/sys/devices/");
  if (devices == nullptr || std::strlen(devices) >= sizeof place.path) return place;
  std::snprintf(place.path, sizeof place.path, "%s", devices);
  read_line(real, "local_cpulist", place.processors, sizeof place.processors);
  char node[16];
  read_line(real, "numa_node", node, sizeof node);
  char* end = nullptr;
  const long number = std::strtol(node, &end, 10);
  if (end != node && number >= 0 && number < INT_MAX) place.numa_node = static_cast<int>(number);
  return place;
}

// "0000:18:00.0": the last part of the path of a PCI function; devices on other buses have none.
bool is_pci(const char* path) {
  const char* last = std::strrchr(path, '/');
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  return last != nullptr && std::sscanf(last + 1, "%x:%x:%x.%x", &domain, &bus, &device, &function) == 4;
}

struct Parts {
  const char* at[kMostParts];
  std::size_t length[kMostParts];
  std::size_t count = 0;
};

Parts parts_of(const char* path) {
  Parts parts;
  while (*path != 0 && parts.count < kMostParts) {
    while (*path == '/') ++path;
    const std::size_t length = std::strcspn(path, "/");
    if (length == 0) break;
    parts.at[parts.count] = path;
    parts.length[parts.count++] = length;
    path += length;
  }
  return parts;
}

bool same(const Parts& a, const Parts& b, std::size_t part) {
  return a.length[part] == b.length[part] && std::memcmp(a.at[part], b.at[part], a.length[part]) == 0;
}

bool taken(const NetworkCard* cards, std::size_t count, const PciPlace& place) {
  for (std::size_t i = 0; i < count; ++i) {
    if (std::strcmp(cards[i].place.path, place.path) == 0) return true;
  }
  return false;
}

std::size_t cards_in(const char* folder, NetworkCard* cards, std::size_t count, std::size_t most) {
  constexpr std::size_t kMostEntries = 4096;  // a host of many containers has many interfaces
  char full[400];
  system_path(folder, full, sizeof full);
  DIR* entries = ::opendir(full);
  if (entries == nullptr) return count;
  std::size_t seen = 0;
  for (const dirent* entry = ::readdir(entries); entry != nullptr && count < most && seen < kMostEntries;
       entry = ::readdir(entries), ++seen) {
    const std::size_t length = std::strlen(entry->d_name);
    if (entry->d_name[0] == '.' || length >= sizeof cards[0].name) continue;
    char link[400];
    std::snprintf(link, sizeof link, "%s/%s/device", folder, entry->d_name);
    const PciPlace place = place_behind(link);
    if (place.path[0] == 0 || !is_pci(place.path) || taken(cards, count, place)) continue;
    std::memcpy(cards[count].name, entry->d_name, length + 1);
    cards[count++].place = place;
  }
  ::closedir(entries);
  return count;
}

int by_name(const void* a, const void* b) {
  const auto* first = static_cast<const NetworkCard*>(a);
  const auto* second = static_cast<const NetworkCard*>(b);
  const std::size_t left = std::strlen(first->name);
  const std::size_t right = std::strlen(second->name);
  if (left != right) return left < right ? -1 : 1;  // mlx5_2 before mlx5_10
  return std::strcmp(first->name, second->name);
}

}  // namespace

PciPlace place_of(const char* address) {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  if (std::sscanf(address, "%x:%x:%x.%x", &domain, &bus, &device, &function) < 3) return {};
  char link[64];
  std::snprintf(link, sizeof link, "/sys/bus/pci/devices/%04x:%02x:%02x.%x", domain, bus & 0xFF, device & 0x1F,
                function & 0x7);
  return place_behind(link);
}

const char* path_word(const PciPlace& a, const PciPlace& b) {
  if (a.path[0] == 0 || b.path[0] == 0) return nullptr;
  const Parts left = parts_of(a.path);
  const Parts right = parts_of(b.path);
  std::size_t common = 0;
  while (common < left.count && common < right.count && same(left, right, common)) ++common;
  constexpr std::size_t kRoot = 3;  // sys, devices, pci0000:15
  if (common < kRoot) {
    if (a.numa_node < 0 || b.numa_node < 0) return "SYS";
    return a.numa_node == b.numa_node ? "NODE" : "SYS";
  }
  if (common == kRoot) return "PHB";
  // Below the bridge that both share: the port of a switch and the device.
  constexpr std::size_t kOneSwitch = 2;
  return left.count - common <= kOneSwitch && right.count - common <= kOneSwitch ? "PIX" : "PXB";
}

std::size_t network_cards(NetworkCard* cards, std::size_t most) {
  std::size_t count = cards_in("/sys/class/infiniband", cards, 0, most);
  count = cards_in("/sys/class/net", cards, count, most);
  std::qsort(cards, count, sizeof cards[0], by_name);
  return count;
}

}  // namespace accel::runtime
