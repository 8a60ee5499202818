#include "diagnosis/late_rank_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace accel {
namespace {

using fusion::CounterSummary;
using fusion::RankDigest;

constexpr double kDiffers = 0.05;  // of the peers' median, beyond what the peers differ by among themselves
constexpr std::uint64_t kFewestSamples = 3;
constexpr std::size_t kMostShown = 6;

enum class Reading : std::uint8_t {
  mean,   // a level: its mean counts
  rise,   // a count that only grows: what it grew by
  worst,  // flags: the largest value
};

struct Known {
  std::string_view part;  // of the counter's name
  Reading reading;
  std::string_view unit;
  std::string_view meaning;  // of a difference
};

// The first that a name holds counts.
constexpr std::array kKnown = std::to_array<Known>({
    {"clock_reasons", Reading::worst, "bits", "reasons that hold the clock down (NVML: 4 power, 32 or 64 heat)"},
    {"throttle", Reading::rise, "", "time in which it was held back"},
    {"sm_clock", Reading::mean, "MHz", "clock of its processors"},
    {"clock", Reading::mean, "MHz", "clock"},
    {"temperature", Reading::mean, "C", "temperature"},
    {"power", Reading::mean, "W", "power"},
    {"dram_active", Reading::mean, "", "share of time in which its memory was busy"},
    {"pcie_width", Reading::mean, "lanes", "width that PCIe negotiated"},
    {"pcie_gen", Reading::mean, "", "generation that PCIe negotiated"},
    {"retrans", Reading::rise, "count", "packets that the network sent again"},
    {"symbol_error", Reading::rise, "count", "errors of the network's link"},
    {"rcv_errors", Reading::rise, "count", "errors of the network's port"},
    {"link_downed", Reading::rise, "count", "times that the network's link was lost"},
    {"out_of_sequence", Reading::rise, "count", "packets that came out of order"},
    {"pressure", Reading::mean, "%", "share of time in which its processes waited for it"},
    {"cpu_usage", Reading::mean, "%", "use of its cores"},
});

const Known* known(std::string_view name) {
  const auto at = std::find_if(kKnown.begin(), kKnown.end(),
                               [&](const Known& one) { return name.find(one.part) != std::string_view::npos; });
  return at == kKnown.end() ? nullptr : &*at;
}

double value_of(const CounterSummary& counter, Reading reading) {
  switch (reading) {
    case Reading::mean:
      return counter.mean;
    case Reading::rise:
      return counter.max - counter.min;
    case Reading::worst:
      return counter.max;
  }
  return counter.mean;
}

std::optional<double> value_in(const RankDigest& digest, std::string_view name, Reading reading) {
  for (const CounterSummary& counter : digest.counters)
    if (counter.name == name && counter.count >= kFewestSamples) return value_of(counter, reading);
  return std::nullopt;
}

struct Difference {
  std::string name;
  const Known* known = nullptr;
  double own = 0;
  double usual = 0;
};

std::vector<Difference> differences(const RankDigest& own, const std::vector<const RankDigest*>& peers) {
  std::vector<Difference> found;
  for (const CounterSummary& counter : own.counters) {
    const Known* kind = known(counter.name);
    if (kind == nullptr || counter.count < kFewestSamples) continue;
    std::vector<double> values;
    for (const RankDigest* peer : peers)
      if (const auto value = value_in(*peer, counter.name, kind->reading)) values.push_back(*value);
    if (values.empty()) continue;
    std::sort(values.begin(), values.end());
    const double usual = values[(values.size() - 1) / 2];
    const double value = value_of(counter, kind->reading);
    const double spread = values.back() - values.front();
    if (!std::isfinite(value) || std::abs(value - usual) <= spread + kDiffers * std::abs(usual)) continue;
    found.push_back({counter.name, kind, value, usual});
  }
  return found;
}

std::string nearest_card_text(const fusion::Topology& topology, std::size_t gpu) {
  const fusion::TopologyDevice* nearest = nullptr;
  fusion::Link link;
  for (std::size_t i = 0; i < topology.devices.size(); ++i) {
    if (topology.devices[i].is_gpu) continue;
    if (nearest != nullptr && !fusion::slower(link, topology.link(gpu, i))) continue;
    nearest = &topology.devices[i];
    link = topology.link(gpu, i);
  }
  if (nearest == nullptr) return {};
  return fmt::format(", nearest network card {} ({})", nearest->card.empty() ? nearest->name : nearest->card,
                     fusion::to_string(link));
}

std::string place_text(const fusion::Job& job, std::uint32_t row) {
  const RankDigest& digest = job.set.ranks[row];
  std::string text = fmt::format("rank {} runs on ", job.set.rank_of(row));
  text += digest.host.empty() ? "a host that the recording does not name" : "host " + digest.host;
  std::optional<std::int64_t> index;
  for (const fusion::CommunicationEvent& event : digest.events) {
    if (event.device < 0) continue;
    index = event.device;
    break;
  }
  if (!index) return text;
  text += fmt::format(", device {}", *index);
  std::string pci;
  for (const fusion::DigestDevice& device : digest.devices)
    if (device.index == *index) pci = device.pci;
  const bool known_place = job.topology.topology && job.topology.topology->gpu(*index);
  if (!known_place) return pci.empty() ? text : fmt::format("{} (PCI {})", text, pci);
  const fusion::Topology& topology = *job.topology.topology;
  const std::size_t gpu = topology.gpu(*index).value_or(0);
  if (pci.empty()) pci = topology.devices[gpu].pci;
  if (!pci.empty()) text += fmt::format(" (PCI {})", pci);
  return text + nearest_card_text(topology, gpu);
}

}  // namespace

void add_counter_evidence(const fusion::Job& job, const fusion::Straggler& straggler, Finding& finding) {
  const std::uint32_t row = straggler.ranks.front();
  const RankDigest& own = job.set.ranks[row];
  finding.evidence.push_back({place_text(job, row), 0, "", {}});
  std::vector<const RankDigest*> peers;
  for (std::uint32_t r = 0; r < job.set.ranks.size(); ++r) {
    const bool late = std::find(straggler.ranks.begin(), straggler.ranks.end(), r) != straggler.ranks.end();
    if (!late && job.set.stage[r] == job.set.stage[row]) peers.push_back(&job.set.ranks[r]);
  }
  const std::vector<Difference> found = differences(own, peers);
  for (std::size_t i = 0; i < std::min(found.size(), kMostShown); ++i) {
    const Difference& one = found[i];
    finding.evidence.push_back({fmt::format("{}: {} (its peers: {:.6g})", one.name, one.known->meaning, one.usual),
                                one.own,
                                std::string(one.known->unit),
                                {}});
  }
  if (!found.empty()) return;
  const bool any = std::any_of(own.counters.begin(), own.counters.end(), [](const CounterSummary& counter) {
    return known(counter.name) != nullptr && counter.count >= kFewestSamples;
  });
  finding.evidence.push_back(
      {any ? "its counters do not differ from its peers': why it takes longer is unknown beyond this"
           : "no counters of devices, hosts or networks were recorded: why it takes longer is unknown beyond this",
       0,
       "",
       {}});
}

}  // namespace accel
