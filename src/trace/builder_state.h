// What a TraceBuilder holds between its calls. Private to trace.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "trace/staging.h"
#include "trace/trace_batch_index.h"
#include "trace/trace_builder.h"

namespace accel {

struct IdMaps;

struct TraceBuilder::State {
  unsigned thread_count = 1;

  std::mutex mutex;
  std::condition_variable turn;
  std::uint64_t next_sequence = 0;
  bool too_many_rows = false;

  // The tables that are interned live here in their final form; all others are staged row by row.
  TraceStore store;
  RowIndexes index;
  StagedTables staged;

  std::vector<TraceBatch::BeginEnd> begin_ends;
  std::vector<TraceBatch::ThreadName> thread_names;
  std::map<std::string, std::uint64_t> categories;

  struct Mark {
    std::vector<std::size_t> rows;  // of each table, in the order of schema.def
    std::size_t begin_ends = 0;
    std::size_t thread_names = 0;
    std::map<std::string, std::uint64_t> categories;
    NoteList notes;
    std::uint64_t events = 0;
  };
  std::vector<Mark> marks;

  // Takes over the strings and interned rows of a batch; `maps` then leads from its ids to ours. Under the lock.
  void merge(TraceBatch& batch, IdMaps& maps);
};

}  // namespace accel
