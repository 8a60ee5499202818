// One file over HTTP on the loopback interface, below a path that only who started it knows. One thread; until the user
// interrupts it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace accel::cli {

// Calls `ready(port, token)` once it listens; the file is at http://127.0.0.1:PORT/TOKEN/. `port` 0: any free one.
Result<void> serve_file(const std::string& path, std::uint16_t port,
                        const std::function<void(std::uint16_t port, const std::string& token)>& ready);

}  // namespace accel::cli
