// Finds CUPTI in this process: the copy that is mapped already (PyTorch brings its own; two copies collide), else one
// that the loader knows, and that only where CUDA is in use. Nothing is linked and nothing is ever closed. Loading and
// binding cost nothing in a step (docs/design/device-activity.md). Any thread; one call at a time.
#pragma once

#include "runtime/cupti/abi.h"

namespace accel::runtime::cupti {

struct Library {
  Functions functions;
  std::uint32_t version = 0;  // as CUPTI numbers itself, 130001 for 13.0
  void* handle = nullptr;
};

// Null when `library` is bound; else why not, in words.
const char* bind(Library& library);
// A library of which a part of the file name is `name` and that is mapped in this process: a handle to it, or null.
void* mapped_library(const char* name);

}  // namespace accel::runtime::cupti
