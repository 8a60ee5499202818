// Reads a trace piece by piece on several threads: every thread takes the next piece, reads it in the hope that it lies
// between two events, and then, in the order of the file, either sees that hope fulfilled or reads the piece again with
// what the document says. The result depends on the text alone, not on the number of threads.
#pragma once

#include "ingest/importer.h"
#include "ingest/kineto_json/event_sink.h"
#include "trace/trace_builder.h"

namespace accel::kineto_json {

struct Imported {
  FileFacts facts;
  NoteList notes;       // about the document
  ProcessInfo process;  // what the document says beside its events
  std::uint64_t text_bytes = 0;
  bool truncated = false;
  bool no_trace = false;  // an object with members, none of which is of a trace
  // Points of the builder before which nothing was damaged, and the offsets of the damage.
  struct Damage {
    std::uint64_t offset = 0;
    std::size_t mark = 0;
  };
  std::vector<Damage> damages;
};

struct StreamOptions {
  unsigned threads = 1;
  Progress* progress = nullptr;
  std::size_t chunk_bytes = std::size_t{1} << 20;
  bool exact_only = false;  // for tests: everything through the exact reader
};

// Fills `builder`, which must be fresh.
Result<Imported> stream_import(ByteSource& source, TraceBuilder& builder, const StreamOptions& options);

}  // namespace accel::kineto_json
