#include "fusion/digest/communication_events.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/device_timeline.h"
#include "analysis/event_index.h"
#include "fusion/digest/collective_name.h"

namespace accel::fusion {
namespace {

constexpr int kMostAncestors = 64;          // looked at above a launch
constexpr std::uint32_t kMostInside = 512;  // rows looked at inside one coalescing range

bool names_library_range(std::string_view name) {
  for (const std::string_view prefix : {"nccl:", "rccl:", "c10d::", "_c10d_functional::"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

// Names and ranks of the process groups as the file's metadata lists them.
std::map<std::string, std::vector<std::int64_t>> configured_groups(const std::string& distributed_info) {
  std::map<std::string, std::vector<std::int64_t>> groups;
  const auto info = nlohmann::json::parse(distributed_info, nullptr, false);
  if (!info.is_object() || !info.contains("pg_config") || !info["pg_config"].is_array()) return groups;
  for (const auto& group : info["pg_config"]) {
    if (!group.is_object() || !group.contains("pg_name") || !group["pg_name"].is_string()) continue;
    if (!group.contains("ranks")) continue;
    groups[group["pg_name"].get<std::string>()] = parse_ranks(group["ranks"].dump());
  }
  return groups;
}

// What is known about one operation beside its times.
struct Metadata {
  std::string_view name;  // canonical
  std::optional<std::size_t> row;
  std::optional<std::uint32_t> range;  // that launched it together with others, which is why no row is its own
};

// What a coalescing range launched, and what the descriptions inside it say.
struct Coalesced {
  std::string_view name;          // canonical, of the range itself
  std::vector<std::size_t> rows;  // descriptions inside it, in the order of issue
  std::size_t kernels = 0;        // that it launched
  std::size_t seen = 0;           // of them so far
};

class Collector {
 public:
  Collector(const TraceStore& store, const AnalysisResults& results, NameRows& names, RankDigest& digest)
      : store_(store),
        index_(*results.event_index),
        timeline_(*results.device_timeline),
        segmentation_(*results.step_segmentation),
        names_(names),
        digest_(digest),
        configured_(configured_groups(store.process.distributed_info)) {
    for (std::size_t i = 0; i < store.collectives.size(); ++i) {
      if (store.collectives.op[i].valid()) by_op_.emplace_back(store.collectives.op[i].value, i);
      if (store.collectives.kernel[i].valid()) by_kernel_.emplace_back(store.collectives.kernel[i].value, i);
    }
    std::sort(by_op_.begin(), by_op_.end());
    std::sort(by_kernel_.begin(), by_kernel_.end());
  }

  std::uint64_t device_events() {
    std::uint64_t unlaunched = 0;
    std::vector<std::pair<std::uint32_t, Metadata>> found;
    for (std::uint32_t i = 0; i < store_.device_events.size(); ++i) {
      if (store_.device_events.kind[i] != DeviceEventKind::kernel) continue;
      if (index_.communication_name[store_.device_events.name[i].value] == 0) continue;
      if ((store_.device_events.flags[i] & kDeviceNoTiming) != 0) continue;
      if (!store_.device_events.launch[i].valid()) {
        ++unlaunched;
        continue;
      }
      found.emplace_back(i, metadata_of(i));
      if (found.back().second.range) ++ranges_[*found.back().second.range].kernels;
    }
    for (auto& [event, metadata] : found) add_device_event(event, std::move(metadata));
    return unlaunched;
  }

  // Only where the device does not communicate: a library's range on the host is then the operation itself.
  void host_events() {
    std::vector<CommunicationEvent> found;
    for (std::uint32_t t = 0; t < store_.thread_ranges.size(); ++t) {
      std::int64_t covered = std::numeric_limits<std::int64_t>::min();
      for (std::uint32_t i = store_.thread_ranges[t].first; i < store_.thread_ranges[t].second; ++i) {
        if (index_.class_of(store_, i) != NameClass::host_communication) continue;
        const std::string_view name = canonical_collective(store_.text(store_.slices.name[i]));
        const std::int64_t start = store_.slices.start_ns[i];
        if (name.empty() || start < covered || (store_.slices.flags[i] & (kSliceUnfinished | kSliceOutOfRange)) != 0)
          continue;
        covered = start + store_.slices.dur_ns[i];
        found.push_back(host_event(i, name));
      }
    }
    std::sort(found.begin(), found.end(), [](const CommunicationEvent& a, const CommunicationEvent& b) {
      return std::tie(a.start_ns, a.end_ns) < std::tie(b.start_ns, b.end_ns);
    });
    find_issuers(found);
    digest_.events.insert(digest_.events.end(), found.begin(), found.end());
  }

 private:
  std::uint32_t step_of(std::int64_t time_ns) const {
    const std::int32_t step = segmentation_.step_at(time_ns);
    return step < 0 ? kNoRow : static_cast<std::uint32_t>(step);
  }

  static std::optional<std::size_t> find(const std::vector<std::pair<std::uint32_t, std::size_t>>& sorted,
                                         std::uint32_t key) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), std::pair<std::uint32_t, std::size_t>(key, 0));
    return at != sorted.end() && at->first == key ? std::optional(at->second) : std::nullopt;
  }

  bool has_name(std::size_t row) const {
    return !canonical_collective(store_.text(store_.collectives.name[row])).empty();
  }

  // What is described inside a range that launched: one operation is what was launched, several were coalesced.
  const Coalesced& inside(std::uint32_t range) {
    const auto [at, is_new] = ranges_.try_emplace(range);
    Coalesced& found = at->second;
    if (!is_new) return found;
    found.name = canonical_collective(store_.text(store_.slices.name[range]));
    const std::uint32_t last = store_.thread_ranges[store_.slices.thread[range].value].second;
    const std::int64_t end = store_.slice_end_ns(SliceId(range));
    for (std::uint32_t i = range + 1; i < std::min(last, range + kMostInside) && store_.slices.start_ns[i] < end; ++i) {
      const auto row = find(by_op_, i);
      if (row && has_name(*row)) found.rows.push_back(*row);
    }
    return found;
  }

  Metadata metadata_of(std::uint32_t event) {
    Metadata found;
    if (const auto row = find(by_kernel_, event); row && has_name(*row)) found.row = row;
    std::optional<std::uint32_t> range;
    SliceId slice = store_.device_events.launch[event];
    for (int i = 0; i < kMostAncestors && slice.valid() && !found.row; ++i, slice = store_.slices.parent[slice.value]) {
      if (const auto row = find(by_op_, slice.value); row && has_name(*row)) found.row = row;
      if (names_library_range(store_.text(store_.slices.name[slice.value]))) range = slice.value;
    }
    if (!found.row && range) {
      const Coalesced& all = inside(*range);
      found.name = all.name;
      if (all.rows.size() == 1) found.row = all.rows.front();
      if (all.rows.size() > 1) found.range = range;
    }
    if (found.row) found.name = canonical_collective(store_.text(store_.collectives.name[*found.row]));
    if (found.name.empty()) found.name = canonical_collective(store_.text(store_.device_events.name[event]));
    return found;
  }

  std::uint32_t group_of(std::size_t row) {
    ProcessGroup group;
    group.name = store_.text(store_.collectives.group_name[row]);
    group.description = store_.text(store_.collectives.group_description[row]);
    group.ranks = parse_ranks(store_.text(store_.collectives.group_ranks[row]));
    if (group.ranks.empty()) {
      if (const auto known = configured_.find(group.name); known != configured_.end()) group.ranks = known->second;
    }
    return group_row(std::move(group));
  }

  std::uint32_t group_row(ProcessGroup group) {
    const std::int64_t world = digest_.world_size.value_or(0);
    // The default group is everybody; so is the only one that exists.
    constexpr std::int64_t kMostRanks = 1 << 20;
    if (group.ranks.empty() && world > 0 && world <= kMostRanks &&
        (group.description == "default_pg" || (group.name.empty() && configured_.size() <= 1))) {
      for (std::int64_t rank = 0; rank < world; ++rank) group.ranks.push_back(rank);
    }
    const auto [at, is_new] =
        groups_.try_emplace({group.name, group.ranks}, static_cast<std::uint32_t>(digest_.groups.size()));
    if (is_new) digest_.groups.push_back(std::move(group));
    return at->second;
  }

  // Without a description an operation belongs to the only group there is.
  std::uint32_t unnamed_group() {
    ProcessGroup group;
    if (configured_.size() == 1) {
      group.name = configured_.begin()->first;
      group.ranks = configured_.begin()->second;
    }
    return group_row(std::move(group));
  }

  void describe(const Metadata& metadata, CommunicationEvent& event) {
    event.name = names_.row(metadata.name.empty() ? "unknown" : metadata.name);
    event.group = metadata.row ? group_of(*metadata.row) : unnamed_group();
    if (!metadata.row) return;
    const std::size_t row = *metadata.row;
    const CollectiveTable& table = store_.collectives;
    event.sequence = table.sequence[row];
    event.dtype = names_.row(store_.text(table.dtype[row]));
    const std::int64_t size = element_bytes(store_.text(table.dtype[row]));
    const std::int64_t elements = std::max(table.in_elements[row], table.out_elements[row]);
    constexpr std::int64_t kMostElements = std::int64_t{1} << 58;
    if (size > 0 && elements >= 0 && elements < kMostElements) event.bytes = elements * size;
    if (metadata.name == "send") event.peer = table.destination_rank[row];
    if (metadata.name == "recv") event.peer = table.source_rank[row];
  }

  std::string_view name_of(std::size_t row) const {
    return canonical_collective(store_.text(store_.collectives.name[row]));
  }

  // As many kernels as descriptions: one each, in their order. One kernel for several sends and receives is all of them
  // at once; for several collectives of one kind and group it is one that moves what they move together.
  void add_device_event(std::uint32_t i, Metadata metadata) {
    const CommunicationEvent plain = timed_event(i);
    if (!metadata.range) return add(plain, metadata);
    Coalesced& all = ranges_[*metadata.range];
    const std::size_t place = all.seen++;
    if (all.kernels == all.rows.size()) return add(plain, {name_of(all.rows[place]), all.rows[place], {}});
    if (all.kernels != 1) return add(plain, metadata);
    const auto every = [&](auto holds) { return std::all_of(all.rows.begin(), all.rows.end(), holds); };
    if (every([&](std::size_t row) { return is_point_to_point(name_of(row)); })) {
      for (const std::size_t row : all.rows) add(plain, {name_of(row), row, {}});
      return;
    }
    const std::size_t first = all.rows.front();
    const std::uint32_t group = group_of(first);
    if (!every([&](std::size_t row) { return name_of(row) == name_of(first) && group_of(row) == group; }))
      return add(plain, metadata);
    CommunicationEvent joined = plain;
    describe({name_of(first), first, {}}, joined);
    for (std::size_t k = 1; k < all.rows.size(); ++k) {
      CommunicationEvent one;
      describe({name_of(first), all.rows[k], {}}, one);
      joined.bytes =
          joined.bytes == kNotRecorded || one.bytes == kNotRecorded ? kNotRecorded : joined.bytes + one.bytes;
    }
    digest_.events.push_back(joined);
  }

  void add(CommunicationEvent event, const Metadata& metadata) {
    describe(metadata, event);
    digest_.events.push_back(event);
  }

  CommunicationEvent timed_event(std::uint32_t i) const {
    CommunicationEvent event;
    event.place = EventPlace::device;
    event.start_ns = store_.device_events.start_ns[i];
    event.end_ns = timeline_.end_ns(store_, i);
    event.launch_ns = store_.slices.start_ns[store_.device_events.launch[i].value];
    const std::int32_t step = segmentation_.step_of_device_event[i];
    if (step >= 0) event.step = static_cast<std::uint32_t>(step);
    const StreamIndex stream = store_.device_events.stream[i];
    if (stream.valid()) {
      event.stream = store_.streams.stream[stream.value];
      event.device = static_cast<std::int32_t>(store_.streams.device[stream.value]);
    }
    return event;
  }

  CommunicationEvent host_event(std::uint32_t slice, std::string_view name) {
    CommunicationEvent event;
    event.place = EventPlace::host;
    event.start_ns = store_.slices.start_ns[slice];
    event.end_ns = store_.slice_end_ns(SliceId(slice));
    event.step = step_of(event.start_ns);
    Metadata metadata;
    metadata.name = name;
    if (const auto row = find(by_op_, slice); row && has_name(*row)) metadata.row = row;
    describe(metadata, event);
    return event;
  }

  // The op that asked for an operation that another thread then carries out: the n-th with the n-th of the same process
  // and step, if they agree in number and order.
  void find_issuers(std::vector<CommunicationEvent>& found) const {
    std::map<std::uint32_t, std::vector<std::int64_t>> issued;
    for (std::uint32_t i = 0; i < store_.slices.size(); ++i) {
      const std::string_view name = store_.text(store_.slices.name[i]);
      if (!name.starts_with("c10d::") || canonical_collective(name).empty()) continue;
      const std::uint32_t step = step_of(store_.slices.start_ns[i]);
      if (step != kNoRow) issued[step].push_back(store_.slices.start_ns[i]);
    }
    std::map<std::uint32_t, std::vector<CommunicationEvent*>> events;
    for (CommunicationEvent& event : found) events[event.step].push_back(&event);
    for (auto& [step, times] : issued) {
      std::sort(times.begin(), times.end());
      const std::vector<CommunicationEvent*>& of_step = events[step];
      if (of_step.size() != times.size()) continue;
      bool ordered = true;
      for (std::size_t i = 0; i < times.size(); ++i) ordered = ordered && times[i] <= of_step[i]->start_ns;
      for (std::size_t i = 0; i < times.size() && ordered; ++i) of_step[i]->launch_ns = times[i];
    }
  }

  const TraceStore& store_;
  const EventIndex& index_;
  const DeviceTimeline& timeline_;
  const StepSegmentation& segmentation_;
  NameRows& names_;
  RankDigest& digest_;
  std::map<std::string, std::vector<std::int64_t>> configured_;
  std::vector<std::pair<std::uint32_t, std::size_t>> by_op_;
  std::vector<std::pair<std::uint32_t, std::size_t>> by_kernel_;
  std::map<std::uint32_t, Coalesced> ranges_;
  std::map<std::pair<std::string, std::vector<std::int64_t>>, std::uint32_t> groups_;
};

// Compute of the same device beside each event.
void measure_overlap(const DeviceTimeline& timeline, RankDigest& digest) {
  for (CommunicationEvent& event : digest.events) {
    for (const auto& device : timeline.devices) {
      if (device.device != event.device) continue;
      event.overlapped_ns = device.compute.clipped({event.start_ns, event.end_ns}).total_ns();
    }
  }
}

}  // namespace

std::uint64_t collect_events(const TraceStore& store, const AnalysisResults& results, NameRows& names,
                             RankDigest& digest) {
  Collector collector(store, results, names, digest);
  const std::uint64_t unlaunched = collector.device_events();
  if (digest.events.empty()) collector.host_events();
  measure_overlap(*results.device_timeline, digest);
  const auto order = [](const CommunicationEvent& event) {
    return std::tuple(event.launch_ns == kNotRecorded ? event.start_ns : event.launch_ns, event.start_ns, event.end_ns);
  };
  std::stable_sort(digest.events.begin(), digest.events.end(),
                   [&](const CommunicationEvent& a, const CommunicationEvent& b) { return order(a) < order(b); });
  return unlaunched;
}

}  // namespace accel::fusion
