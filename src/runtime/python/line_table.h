// The line of an instruction, from a code object's location table (CPython 3.11 to 3.13, Objects/locations.md): entries
// of a first byte, which says how many instructions the entry covers and how its lines are written, and of some bytes
// more. Pure; damaged bytes give a wrong line or none, never a read outside of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace accel::runtime::python {

// `offset`: bytes from the first instruction; negative: before the first one has run. 0: the instruction has no line.
std::uint32_t line_of(const std::uint8_t* table, std::size_t bytes, std::uint32_t first_line, std::int64_t offset);

}  // namespace accel::runtime::python
