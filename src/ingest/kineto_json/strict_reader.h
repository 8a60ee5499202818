// The fast reader: valid JSON, walked by simdjson On-Demand.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "ingest/kineto_json/event_sink.h"

namespace accel::kineto_json {

// Bytes after the text that the buffer must own (their content does not matter).
inline constexpr std::size_t kTextPadding = 64;

class StrictReader {
 public:
  StrictReader();
  ~StrictReader();

  // Reads `text`, a JSON array of events, "[" to "]". False: it is not valid JSON as far as it was looked at; what the
  // sink got until then is of no use. `offset` is the place of text[0] in the file.
  bool read(std::span<const char> text, std::size_t capacity, std::uint64_t offset, EventSink& sink);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace accel::kineto_json
