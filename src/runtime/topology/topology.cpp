#include "runtime/topology/topology.h"

#include <strings.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "runtime/sampler/nvml_library.h"
#include "runtime/topology/pci_path.h"

namespace accel::runtime {
namespace {

constexpr std::size_t kMostGpus = 16;
constexpr std::size_t kMostCards = 32;
constexpr unsigned kMostLinks = 32;  // 18 on today's products; a link that is not there answers with an error
constexpr std::size_t kTextBytes = std::size_t{48} << 10;

struct Gpu {
  nvml::Device device = nullptr;
  char name[96] = {};
  char uuid[96] = {};
  char pci[32] = {};
  PciPlace place;
  std::int64_t generation = -1;
  std::int64_t generation_max = -1;
  std::int64_t generation_of_device = -1;
  std::int64_t width = -1;
  std::int64_t width_max = -1;
  bool has_link[kMostLinks] = {};
  bool active[kMostLinks] = {};
  unsigned to_gpu[kMostGpus] = {};  // active links by the GPU at their other end
  unsigned to_switch = 0;
  std::int64_t version = -1;
  double link_gbps = 0;  // each active link, one direction; 0 = not stated
};

struct Host {
  Gpu gpus[kMostGpus];
  std::size_t gpu_count = 0;
  NetworkCard cards[kMostCards];
  std::size_t card_count = 0;
};

char g_text[kTextBytes];
std::atomic<std::size_t> g_length{0};
DeviceLink g_own;
Host g_host;
bool g_taken = false;

// Appends; what does not fit is left out from there on.
class Text {
 public:
  Text(char* out, std::size_t size) : out_(out), size_(size) { out_[0] = 0; }
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    va_list values;
    va_start(values, format);
    const int wrote = std::vsnprintf(out_ + used_, size_ - used_, format, values);
    va_end(values);
    if (wrote < 0 || static_cast<std::size_t>(wrote) >= size_ - used_) {
      out_[used_] = 0;
      size_ = used_ + 1;
    } else {
      used_ += static_cast<std::size_t>(wrote);
    }
  }
  std::size_t length() const { return used_; }

 private:
  char* out_;
  std::size_t size_;
  std::size_t used_ = 0;
};

std::int64_t ask(int (*function)(nvml::Device, unsigned*), nvml::Device device) {
  unsigned value = 0;
  return function != nullptr && function(device, &value) == 0 ? std::int64_t{value} : -1;
}

bool same_address(const char* a, const char* b) {
  // NVML writes the domain with 8 digits, older interfaces with 4.
  const std::size_t left = std::strlen(a);
  const std::size_t right = std::strlen(b);
  constexpr std::size_t kShort = 12;  // 0000:18:00.0
  return left >= kShort && right >= kShort && ::strcasecmp(a + left - kShort, b + right - kShort) == 0;
}

void take_link(Host& host, Gpu& gpu, unsigned link) {
  constexpr unsigned kGpu = 0;
  constexpr unsigned kSwitch = 2;
  const nvml::Library& nvml = nvml::library();
  unsigned state = 0;
  if (nvml.nvlink_state(gpu.device, link, &state) != 0) return;
  gpu.has_link[link] = true;
  gpu.active[link] = state == 1;
  if (!gpu.active[link]) return;
  unsigned number = 0;
  if (nvml.nvlink_version != nullptr && nvml.nvlink_version(gpu.device, link, &number) == 0) gpu.version = number;
  unsigned type = ~0U;
  const bool typed = nvml.nvlink_remote_type != nullptr && nvml.nvlink_remote_type(gpu.device, link, &type) == 0;
  if (typed && type == kSwitch) {
    ++gpu.to_switch;
    return;
  }
  nvml::PciInfo remote{};
  if ((typed && type != kGpu) || nvml.nvlink_remote == nullptr || nvml.nvlink_remote(gpu.device, link, &remote) != 0)
    return;
  remote.bus_id[sizeof remote.bus_id - 1] = 0;
  for (std::size_t other = 0; other < host.gpu_count; ++other) {
    if (same_address(host.gpus[other].pci, remote.bus_id)) ++gpu.to_gpu[other];
  }
}

// MB/s of each active link, one direction.
void take_link_speed(Gpu& gpu) {
  constexpr unsigned kSpeedOfActiveLinks = 90;  // NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON
  constexpr unsigned kUnsigned = 1;             // NVML_VALUE_TYPE_UNSIGNED_INT
  nvml::FieldValue value{};
  value.field = kSpeedOfActiveLinks;
  const nvml::Library& nvml = nvml::library();
  if (nvml.field_values == nullptr || nvml.field_values(gpu.device, 1, &value) != 0 || value.result != 0 ||
      value.type != kUnsigned)
    return;
  unsigned megabytes = 0;
  std::memcpy(&megabytes, &value.value, sizeof megabytes);
  gpu.link_gbps = megabytes / 1000.0;
}

void take_gpu(unsigned index, Host& host) {
  const nvml::Library& nvml = nvml::library();
  Gpu& gpu = host.gpus[host.gpu_count];
  if (nvml.by_index(index, &gpu.device) != 0) gpu.device = nullptr;
  ++host.gpu_count;  // the index is the position
  if (gpu.device == nullptr) return;
  if (nvml.name == nullptr || nvml.name(gpu.device, gpu.name, sizeof gpu.name) != 0) gpu.name[0] = 0;
  if (nvml.uuid == nullptr || nvml.uuid(gpu.device, gpu.uuid, sizeof gpu.uuid) != 0) gpu.uuid[0] = 0;
  nvml::PciInfo pci{};
  if (nvml.pci_info != nullptr && nvml.pci_info(gpu.device, &pci) == 0) {
    std::snprintf(gpu.pci, sizeof gpu.pci, "%.*s", static_cast<int>(sizeof pci.bus_id - 1), pci.bus_id);
    gpu.place = place_of(gpu.pci);
  }
  gpu.generation = ask(nvml.pcie_generation, gpu.device);
  gpu.generation_max = ask(nvml.pcie_generation_max, gpu.device);
  gpu.generation_of_device = ask(nvml.pcie_generation_of_device, gpu.device);
  gpu.width = ask(nvml.pcie_width, gpu.device);
  gpu.width_max = ask(nvml.pcie_width_max, gpu.device);
}

void take_host(Host& host) {
  const nvml::Library& nvml = nvml::library();
  unsigned count = 0;
  if (nvml.count == nullptr || nvml.by_index == nullptr || nvml.count(&count) != 0) return;
  for (unsigned i = 0; i < count && i < kMostGpus; ++i) take_gpu(i, host);
  for (std::size_t i = 0; i < host.gpu_count; ++i) {
    Gpu& gpu = host.gpus[i];
    if (gpu.device == nullptr || nvml.nvlink_state == nullptr) continue;
    for (unsigned link = 0; link < kMostLinks; ++link) take_link(host, gpu, link);
    if (gpu.version >= 0) take_link_speed(gpu);
  }
  host.card_count = network_cards(host.cards, kMostCards);
}

const char* ancestor_word(nvml::Device a, nvml::Device b) {
  unsigned level = 0;
  const nvml::Library& nvml = nvml::library();
  if (nvml.common_ancestor == nullptr || nvml.common_ancestor(a, b, &level) != 0) return nullptr;
  switch (level) {
    case 0:
    case 10:
      return "PIX";
    case 20:
      return "PXB";
    case 30:
      return "PHB";
    case 40:
      return "NODE";
    case 50:
      return "SYS";
    default:
      return nullptr;
  }
}

void add_cell(Text& text, const Host& host, std::size_t a, std::size_t b) {
  if (a == b) return text.add("\t X ");
  const std::size_t gpus = host.gpu_count;
  const char* word = nullptr;
  if (a < gpus && b < gpus) {
    const Gpu& left = host.gpus[a];
    const Gpu& right = host.gpus[b];
    // Switches of one host are taken to be joined, as nvidia-smi does.
    const unsigned switched = left.to_switch < right.to_switch ? left.to_switch : right.to_switch;
    const unsigned lanes = left.to_gpu[b] + switched;
    if (lanes > 0) return text.add("\tNV%u", lanes);
    if (left.device != nullptr && right.device != nullptr) word = ancestor_word(left.device, right.device);
  }
  const PciPlace& from = a < gpus ? host.gpus[a].place : host.cards[a - gpus].place;
  const PciPlace& to = b < gpus ? host.gpus[b].place : host.cards[b - gpus].place;
  if (word == nullptr) word = path_word(from, to);
  text.add("\t%s", word == nullptr ? "N/A" : word);
}

void add_name(Text& text, const Host& host, std::size_t at) {
  if (at < host.gpu_count)
    text.add("GPU%zu", at);
  else
    text.add("NIC%zu", at - host.gpu_count);
}

void add_matrix(Text& text, const Host& host) {
  const std::size_t count = host.gpu_count + host.card_count;
  for (std::size_t i = 0; i < count; ++i) {
    text.add("\t");
    add_name(text, host, i);
  }
  text.add("\tCPU Affinity\tNUMA Affinity\n");
  for (std::size_t row = 0; row < count; ++row) {
    add_name(text, host, row);
    for (std::size_t column = 0; column < count; ++column) add_cell(text, host, row, column);
    const PciPlace& place = row < host.gpu_count ? host.gpus[row].place : host.cards[row - host.gpu_count].place;
    text.add("\t%s\t", place.processors);
    if (place.numa_node >= 0) text.add("%d", place.numa_node);
    text.add("\n");
  }
  if (host.card_count > 0) text.add("\nNIC Legend:\n\n");
  for (std::size_t i = 0; i < host.card_count; ++i) text.add("  NIC%zu: %s\n", i, host.cards[i].name);
}

void add_links(Text& text, const Host& host) {
  for (std::size_t i = 0; i < host.gpu_count; ++i) {
    const Gpu& gpu = host.gpus[i];
    bool any = false;
    for (unsigned link = 0; link < kMostLinks; ++link) any = any || gpu.has_link[link];
    if (!any) continue;
    text.add("GPU %zu: %s (UUID: %s)\n", i, gpu.name, gpu.uuid);
    for (unsigned link = 0; link < kMostLinks; ++link) {
      if (!gpu.has_link[link]) continue;
      if (!gpu.active[link]) {
        text.add("\t Link %u: <inactive>\n", link);
      } else if (gpu.link_gbps > 0) {
        text.add("\t Link %u: %.3f GB/s\n", link, gpu.link_gbps);
      }
    }
  }
}

void add_number(Text& text, std::int64_t value) {
  if (value >= 0)
    text.add(", %lld", static_cast<long long>(value));
  else
    text.add(", [N/A]");
}

void add_query(Text& text, const Host& host) {
  text.add(
      "index, name, uuid, pci.bus_id, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, "
      "pcie.link.width.max\n");
  for (std::size_t i = 0; i < host.gpu_count; ++i) {
    const Gpu& gpu = host.gpus[i];
    if (gpu.device == nullptr) continue;
    text.add("%zu, %s, %s, %s", i, gpu.name, gpu.uuid, gpu.pci);
    add_number(text, gpu.generation);
    add_number(text, gpu.generation_max);
    add_number(text, gpu.width);
    add_number(text, gpu.width_max);
    text.add("\n");
  }
}

void take_own(const Host& host, DeviceLink& own) {
  for (std::size_t i = 0; i < host.gpu_count; ++i) {
    const Gpu& gpu = host.gpus[i];
    if (gpu.device == nullptr || gpu.device != nvml::device()) continue;
    own = {static_cast<std::int64_t>(i),
           gpu.generation,
           gpu.generation_max,
           gpu.generation_of_device,
           gpu.width,
           gpu.width_max,
           -1,
           gpu.version,
           gpu.place.numa_node};
    for (unsigned link = 0; link < kMostLinks; ++link) {
      if (!gpu.has_link[link]) continue;
      if (own.nvlinks < 0) own.nvlinks = 0;
      own.nvlinks += gpu.active[link] ? 1 : 0;
    }
  }
}

}  // namespace

std::size_t write_topology(char* out, std::size_t size, DeviceLink& own) {
  g_host = Host();
  own = DeviceLink();
  Text text(out, size);
  take_host(g_host);
  if (g_host.gpu_count == 0) return 0;
  take_own(g_host, own);
  add_matrix(text, g_host);
  add_links(text, g_host);
  add_query(text, g_host);
  return text.length();
}

void take_topology() {
  if (g_taken) return;
  g_taken = true;
  const std::size_t length = write_topology(g_text, sizeof g_text, g_own);
  g_length.store(length, std::memory_order_release);
}

std::string_view topology_text() { return {g_text, g_length.load(std::memory_order_acquire)}; }
const DeviceLink& device_link() { return g_own; }

}  // namespace accel::runtime
