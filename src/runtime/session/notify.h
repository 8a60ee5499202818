// What the library can do of a rule's actions by itself: tell somebody, and say what each thread is doing. C library
// only; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/session/chunk_file.h"

namespace accel::runtime {

enum NotifyAllowed : std::uint32_t { kAllowCommands = 1, kAllowWebhooks = 2 };

// file:NAME      appends the text to NAME in the output folder (at most 1 MiB; no path)
// command:TEXT   starts TEXT by /bin/sh with the message in ACCEL_MESSAGE, and waits for nothing (when allowed)
// http://...     posts the message, on a thread of its own, for at most 5 s (when allowed)
// https://...    the same by the program curl, for at most 10 s (when allowed)
// Null: done. Else why not, in words.
const char* notify(const RecordIdentity& identity, const char* target, const char* message, std::uint32_t allowed);

}  // namespace accel::runtime
