// How far each rank came, by the dumps of the flight recorder: where a job that hangs is stuck, who is waited for, and
// the first collective in which ranks disagree. Dumps are compared only where their ring buffers overlap; a rank is
// behind when it has not issued what others wait in, never because its buffer begins or ends elsewhere. Pure functions,
// any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ingest/flight_recorder.h"

namespace accel::fusion {

// One rank of one group.
struct RankProgress {
  std::optional<std::int64_t> rank;  // null: the file does not tell; `source` does
  std::string source;
  std::uint64_t calls = 0;                     // collectives in the dump
  std::optional<std::int64_t> first_sequence;  // kept by the ring buffer
  std::optional<std::int64_t> last_issued;
  std::optional<std::int64_t> first_pending;  // not completed when the dump was written
  FlightState pending_state = FlightState::unknown;
  std::uint64_t pending = 0;
};

enum class GroupState : std::uint8_t {
  complete,     // everything that was issued is completed
  behind,       // ranks wait in a collective that others have not issued
  in_progress,  // all ranks issued it and it is not completed
  mismatch,     // ranks issued different collectives under one number
};

struct GroupProgress {
  std::string name;
  std::string description;
  std::vector<std::int64_t> ranks;
  std::vector<std::int64_t> ranks_without_dump;
  std::vector<RankProgress> progress;  // by rank
  GroupState state = GroupState::complete;
  std::optional<std::int64_t> sequence;  // of the collective that is stuck or disagreed on
  std::string collective;                // "all_reduce of 16777216 Float"
  std::string frame;                     // where a waiting rank called it
  std::vector<std::int64_t> culprits;    // behind, not started, or in the minority of a mismatch
  std::string sentence;
  std::string sentence_zh;
};

struct PendingTransfer {
  std::optional<std::int64_t> rank;
  std::int64_t peer = kNotRecorded;  // global
  bool send = false;
  bool peer_has_dump = false;
  bool peer_waits_too = false;  // the peer holds the other half, also pending
  std::string sentence;
  std::string sentence_zh;
};

struct FlightReport {
  std::vector<std::string> sources;
  std::vector<GroupProgress> groups;
  std::vector<PendingTransfer> transfers;
  std::vector<std::string> remarks;  // unreadable or cut dumps, two of one rank, timing that was on
  std::vector<std::string> remarks_zh;
};

FlightReport compare_dumps(std::span<const FlightRecorderDump> dumps);

// The dumps of one job each: all together, unless a rank occurs twice; then by the part of the path before the rank.
// Positions in `dumps`, in their order.
std::vector<std::vector<std::size_t>> jobs_of_dumps(std::span<const FlightRecorderDump> dumps);

// Plain lines for a terminal.
std::string flight_text(const FlightReport& report, bool chinese);

// "0 to 3, 7"
std::string rank_list(std::span<const std::int64_t> ranks);

}  // namespace accel::fusion
