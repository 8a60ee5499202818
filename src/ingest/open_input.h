// Opens what a person names: a file, "-", or a member of an archive ("ARCHIVE:MEMBER"), unpacked as far as it is
// packed.
#pragma once

#include <memory>
#include <string>

#include "base/byte_source.h"
#include "base/result.h"

namespace accel {

struct OpenInput {
  std::unique_ptr<ByteSource> source;  // from the start of the unpacked content
  std::string head;                    // that start, up to 64 KiB
};

Result<OpenInput> open_input(const std::string& path);

}  // namespace accel
