#include "report/html/timeline.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "analysis/event_index.h"
#include "analysis/idle_attribution.h"
#include "report/device_words.h"
#include "report/html/packed.h"
#include "report/plain_text.h"

namespace accel::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t kNone = 0xffffffffU;
// Codes of the kind column: slices by SliceKind, device events and idle causes above them.
constexpr std::uint8_t kDeviceKinds = 16;
constexpr std::uint8_t kIdleKinds = 32;

class Packer {
 public:
  Packer(const TraceStore& store, const AnalysisResults& results, std::size_t most)
      : store_(store),
        results_(results),
        most_(most),
        origin_(store.time_range.start_ns),
        place_of_name_(store.strings.size(), kNone) {}

  PackedTimeline pack() {
    details_.push_back(Json::object());  // 0: nothing
    choose_threshold();
    add_threads();
    add_streams();
    add_idle();
    add_memory();
    add_counters();
    return finish();
  }

 private:
  bool is_kept(std::uint32_t slice) const {
    if ((store_.slices.flags[slice] & kSliceOutOfRange) != 0) return false;
    return shorter_than_ns_ == 0 || store_.slices.dur_ns[slice] >= shorter_than_ns_ || is_always_kept(slice);
  }
  // Ranges give the view its shape, and launches connect it.
  bool is_always_kept(std::uint32_t slice) const {
    if (store_.slices.kind[slice] == SliceKind::annotation) return true;
    return (results_.event_index->slice_flags[slice] & kCallHasDevice) != 0;
  }

  // The smallest power of two of ns below which slices have to go.
  void choose_threshold() {
    const std::size_t all = store_.slices.size() + store_.device_events.size();
    if (all <= most_) return;
    std::array<std::size_t, 64> by_size{};  // slices with durations below 2^i
    for (std::uint32_t i = 0; i < store_.slices.size(); ++i) {
      if (is_always_kept(i)) continue;
      ++by_size[std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(0, store_.slices.dur_ns[i])))];
    }
    std::size_t left = all;
    for (std::size_t bits = 0; bits < by_size.size() - 1 && left > most_; ++bits) {
      left -= by_size[bits];
      left_out_ += by_size[bits];
      shorter_than_ns_ = std::int64_t{1} << bits;
    }
  }

  std::uint32_t name(StringId id) {
    std::uint32_t& at = place_of_name_[id.value];
    if (at == kNone) {
      at = static_cast<std::uint32_t>(names_.size());
      names_.push_back(valid_utf8(store_.text(id)));
    }
    return at;
  }

  void begin_track(Json track) {
    track["first"] = records_;
    tracks_.push_back(std::move(track));
    last_start_ = origin_;
  }
  void end_track() {
    const std::size_t count = records_ - tracks_.back()["first"].get<std::size_t>();
    if (count == 0) {
      tracks_.erase(tracks_.size() - 1);
    } else {
      tracks_.back()["count"] = count;
    }
  }

  void add(std::int64_t start, std::int64_t dur, std::uint32_t name, std::uint8_t kind, std::uint32_t detail,
           std::uint32_t link) {
    append_varint(starts_, static_cast<std::uint64_t>(std::max<std::int64_t>(0, start - last_start_)));
    append_varint(durations_, static_cast<std::uint64_t>(std::max<std::int64_t>(0, dur)));
    append_varint(name_column_, name);
    kinds_ += static_cast<char>(kind);
    append_varint(detail_column_, detail);
    // Launches mostly come in the order of what they launch.
    const std::int64_t step = static_cast<std::int64_t>(link) - last_link_;
    if (link == 0) {
      append_varint(links_, 0);
    } else {
      append_varint(links_, (static_cast<std::uint64_t>(step) << 1 ^ static_cast<std::uint64_t>(step >> 63)) + 1);
      last_link_ = link;
    }
    last_start_ = std::max(last_start_, start);
    ++records_;
  }

  void add_threads() {
    std::vector<std::uint16_t> order;
    const ThreadIndex main = results_.event_index->main_thread;
    if (main.valid()) order.push_back(main.value);
    for (std::size_t t = 0; t < store_.thread_ranges.size(); ++t) {
      if (!main.valid() || t != main.value) order.push_back(static_cast<std::uint16_t>(t));
    }
    record_of_slice_.assign(store_.slices.size(), 0);
    for (const std::uint16_t t : order) {
      const auto [first, last] = store_.thread_ranges[t];
      const ThreadTable& threads = store_.threads;
      const std::string tid =
          threads.tid_text[t].valid() ? std::string(store_.text(threads.tid_text[t])) : std::to_string(threads.tid[t]);
      const std::string named = threads.name[t].valid() ? std::string(store_.text(threads.name[t])) : "";
      begin_track({{"type", "thread"},
                   {"id", valid_utf8(tid)},
                   {"name", valid_utf8(named)},
                   {"main", main.valid() && t == main.value}});
      for (std::uint32_t i = first; i < last; ++i) {
        if (!is_kept(i)) continue;
        record_of_slice_[i] = static_cast<std::uint32_t>(records_ + 1);
        add(store_.slices.start_ns[i], store_.slices.dur_ns[i], name(store_.slices.name[i]),
            static_cast<std::uint8_t>(store_.slices.kind[i]), slice_detail(i), 0);
      }
      end_track();
    }
  }

  std::uint32_t slice_detail(std::uint32_t slice) {
    const SliceKind kind = store_.slices.kind[slice];
    const DetailId detail = store_.slices.detail[slice];
    if ((kind != SliceKind::op && kind != SliceKind::annotation) || !detail.valid()) return 0;
    const ArgsId args = store_.op_details.args[detail.value];
    if (!args.valid()) return 0;
    if (detail_of_args_.empty()) detail_of_args_.assign(store_.op_args.size(), 0);
    std::uint32_t& at = detail_of_args_[args.value];
    if (at != 0) return at;
    Json entry = Json::object();
    const auto put = [&](const char* key, StringId id) {
      if (id.valid() && !store_.text(id).empty()) entry[key] = valid_utf8(store_.text(id));
    };
    put("dims", store_.op_args.dims[args.value]);
    put("types", store_.op_args.types[args.value]);
    put("strides", store_.op_args.strides[args.value]);
    put("concrete", store_.op_args.concrete[args.value]);
    if (entry.empty()) return 0;
    at = static_cast<std::uint32_t>(details_.size());
    details_.push_back(std::move(entry));
    return at;
  }

  void add_streams() {
    std::vector<std::vector<std::uint32_t>> by_stream(store_.streams.size());
    for (std::uint32_t e = 0; e < store_.device_events.size(); ++e) {
      const StreamIndex stream = store_.device_events.stream[e];
      if (stream.valid() && (store_.device_events.flags[e] & kDeviceNoTiming) == 0)
        by_stream[stream.value].push_back(e);
    }
    for (std::size_t s = 0; s < by_stream.size(); ++s) {
      begin_track(
          {{"type", "stream"}, {"device", store_.streams.device[s]}, {"id", std::to_string(store_.streams.stream[s])}});
      for (const std::uint32_t e : by_stream[s]) {
        const SliceId launch = store_.device_events.launch[e];
        add(store_.device_events.start_ns[e], store_.device_events.dur_ns[e], name(store_.device_events.name[e]),
            static_cast<std::uint8_t>(kDeviceKinds + static_cast<std::uint8_t>(store_.device_events.kind[e])),
            device_detail(e), launch.valid() ? record_of_slice_[launch.value] : 0);
      }
      end_track();
    }
  }

  std::uint32_t device_detail(std::uint32_t event) {
    const DetailId detail = store_.device_events.detail[event];
    if (!detail.valid()) return 0;
    return store_.device_events.kind[event] == DeviceEventKind::kernel ? kernel_detail(detail) : copy_detail(detail);
  }

  std::uint32_t kernel_detail(DetailId detail) {
    const LaunchConfigId config = store_.kernel_details.config[detail.value];
    if (!config.valid()) return 0;
    if (detail_of_config_.empty()) detail_of_config_.assign(store_.launch_configs.size(), 0);
    std::uint32_t& at = detail_of_config_[config.value];
    if (at != 0) return at;
    const LaunchConfigRow row = store_.launch_configs.row(config.value);
    Json entry = Json::object();
    if (row.grid_x != kNotRecorded32) entry["grid"] = {row.grid_x, row.grid_y, row.grid_z};
    if (row.block_x != kNotRecorded32) entry["block"] = {row.block_x, row.block_y, row.block_z};
    if (row.registers != kNotRecorded32) entry["registers"] = row.registers;
    if (row.shared_memory != kNotRecorded32) entry["shared_memory"] = row.shared_memory;
    if (row.occupancy_percent >= 0) entry["occupancy_percent"] = row.occupancy_percent;
    at = static_cast<std::uint32_t>(details_.size());
    details_.push_back(std::move(entry));
    return at;
  }

  std::uint32_t copy_detail(DetailId detail) {
    const CopyDetailRow row = store_.copy_details.row(detail.value);
    const auto key = std::tuple(row.bytes, row.direction, row.source, row.destination);
    const auto [at, is_new] = detail_of_copy_.try_emplace(key, static_cast<std::uint32_t>(details_.size()));
    if (is_new) {
      Json entry = Json::object();
      if (row.bytes != kNotRecorded) entry["bytes"] = row.bytes;
      if (row.direction != CopyDirection::unknown) entry["direction"] = direction_word(row.direction);
      if (row.source != MemoryKind::unknown) entry["from"] = memory_word(row.source);
      if (row.destination != MemoryKind::unknown) entry["to"] = memory_word(row.destination);
      details_.push_back(std::move(entry));
    }
    return at->second;
  }

  void add_idle() {
    if (!results_.idle_attribution) return;
    Json causes = Json::array();
    for (std::size_t c = 0; c < kIdleCauseCount; ++c) causes.push_back(to_string(static_cast<IdleCause>(c)));
    idle_causes_ = std::move(causes);
    for (const IdleOfDevice& device : results_.idle_attribution->devices) {
      begin_track({{"type", "idle"}, {"device", device.device}});
      for (const IdleStretch& stretch : device.stretches)
        add(stretch.time.start_ns, stretch.time.length_ns(), 0,
            static_cast<std::uint8_t>(kIdleKinds + static_cast<std::uint8_t>(stretch.cause)), 0, 0);
      end_track();
    }
  }

  struct Sample {
    std::int64_t time_ns;
    double value;
  };

  // Every k-th sample stays when there are too many, and of those left out the largest between two that stay.
  void add_series(Json series, std::vector<Sample> samples) {
    if (samples.empty()) return;
    std::stable_sort(samples.begin(), samples.end(),
                     [](const Sample& a, const Sample& b) { return a.time_ns < b.time_ns; });
    const std::size_t every = samples.size() / kTimelineSamples + 1;
    series["first"] = samples_;
    series["every"] = every;
    std::int64_t last = origin_;
    std::size_t count = 0;
    for (std::size_t i = 0; i < samples.size(); i += every) {
      double value = samples[i].value;
      for (std::size_t j = i; j < std::min(i + every, samples.size()); ++j) value = std::max(value, samples[j].value);
      append_varint(sample_times_, static_cast<std::uint64_t>(std::max<std::int64_t>(0, samples[i].time_ns - last)));
      last = std::max(last, samples[i].time_ns);
      char bytes[8];
      std::memcpy(bytes, &value, 8);
      sample_values_.append(bytes, 8);
      ++count;
    }
    series["count"] = count;
    samples_ += count;
    series_.push_back(std::move(series));
  }

  void add_memory() {
    std::map<int, std::vector<Sample>> allocated;
    std::map<int, std::vector<Sample>> reserved;
    const MemoryEventTable& events = store_.memory_events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events.device_type[i] != 1) continue;
      if (events.total_allocated[i] != kNotRecorded)
        allocated[events.device[i]].push_back({events.time_ns[i], static_cast<double>(events.total_allocated[i])});
      if (events.total_reserved[i] != kNotRecorded)
        reserved[events.device[i]].push_back({events.time_ns[i], static_cast<double>(events.total_reserved[i])});
    }
    for (auto& [device, samples] : allocated)
      add_series({{"type", "allocated"}, {"device", device}, {"unit", "bytes"}}, std::move(samples));
    for (auto& [device, samples] : reserved)
      add_series({{"type", "reserved"}, {"device", device}, {"unit", "bytes"}}, std::move(samples));
  }

  void add_counters() {
    std::map<std::uint32_t, std::vector<Sample>> by_name;
    const CounterTable& counters = store_.counters;
    for (std::size_t i = 0; i < counters.size(); ++i)
      by_name[counters.name[i].value].push_back({counters.time_ns[i], counters.value[i]});
    for (auto& [name, samples] : by_name)
      add_series({{"type", "counter"}, {"name", valid_utf8(store_.text(StringId(name)))}, {"unit", ""}},
                 std::move(samples));
  }

  PackedTimeline finish() {
    std::string all;
    all.reserve(starts_.size() + durations_.size() + name_column_.size() + kinds_.size() + detail_column_.size() +
                links_.size() + sample_times_.size() + sample_values_.size());
    Json columns = Json::object();
    const auto put = [&](const char* key, const std::string& bytes) {
      columns[key] = {all.size(), bytes.size()};
      all += bytes;
    };
    put("start", starts_);
    put("duration", durations_);
    put("name", name_column_);
    put("kind", kinds_);
    put("detail", detail_column_);
    put("link", links_);
    put("sample_time", sample_times_);
    put("sample_value", sample_values_);
    put("names", Json(names_).dump(-1, ' ', false, Json::error_handler_t::replace));
    put("details", Json(details_).dump(-1, ' ', false, Json::error_handler_t::replace));
    Json left_out = nullptr;
    if (left_out_ > 0) left_out = {{"records", left_out_}, {"shorter_than_ns", shorter_than_ns_}};
    const Json about = {{"records", records_},         {"length_ns", store_.time_range.length_ns()},
                        {"tracks", tracks_},           {"series", series_},
                        {"idle_causes", idle_causes_}, {"left_out", left_out},
                        {"columns", columns}};
    return {about.dump(-1, ' ', false, Json::error_handler_t::replace), base64(deflated(all))};
  }

  const TraceStore& store_;
  const AnalysisResults& results_;
  std::size_t most_;
  std::int64_t origin_;
  std::int64_t shorter_than_ns_ = 0;
  std::size_t left_out_ = 0;
  std::vector<std::uint32_t> place_of_name_;  // by StringId
  std::vector<std::string> names_;
  Json::array_t details_;
  std::vector<std::uint32_t> detail_of_args_;    // by ArgsId
  std::vector<std::uint32_t> detail_of_config_;  // by LaunchConfigId
  std::map<std::tuple<std::int64_t, CopyDirection, MemoryKind, MemoryKind>, std::uint32_t> detail_of_copy_;
  std::vector<std::uint32_t> record_of_slice_;  // number of its record and one; 0 = left out
  Json tracks_ = Json::array();
  Json series_ = Json::array();
  Json idle_causes_ = Json::array();
  std::size_t records_ = 0;
  std::size_t samples_ = 0;
  std::int64_t last_start_ = 0;
  std::int64_t last_link_ = 0;
  std::string starts_, durations_, name_column_, kinds_, detail_column_, links_, sample_times_, sample_values_;
};

}  // namespace

PackedTimeline pack_timeline(const TraceStore& store, const AnalysisResults& results, std::size_t most_records) {
  return Packer(store, results, most_records).pack();
}

}  // namespace accel::report
