// FlightRecorderDump: what PyTorch's flight recorder of collectives kept of one process, read from its JSON form
// (torch._C._distributed_c10d._dump_nccl_trace_json, _dump_fr_trace_json). It is no trace: it says which collectives
// were issued, with what, and how far they came, which is what remains of a job that hangs. The pickle form is not
// read: unpickling a foreign file runs its code. Pure functions, any thread; linear in the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/schema.h"

namespace accel {

enum class FlightState : std::uint8_t { unknown, scheduled, started, completed };

struct FlightGroup {
  std::string name;
  std::string description;
  std::vector<std::int64_t> ranks;            // ascending; empty: not recorded
  std::int64_t last_enqueued = kNotRecorded;  // sequence numbers that the process group itself states
  std::int64_t last_started = kNotRecorded;
  std::int64_t last_completed = kNotRecorded;
};

// One call. Numbers that are not there are kNotRecorded.
struct FlightRecord {
  std::int64_t record_id = kNotRecorded;     // counts the calls of this process
  std::int64_t sequence = kNotRecorded;      // counts the collectives of the group
  std::int64_t p2p_sequence = kNotRecorded;  // counts its sends and receives
  std::int64_t created_ns = kNotRecorded;    // when the host issued it, Unix epoch
  std::int64_t started_ns = kNotRecorded;    // when the watchdog noticed: late by its poll
  std::int64_t completed_ns = kNotRecorded;
  std::int64_t timeout_ms = kNotRecorded;
  std::int64_t in_elements = kNotRecorded;
  std::int64_t out_elements = kNotRecorded;
  std::int64_t source = kNotRecorded;  // of a send or receive, ranks within the group
  std::int64_t destination = kNotRecorded;
  std::optional<double> duration_ms;  // only where TORCH_NCCL_ENABLE_TIMING was set
  std::string name;                   // without "nccl:": all_reduce, _all_gather_base, send
  std::string dtype;                  // of the input
  std::string frame;                  // "train.py:41 step", the innermost one outside torch; empty: none
  std::uint32_t group = 0;            // row of groups
  bool point_to_point = false;
  bool retired = false;
  FlightState state = FlightState::unknown;
};

struct FlightRecorderDump {
  std::string source;
  std::string version;               // of the dump's form
  std::string library_version;       // of NCCL
  std::optional<std::int64_t> rank;  // by the file's name: a dump does not say it
  std::vector<FlightGroup> groups;
  std::vector<FlightRecord> records;  // in the order of the calls
  std::uint64_t unreadable_records = 0;
  bool cut = false;  // the file ends early; what came before counts
};

// Whether the start of some content is such a dump in JSON.
bool is_flight_recorder(std::string_view head);

// ErrorCode::not_a_trace for what is no dump.
Result<FlightRecorderDump> parse_flight_recorder(std::string_view text, const std::string& source);
// Opens and unpacks `path` as import_trace() does.
Result<FlightRecorderDump> read_flight_recorder(const std::string& path);

// "x.rank3.flight_recorder.json.gz", "nccl_trace_rank_host-node02_5" -> 3, 5.
std::optional<std::int64_t> rank_of_dump_name(std::string_view path);

}  // namespace accel
