// The fast reader: valid JSON only, by simdjson's index. Checks as it goes that the text is a sequence of events; at
// the first doubt it gives up, and the exact reader decides what the text is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ingest/kineto_json/event_sink.h"
#include "ingest/kineto_json/structural_index.h"

namespace accel::kineto_json {

class FastReader {
 public:
  struct Outcome {
    bool ok = false;           // false: what the sink got is of no use
    bool array_ended = false;  // the "]" of the array was met; what follows it starts at `end`
    std::size_t end = 0;
  };
  // Reads events with commas between them: the inside of the array, from one boundary to another. `offset` is the place
  // of text[0] in the file.
  Outcome read(std::span<const char> text, std::uint64_t offset, EventSink& sink);

 private:
  // Position in the index; kBad after any doubt.
  std::size_t read_event(std::size_t i);
  std::size_t read_args(std::size_t i);
  std::size_t skip_container(std::size_t i) const;
  bool member(std::size_t i, std::string_view& key) const;
  std::size_t value(std::size_t i, std::string_view& out) const;

  StructuralIndex index_;
  const char* text_ = nullptr;
  const std::uint32_t* at_ = nullptr;  // the index
  std::size_t count_ = 0;
  RawEvent event_;
};

}  // namespace accel::kineto_json
