// The exact reader: one event at a time, from any text, with no demands that the text be valid JSON elsewhere. Takes
// raw backslashes, control characters, bytes that are not UTF-8, NaN and Infinity as they stand; says precisely where
// an event ends, breaks or is not complete yet. On valid JSON it finds what the fast reader finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ingest/kineto_json/event_fields.h"

namespace accel::kineto_json {

// What the strings of one event needed to be accepted.
struct StringFaults {
  std::uint64_t control_characters = 0;  // strings with any
  std::uint64_t bad_utf8 = 0;
};

class ExactReader {
 public:
  enum class Status {
    complete,   // `end` is behind the event
    need_more,  // the text ends first
    broken,     // not JSON; `end` is where that became clear
  };
  struct Outcome {
    Status status = Status::broken;
    std::size_t end = 0;
  };

  // Reads the event whose brace is text[at].
  Outcome read(std::string_view text, std::size_t at, RawEvent& event, StringFaults& faults);

  // The value at text[at], whatever it is: its raw text. Also for the members outside the events.
  Outcome skip_value(std::string_view text, std::size_t at, StringFaults& faults) const;
  // The string whose quote is text[at].
  Outcome skip_string(std::string_view text, std::size_t at, StringFaults& faults) const;

  // The first place at or after `from` that looks like the start of an event: a brace and one of the keys that events
  // begin with. npos if there is none. A match that the end of the text cuts off is no match.
  static std::size_t find_event(std::string_view text, std::size_t from);
  // The last place before `to` where one event ends and the next begins, just behind the comma; 0 if there is none.
  static std::size_t last_boundary(std::string_view text);

 private:
  Outcome read_members(std::string_view text, std::size_t at, RawEvent& event, StringFaults& faults, bool inside_args);
};

// Where the first byte that is not UTF-8 stands; text.size() if there is none.
bool is_utf8(std::string_view text);

}  // namespace accel::kineto_json
