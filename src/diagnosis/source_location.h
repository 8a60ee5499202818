// Where in the program something happened: the op or call of a slice, and the line of the user's code above it when the
// recording holds Python frames ("path(line): function").
#pragma once

#include "analysis/python_frame.h"
#include "diagnosis/rule.h"
#include "trace/trace_store.h"

namespace accel {

// The innermost frame at or above the slice that the user wrote; else the innermost one with a line; else invalid.
SliceId user_frame_of(const TraceStore& store, SliceId slice);

// kind and name of the slice itself, file and line of its user frame.
Location locate(const TraceStore& store, SliceId slice);

}  // namespace accel
