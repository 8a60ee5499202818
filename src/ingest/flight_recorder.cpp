#include "ingest/flight_recorder.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/byte_source.h"
#include "ingest/json_members.h"
#include "ingest/open_input.h"

namespace accel {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestText = std::size_t{1} << 30;
constexpr std::size_t kMostRecords = 4'000'000;

// A whole number, written as such or as text; null, 0 times and -1 counts are for the caller to judge.
std::int64_t integer_of(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return kNotRecorded;
  if (it->is_number_unsigned()) {
    const auto value = it->get<std::uint64_t>();
    return value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
               ? static_cast<std::int64_t>(value)
               : kNotRecorded;
  }
  if (it->is_number_integer()) return it->get<std::int64_t>();
  if (!it->is_string()) return kNotRecorded;
  const auto& text = it->get_ref<const std::string&>();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : kNotRecorded;
}

std::string text_of(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::int64_t time_of(const json& object, const char* key) {
  const std::int64_t value = integer_of(object, key);
  return value > 0 ? value : kNotRecorded;
}

std::int64_t count_of(const json& object, const char* key) {
  const std::int64_t value = integer_of(object, key);
  return value >= 0 ? value : kNotRecorded;
}

// [[8192, 2048], [8]] -> elements of all tensors.
std::int64_t elements_of(const json& entry, const char* key) {
  const auto it = entry.find(key);
  if (it == entry.end() || !it->is_array()) return kNotRecorded;
  std::int64_t sum = 0;
  for (const json& sizes : *it) {
    if (!sizes.is_array()) return kNotRecorded;
    std::int64_t product = 1;
    for (const json& size : sizes) {
      if (!size.is_number_integer() || __builtin_mul_overflow(product, size.get<std::int64_t>(), &product))
        return kNotRecorded;
    }
    if (product < 0 || __builtin_add_overflow(sum, product, &sum)) return kNotRecorded;
  }
  return sum;
}

std::string first_text(const json& entry, const char* key) {
  const auto it = entry.find(key);
  if (it == entry.end() || !it->is_array() || it->empty() || !(*it)[0].is_string()) return {};
  return (*it)[0].get<std::string>();
}

FlightState state_of(const std::string& text) {
  if (text == "scheduled") return FlightState::scheduled;
  if (text == "started") return FlightState::started;
  return text == "completed" ? FlightState::completed : FlightState::unknown;
}

// The user's own line, not the library's.
std::string frame_of(const json& entry) {
  const auto frames = entry.find("frames");
  if (frames == entry.end() || !frames->is_array()) return {};
  for (const json& frame : *frames) {
    if (!frame.is_object()) continue;
    const std::string file = text_of(frame, "filename");
    if (file.empty() || file.find("/torch/") != std::string::npos) continue;
    const std::int64_t line = integer_of(frame, "line");
    const std::size_t slash = file.rfind('/');
    std::string said = slash == std::string::npos ? file : file.substr(slash + 1);
    if (line != kNotRecorded) said += ":" + std::to_string(line);
    const std::string name = text_of(frame, "name");
    if (!name.empty()) said.append(" ").append(name);
    return said;
  }
  return {};
}

// "nccl:send 1->2" -> name "send", 1, 2; "nccl:recv 3<-0" -> "recv", 0, 3.
void take_name(std::string_view said, FlightRecord& record) {
  const std::size_t colon = said.find(':');
  if (colon != std::string_view::npos) said.remove_prefix(colon + 1);
  const std::size_t blank = said.find(' ');
  record.name = said.substr(0, blank);
  if (blank == std::string_view::npos) return;
  const std::string_view pair = said.substr(blank + 1);
  const auto number = [](std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : kNotRecorded;
  };
  if (const std::size_t to = pair.find("->"); to != std::string_view::npos) {
    record.source = number(pair.substr(0, to));
    record.destination = number(pair.substr(to + 2));
  } else if (const std::size_t from = pair.find("<-"); from != std::string_view::npos) {
    record.destination = number(pair.substr(0, from));
    record.source = number(pair.substr(from + 2));
  }
}

// "[0, 1]" or [0, 1].
std::vector<std::int64_t> ranks_of(const json& group) {
  const auto it = group.find("ranks");
  if (it == group.end()) return {};
  const json list = it->is_string() ? json::parse(it->get_ref<const std::string&>(), nullptr, false) : *it;
  std::vector<std::int64_t> ranks;
  if (!list.is_array()) return ranks;
  for (const json& rank : list) {
    if (!rank.is_number_integer()) return {};
    ranks.push_back(rank.get<std::int64_t>());
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

class Reader {
 public:
  explicit Reader(const std::string& source) { dump_.source = source; }

  Result<FlightRecorderDump> read(std::string_view text) {
    const bool whole = each_member(text, [&](std::string_view key, std::string_view value) { member(key, value); });
    dump_.cut = !whole;
    if (!has_entries_) return Error{ErrorCode::not_a_trace, "this is no dump of the flight recorder", dump_.source};
    settle();
    return std::move(dump_);
  }

 private:
  void member(std::string_view key, std::string_view value);
  void take_record(const json& entry);
  std::uint32_t group_row(const std::string& name, const std::string& description);
  void settle();

  FlightRecorderDump dump_;
  std::map<std::string, std::uint32_t> rows_;
  std::map<std::string, json> config_;
  std::map<std::string, json> status_;
  bool has_entries_ = false;
};

void Reader::member(std::string_view key, std::string_view value) {
  if (key == "entries") {
    has_entries_ = true;
    each_element(value, [&](std::string_view element) {
      if (dump_.records.size() >= kMostRecords) {
        ++dump_.unreadable_records;
        return;
      }
      take_record(json::parse(element, nullptr, false));
    });
    return;
  }
  const json parsed = json::parse(value, nullptr, false);
  if (key == "version" && parsed.is_string()) dump_.version = parsed.get<std::string>();
  if ((key == "comm_lib_version" || key == "nccl_version") && parsed.is_string())
    dump_.library_version = parsed.get<std::string>();
  if (!parsed.is_object()) return;
  for (const auto& [name, item] : parsed.items()) {
    if (!item.is_object()) continue;
    if (key == "pg_config") config_[name] = item;
    if (key == "pg_status") status_[name] = item;
  }
}

std::uint32_t Reader::group_row(const std::string& name, const std::string& description) {
  const auto [at, is_new] = rows_.try_emplace(name, static_cast<std::uint32_t>(dump_.groups.size()));
  if (is_new) {
    dump_.groups.emplace_back();
    dump_.groups.back().name = name;
  }
  if (dump_.groups[at->second].description.empty()) dump_.groups[at->second].description = description;
  return at->second;
}

void Reader::take_record(const json& entry) {
  if (!entry.is_object()) {
    ++dump_.unreadable_records;
    return;
  }
  FlightRecord record;
  take_name(text_of(entry, "profiling_name"), record);
  if (record.name.empty()) {
    ++dump_.unreadable_records;
    return;
  }
  std::string group;
  std::string description;
  if (const auto it = entry.find("process_group"); it != entry.end() && it->is_array()) {
    if (!it->empty() && (*it)[0].is_string()) group = (*it)[0].get<std::string>();
    if (it->size() > 1 && (*it)[1].is_string()) description = (*it)[1].get<std::string>();
  }
  record.group = group_row(group, description);
  record.record_id = integer_of(entry, "record_id");
  record.sequence = count_of(entry, "collective_seq_id");
  record.p2p_sequence = count_of(entry, "p2p_seq_id");
  record.created_ns = time_of(entry, "time_created_ns");
  record.started_ns = time_of(entry, "time_discovered_started_ns");
  record.completed_ns = time_of(entry, "time_discovered_completed_ns");
  record.timeout_ms = time_of(entry, "timeout_ms");
  record.in_elements = elements_of(entry, "input_sizes");
  record.out_elements = elements_of(entry, "output_sizes");
  record.dtype = first_text(entry, "input_dtypes");
  record.frame = frame_of(entry);
  record.state = state_of(text_of(entry, "state"));
  if (const auto it = entry.find("duration_ms"); it != entry.end() && it->is_number())
    record.duration_ms = it->get<double>();
  if (const auto it = entry.find("retired"); it != entry.end() && it->is_boolean()) record.retired = it->get<bool>();
  const auto p2p = entry.find("is_p2p");
  record.point_to_point =
      (p2p != entry.end() && p2p->is_boolean() && p2p->get<bool>()) || record.name == "send" || record.name == "recv";
  dump_.records.push_back(std::move(record));
}

void Reader::settle() {
  for (const auto& [name, item] : config_) {
    const std::string said = text_of(item, "name");
    FlightGroup& group = dump_.groups[group_row(said.empty() ? name : said, text_of(item, "desc"))];
    group.ranks = ranks_of(item);
  }
  // pg_status is keyed by the running number of the group, which is its name unless the user gave one.
  for (const auto& [name, item] : status_) {
    const auto row = rows_.find(name);
    if (row == rows_.end()) continue;
    FlightGroup& group = dump_.groups[row->second];
    group.last_enqueued = count_of(item, "last_enqueued_collective");
    group.last_started = count_of(item, "last_started_collective");
    group.last_completed = count_of(item, "last_completed_collective");
  }
  const auto numbered = [](const FlightRecord& record) { return record.record_id != kNotRecorded; };
  if (std::all_of(dump_.records.begin(), dump_.records.end(), numbered))
    std::stable_sort(dump_.records.begin(), dump_.records.end(),
                     [](const FlightRecord& a, const FlightRecord& b) { return a.record_id < b.record_id; });
  dump_.rank = rank_of_dump_name(dump_.source);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool is_flight_recorder(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || head[first] != '{') return false;
  const auto has = [&](std::string_view key) { return head.find(key) != std::string_view::npos; };
  if (has("\"traceEvents\"")) return false;
  return has("\"entries\"") && (has("\"comm_lib_version\"") || has("\"nccl_version\"") || has("\"pg_config\"") ||
                                has("\"collective_seq_id\""));
}

std::optional<std::int64_t> rank_of_dump_name(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
  const auto digits_at = [&](std::size_t at) -> std::optional<std::int64_t> {
    std::size_t end = at;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end == at || end - at > 9) return std::nullopt;
    std::int64_t value = 0;
    std::from_chars(name.data() + at, name.data() + end, value);
    return value;
  };
  std::optional<std::int64_t> rank;
  for (std::size_t at = name.find("rank"); at != std::string_view::npos; at = name.find("rank", at + 4)) {
    std::size_t digits = at + 4;
    if (digits < name.size() && (name[digits] == '_' || name[digits] == '-')) ++digits;
    if (const auto said = digits_at(digits)) rank = said;
  }
  if (rank) return rank;
  // Trailing digits before the endings: nccl_trace_rank_host-node02_5
  name = name.substr(0, name.find('.'));
  std::size_t begin = name.size();
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  return begin < name.size() ? digits_at(begin) : std::nullopt;
}

Result<FlightRecorderDump> parse_flight_recorder(std::string_view text, const std::string& source) {
  return Reader(source).read(text);
}

Result<FlightRecorderDump> read_flight_recorder(const std::string& path) {
  auto input = open_input(path);
  if (!input) return input.error();
  if (!is_flight_recorder(input->head))
    return Error{ErrorCode::not_a_trace, "this is no dump of the flight recorder in JSON", path};
  std::string text;
  for (;;) {
    constexpr std::size_t kPiece = std::size_t{4} << 20;
    const std::size_t had = text.size();
    if (had + kPiece > kLargestText)
      return Error{ErrorCode::out_of_range, "a dump of more than 1 GiB is not read", path};
    text.resize(had + kPiece);
    const auto read = input->source->read(std::span(text).subspan(had));
    if (!read) return read.error();
    text.resize(had + *read);
    if (*read < kPiece) break;
  }
  auto dump = parse_flight_recorder(text, path);
  if (dump && !input->source->damage().empty()) dump->cut = true;
  return dump;
}

}  // namespace accel
