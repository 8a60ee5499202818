// What every thread of the process is doing, as far as the system tells without stopping it: state, what it waits for
// in the kernel, its processor time, the calls on its stack while it waits (call_stacks.h), and the scopes that are
// open in it; and the memory of the process. A text file in the output folder. Stacks of Python are the Python face's.
// Control thread; 2 MB while it works, some ms and the reading of the symbol tables of the files on the stacks.
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
