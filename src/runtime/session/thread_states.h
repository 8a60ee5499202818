// What every thread of the process is doing, as far as the system tells without stopping it: state, what it waits for
// in the kernel, its processor time, and the scopes that are open in it. A text file in the output folder. Stacks of
// Python are the Python face's. Control thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/buffer/frame_recorder.h"
#include "runtime/buffer/names.h"
#include "runtime/session/chunk_file.h"

namespace accel::runtime {

// Writes NAME-stacksN.txt and puts its path into `path`. 0 or errno.
int write_thread_states(const RecordIdentity& identity, std::uint32_t number, const FrameRecorder& recorder,
                        const NameRegistry& names, bool window_open, char* path, std::size_t path_size);

}  // namespace accel::runtime
