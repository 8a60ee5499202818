#include "ingest/kineto_json/header.h"

#include <cctype>
#include <nlohmann/json.hpp>

#include "ingest/kineto_json/scalars.h"

namespace accel::kineto_json {
namespace {

using nlohmann::json;

std::int64_t integer_of(const json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto it = object.find(key);
    if (it == object.end()) continue;
    std::int64_t value = 0;
    if (parse_integer(it->is_string() ? it->get<std::string>() : it->dump(), value) == Parsed::ok) return value;
  }
  return kNotRecorded;
}

std::int32_t integer32_of(const json& object, std::initializer_list<const char*> keys) {
  const std::int64_t value = integer_of(object, keys);
  const bool fits = value > kNotRecorded32 && value <= std::numeric_limits<std::int32_t>::max();
  return fits ? static_cast<std::int32_t>(value) : kNotRecorded32;
}

std::string string_of(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

void take_devices(const json& list, ProcessInfo& process) {
  if (!list.is_array()) return;
  for (const json& item : list) {
    if (!item.is_object()) continue;
    DeviceProperties device;
    device.index = std::max<std::int64_t>(integer_of(item, {"id"}), 0);
    device.name = string_of(item, "name");
    device.total_memory_bytes = integer_of(item, {"totalGlobalMem"});
    device.sms = integer32_of(item, {"numSms"});
    device.compute_major = integer32_of(item, {"computeMajor", "major"});
    device.compute_minor = integer32_of(item, {"computeMinor", "minor"});
    device.max_threads_per_sm = integer32_of(item, {"maxThreadsPerMultiprocessor", "maxThreadsPerMultiProcessor"});
    device.registers_per_sm = integer32_of(item, {"regsPerMultiprocessor"});
    device.shared_memory_per_sm = integer_of(item, {"sharedMemPerMultiprocessor"});
    device.warp_size = integer32_of(item, {"warpSize"});
    process.devices.push_back(std::move(device));
  }
}

void take_distributed_info(const json& info, std::string_view text, ProcessInfo& process) {
  if (!info.is_object()) return;
  process.distributed_info = text;
  process.backend = string_of(info, "backend");
  const std::int64_t rank = integer_of(info, {"rank"});
  const std::int64_t world_size = integer_of(info, {"world_size"});
  if (rank != kNotRecorded && rank >= 0) process.rank = rank;
  if (world_size != kNotRecorded && world_size > 0) process.world_size = world_size;
}

bool is_option(std::string_view key) {
  return key == "record_shapes" || key == "profile_memory" || key.starts_with("with_") || key.starts_with("accel_");
}

bool is_version(std::string_view key) {
  return key == "schemaVersion" || key.find("version") != std::string_view::npos ||
         key.find("Version") != std::string_view::npos;
}

}  // namespace

void take_header_member(std::string_view key, std::string_view value, ProcessInfo& process, NoteList& notes) {
  if (value.empty()) return;
  const bool nested = value[0] == '{' || value[0] == '[';
  if (!nested) {
    std::string scratch;
    bool repaired = false;
    const std::string text(value[0] == '"' ? text_of(value, scratch, repaired) : value);
    if (key == "baseTimeNanoseconds") {
      std::int64_t base = 0;
      // Beyond this bound a base plus a time would not fit 64 bits: no clock says such a thing.
      if (parse_integer(value, base) == Parsed::ok && base >= 0 && base <= 4'000'000'000'000'000'000) {
        process.base_time_ns = base;
      } else {
        notes.add(NoteCode::number_out_of_range, 1, "baseTimeNanoseconds");
      }
    } else if (is_option(key)) {
      process.options[std::string(key)] = text;
    } else if (is_version(key)) {
      process.versions[std::string(key)] = text;
    } else if (key == "host" || key == "hostname") {
      process.host = text;
    } else if (key == "traceName" || key == "trace_id" || key == "displayTimeUnit") {
      process.options[std::string(key)] = text;
    }
    return;
  }
  if (key != "deviceProperties" && key != "computeProperties" && key != "distributedInfo") return;
  const json parsed = json::parse(value, nullptr, false);
  if (parsed.is_discarded()) {
    notes.add(NoteCode::malformed_event, 1, std::string(key));
    return;
  }
  if (key == "distributedInfo") {
    const std::optional<std::int64_t> before = process.rank;
    take_distributed_info(parsed, value, process);
    if (before && process.rank && *before != *process.rank)
      notes.add(NoteCode::two_ranks_in_one_file, 1, std::string(key));
  } else {
    take_devices(parsed, process);
  }
}

std::optional<std::int64_t> rank_of_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
  for (const std::string_view word : {std::string_view("rank"), std::string_view("worker")}) {
    for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
      if (at > 0 && std::isalnum(static_cast<unsigned char>(name[at - 1])) != 0) continue;
      std::size_t i = at + word.size();
      while (i < name.size() && (name[i] == '-' || name[i] == '_' || name[i] == '=')) ++i;
      std::int64_t rank = 0;
      const std::size_t first = i;
      for (; i < name.size() && i < first + 7 && std::isdigit(static_cast<unsigned char>(name[i])) != 0; ++i)
        rank = rank * 10 + (name[i] - '0');
      if (i > first) return rank;
    }
  }
  return std::nullopt;
}

}  // namespace accel::kineto_json
