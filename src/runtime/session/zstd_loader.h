// zstd, when the machine has it: found by dlopen once, never closed. Control thread only.
#pragma once

#include "format/native_writer.h"

namespace accel::runtime {

// A packer without function when there is no zstd: chunks are then written as they are.
format::Packer zstd_packer();

}  // namespace accel::runtime
