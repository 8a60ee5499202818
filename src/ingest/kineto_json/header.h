// The members of the file beside traceEvents: device properties, versions, options, the distributed job, the time base.
#pragma once

#include <string_view>

#include "trace/trace_store.h"

namespace accel::kineto_json {

// Takes one member; `value` is its raw JSON text. Unknown members are passed over. A value that is broken is too, but
// for the note malformed_event.
void take_header_member(std::string_view key, std::string_view value, ProcessInfo& process, NoteList& notes);

// The rank that a file name states ("rank-70", "rank0", "worker0_step"), if any.
std::optional<std::int64_t> rank_of_name(std::string_view path);

}  // namespace accel::kineto_json
