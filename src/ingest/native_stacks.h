// The sampled Python stacks of a native capture (function, frame, stack) into a store, and into the store of a trace of
// the same window that another recorder wrote. Times stay ticks until settle(). Used by the importers alone.
#pragma once

#include <string>
#include <unordered_map>

#include "format/native_reader.h"
#include "format/tick_clock.h"
#include "ingest/importer.h"
#include "trace/python_stacks.h"
#include "trace/trace_store.h"

namespace accel::native_binary {

class StackImport {
 public:
  void functions(const format::NativeRows& rows);
  void frames(const format::NativeRows& rows);
  void stacks(const format::NativeRows& rows);
  // The stacks as they stand among the options of a trace; empty: none.
  std::string settle(const format::TickClock& clock);

 private:
  struct Function {
    std::string name, file;
  };

  PythonStacks stacks_;
  std::unordered_map<std::uint64_t, Function> functions_;
  std::unordered_map<std::uint64_t, std::uint32_t> frames_;  // id in the file -> row
};

// A window that is recorded with ops leaves two files: NAME.pt.trace.json.gz of torch.profiler and NAME.accel of the
// recorder. `path` is the first: stacks that the second one holds are added to `store`, whose times are of the same
// clock. Nothing happens where there is no second file, or `read` (of the importer of captures) cannot read it.
using ReadCapture = Result<TraceStore>(ByteSource& source, const ImportOptions& options);
void add_stacks_of_capture(TraceStore& store, const std::string& path, ReadCapture* read);

}  // namespace accel::native_binary
