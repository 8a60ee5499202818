// One trace inside a .zip or .tar archive. A member is chosen as "ARCHIVE:MEMBER"; where the archive holds exactly one
// that can be a trace, it is taken without being named.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"

namespace accel {

bool looks_like_zip(std::string_view head);
bool looks_like_tar(std::string_view head);

// The member of the zip file at `path`; `member` empty = the only one that can be a trace.
Result<std::unique_ptr<ByteSource>> open_zip_member(const std::string& path, const std::string& member);
// The same of a tar archive. `reopen` gives its bytes from the start, as often as asked.
using ReopenTar = Result<std::unique_ptr<ByteSource>> (*)(const std::string& path);
Result<std::unique_ptr<ByteSource>> open_tar_member(const std::string& path, const std::string& member,
                                                    ReopenTar reopen);

}  // namespace accel
