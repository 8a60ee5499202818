// RankDigest: the small summary of one rank's trace that the fusion of many ranks works on. Made from a TraceStore and
// its analyses by make_digest(), or read back from a file (digest_file.h); a simulated job fills it by hand. Plain
// values, constant once made: any thread may read it.
//
// Times are ns on the rank's own clock, nothing is aligned here. Names stand once in `names`. What was not recorded is
// kNotRecorded or an empty optional, never 0. docs/formats/digest.md describes the file.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/idle_cause.h"
#include "analysis/step_segmentation.h"
#include "analysis/time_breakdown.h"
#include "base/interval_set.h"
#include "trace/schema.h"

namespace accel::fusion {

inline constexpr std::uint32_t kNoRow = std::numeric_limits<std::uint32_t>::max();

// Where a communication event was seen: as a kernel on the device, or as a stretch of a host thread (gloo, mpi).
enum class EventPlace : std::uint8_t { device, host };

struct ProcessGroup {
  std::string name;                 // as recorded; empty: not recorded
  std::string description;          // default_pg, mesh_tp, ...
  std::vector<std::int64_t> ranks;  // global ranks, ascending; empty: not recorded
};

// One communication operation as one rank saw it.
struct CommunicationEvent {
  std::int64_t start_ns = 0;  // on the device; of a host collective: of its work. Arrival of this rank
  std::int64_t end_ns = 0;
  std::int64_t launch_ns = kNotRecorded;  // when the host issued it
  std::int64_t sequence = kNotRecorded;   // Seq as recorded; may be counted per process
  std::int64_t bytes = kNotRecorded;      // of the larger side of the message
  std::int64_t overlapped_ns = 0;         // part of [start, end) with compute of this rank beside it
  std::int64_t peer = kNotRecorded;       // send, recv: the other rank, global where the group's ranks are known
  std::uint32_t name = kNoRow;            // row of names: all_reduce, all_gather, ... (canonical)
  std::uint32_t dtype = kNoRow;           // row of names
  std::uint32_t group = kNoRow;           // row of groups
  std::uint32_t step = kNoRow;            // row of steps, by the launch
  std::int32_t device = -1;               // -1: on the host
  std::int64_t stream = kNotRecorded;     // as recorded
  EventPlace place = EventPlace::device;
};

// Device work of one name in a stretch of time.
struct KernelShare {
  std::uint32_t name = kNoRow;   // row of names
  std::uint32_t shape = kNoRow;  // row of names: input dims of the launching op; kNoRow: not recorded
  std::uint32_t count = 0;
  std::int64_t ns = 0;
};

// Host time of one place in a stretch of time, waits for the device and for other ranks left out.
struct HostShare {
  std::uint32_t name = kNoRow;  // row of names: op, range, frame or call; kNoRow: outside of everything recorded
  SliceKind kind = SliceKind::other;
  IdleCause cause = IdleCause::unknown;  // what kind of work it is
  std::uint32_t count = 0;
  std::int64_t ns = 0;
  std::int64_t longest_ns = 0;    // the longest stretch in one piece
  std::uint32_t before = kNoRow;  // row of names: what its thread recorded next after that stretch
};

// What a rank did in a stretch: before a collective (since the one before it), or in a step. Shares are the largest,
// largest first; what was cut is in the totals.
struct Segment {
  bool whole = false;           // false: begins with the recording, not with the event before
  std::int64_t device_ns = 0;   // length on the device's time line: from the end of the event before to this start
  std::int64_t compute_ns = 0;  // of it: compute kernels ran
  std::int64_t memory_ns = 0;   // ... exposed copies and sets
  IdleByCause idle{};           // ... nothing ran, by cause
  std::int64_t host_ns = 0;     // length on the host: from the launch of the event before to this launch
  std::int64_t waits_ns = 0;    // of it: the launching threads waited for the device or for other ranks
  std::int64_t others_ns = 0;   // of the waits: for other ranks
  std::uint32_t records = 0;    // ops and ranges that the recorder wrote in host_ns
  std::uint32_t calls = 0;      // runtime and driver calls
  std::uint32_t frames = 0;     // Python frames
  std::vector<KernelShare> kernels;
  std::vector<HostShare> host;
};

struct DigestStep {
  std::int64_t number = 0;  // N of ProfilerStep#N, else 0, 1, 2, ...
  Interval host;            // the step on the host
  Interval device;          // first to last device event launched in it; equal ends: none
  bool complete = true;     // cut steps and warm-up are kept out of verdicts
  StepClass step_class = StepClass::train;
  std::int64_t communication_exposed_ns = 0;  // device: communication and no compute beside it, waits included
  std::int64_t host_wait_ns = 0;              // host: launching threads idle while the host communicates (gloo)
  Segment work;                               // the step's own work
};

struct TimeBand {
  double expected_ns = 0;
  double low_ns = 0;
  double high_ns = 0;
};

// Mean complete step of this rank, as recorded and without the recording. A part that could not be estimated is empty.
struct RankTiming {
  using Band = TimeBand;
  double measured_step_ns = 0;
  bool paced_by_device = false;
  std::optional<Band> step;    // undisturbed step of this rank, waits for other ranks included
  std::optional<Band> host;    // what its host needs for a step if it never waits, without the recording
  std::optional<Band> device;  // what its device needs: compute and exposed copies, no communication
  double record_cost_ns = 0;   // per op and range; 0 with no estimate of the cost
  double call_cost_ns = 0;
  double frame_cost_ns = 0;
};

// Where the mean step of one device goes, as TimeBreakdown has it.
struct DeviceParts {
  std::int64_t device = 0;
  std::uint32_t count = 0;  // windows summed
  bool device_window = false;
  TimeParts measured;
  TimeParts undisturbed;
};

struct DigestDevice {
  std::int64_t index = 0;
  std::string name;
  std::string pci;  // bus address; empty: not recorded
};

// One counter over the capture.
struct CounterSummary {
  std::string name;
  std::uint64_t count = 0;
  double mean = 0, min = 0, max = 0;
};

struct DigestNote {
  std::string code;
  std::uint64_t count = 0;
};

struct RankDigest {
  std::string source;  // file that it was made from
  std::string source_format;
  std::uint64_t source_bytes = 0;  // of the file as stored
  std::uint64_t source_text_bytes = 0;
  std::uint64_t source_events = 0;
  std::optional<std::int64_t> rank;
  bool rank_guessed = false;
  std::optional<std::int64_t> world_size;
  std::string host;            // empty: not recorded
  std::string backend;         // nccl, gloo, ...
  std::string job;             // what tells one job from another in the file's metadata; empty: nothing does
  bool absolute_time = false;  // times count from the Unix epoch
  Interval time_range;
  std::vector<DigestDevice> devices;
  std::map<std::string, std::string> versions;
  std::vector<std::string> names;
  std::vector<ProcessGroup> groups;
  std::vector<DigestStep> steps;           // ascending by start
  std::vector<CommunicationEvent> events;  // in the order in which the host issued them
  std::vector<Segment> segments;           // before each event; same length as events
  RankTiming timing;
  std::vector<DeviceParts> breakdown;
  std::vector<CounterSummary> counters;
  std::vector<DigestNote> notes;  // what was wrong with the trace: severity above info

  std::string_view text(std::uint32_t name) const {
    return name < names.size() ? std::string_view(names[name]) : std::string_view();
  }
};

}  // namespace accel::fusion
