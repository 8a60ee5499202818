// Packets of a Perfetto trace, one after the other into a sink: tracks, begins and ends of slices, counters. Strings
// are interned, each once. One thread per object; the bytes depend on the calls alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/deflate.h"

namespace accel::report::perfetto {

struct Track {
  std::uint64_t uuid = 0;
  std::uint64_t parent = 0;  // 0: none
  std::string name;
  std::string description;
  std::int32_t order = 0;        // among the tracks of its parent
  bool orders_children = false;  // its tracks stand by their order
  std::optional<std::int32_t> pid;
  std::optional<std::int64_t> tid;  // with pid: a thread of it
  enum class Values { none, bytes, plain } values = Values::none;
};

// A string that the trace holds once; of one use (names, categories, ...).
using Interned = std::uint64_t;

struct Arg {
  enum class Kind { text, integer, real, yes };
  Interned name = 0;
  Kind kind = Kind::yes;
  Interned text = 0;
  std::int64_t integer = 0;
  double real = 0;
};

struct Begin {
  Interned name = 0;
  Interned category = 0;
  std::span<const Arg> args = {};
  std::span<const std::uint64_t> flows = {};
};

class PacketStream {
 public:
  explicit PacketStream(ByteSink sink) : sink_(std::move(sink)) {}

  // The times of the trace are those of the wall clock.
  void add_wall_clock(std::int64_t at_ns);
  void add(const Track& track);
  Interned event_name(std::string_view text);
  Interned category(std::string_view text);
  Interned arg_name(std::string_view text);
  Interned arg_text(std::string_view text);
  void begin(std::uint64_t track, std::int64_t time_ns, const Begin& slice);
  void end(std::uint64_t track, std::int64_t time_ns);
  void count(std::uint64_t track, std::int64_t time_ns, double value);
  // Everything so far goes to the sink.
  void finish();

 private:
  using Ids = std::unordered_map<std::string, Interned>;

  Interned intern(Ids& ids, std::uint32_t field, std::string_view text);
  void put_packet();

  ByteSink sink_;
  std::string out_;
  std::string packet_;  // being made
  bool first_ = true;
  Ids names_, categories_, arg_names_, arg_texts_;
};

}  // namespace accel::report::perfetto
