// CRC-32C (Castagnoli), the checksum of our own files. The processor's instruction where it has one, tables elsewhere;
// both give the same. Pure, any thread, C library only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace accel::format {

// `seed` is the checksum of what came before, 0 at the start.
std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t seed = 0);
std::uint32_t crc32c_portable(const void* data, std::size_t bytes, std::uint32_t seed = 0);

}  // namespace accel::format
