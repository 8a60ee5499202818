// Progress: how long work reports how far it is. The caller owns the object; report() may be called from any thread and
// must be cheap (it is called a few times a second at most by convention of the callers).
#pragma once

#include <cstdint>
#include <string_view>

namespace accel {

class Progress {
 public:
  virtual ~Progress() = default;
  // `total` 0 = not known. True in return: the user asked to stop (Ctrl-C); the work ends with ErrorCode::cancelled.
  virtual bool report(std::string_view stage, std::uint64_t done, std::uint64_t total) = 0;
};

}  // namespace accel
