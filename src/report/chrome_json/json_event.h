// One event of a Chrome trace as text, member by member; nothing but whole members can be put in. Strings are escaped
// by the JSON library, once for each of a trace. One thread per object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace_store.h"

namespace accel::report::chrome_json {

class JsonEvent {
 public:
  explicit JsonEvent(const TraceStore& store) : store_(store), text_(store.strings.size()) {}

  void begin(std::string_view phase, std::string_view category);
  // Members from here on are those of args.
  void begin_args();
  // The whole event; holds until the next begin().
  std::string_view end();

  void put(std::string_view key, std::int64_t value);  // nothing for kNotRecorded
  void put_real(std::string_view key, double value);   // nothing for what JSON has no number for
  void put_real(std::string_view key, float value);
  void put_word(std::string_view key, std::string_view value);
  void put_text(std::string_view key, StringId value);  // nothing for an invalid id
  // JSON as recorded: an array stays an array.
  void put_recorded(std::string_view key, StringId value);
  void put_microseconds(std::string_view key, std::int64_t ns);
  // A member whose name is of the trace.
  void put_series(std::string_view series, double value);
  void put_triple(std::string_view key, std::int32_t x, std::int32_t y, std::int32_t z);

 private:
  struct Texts {
    std::string quoted;    // empty: not made yet
    std::string recorded;  // likewise
  };

  void key(std::string_view key);
  const std::string& quoted(StringId id);

  const TraceStore& store_;
  std::vector<Texts> text_;  // by StringId
  std::string out_;
  bool in_args_ = false;
  bool any_arg_ = false;
};

std::string quoted(std::string_view text);

}  // namespace accel::report::chrome_json
