// Reads the memory of a process (this one too) through the kernel: an address that is no longer there is an answer,
// not a fault. Any thread; C library only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace accel::runtime::python {

class ProcessMemory {
 public:
  explicit ProcessMemory(std::int32_t pid) : pid_(pid) {}

  std::int32_t pid() const { return pid_; }
  bool read(std::uint64_t address, void* out, std::size_t bytes) const;
  // `count` pieces of equal size in one call, the first ones at least; how many were read.
  static constexpr std::size_t kMostPieces = 64;
  std::size_t read_pieces(const std::uint64_t* addresses, std::size_t count, std::size_t bytes, void* out) const;
  // The bytes at `address`, and those in front of it as far as they are there: true, and `before_read`.
  bool read_with_before(std::uint64_t address, void* out, std::size_t bytes, void* before, std::size_t before_bytes,
                        bool& before_read) const;
  template <typename T>
  bool read(std::uint64_t address, T& out) const {
    return read(address, &out, sizeof out);
  }

 private:
  std::int32_t pid_;
};

// What to add to an address of this process to have the same object of the program or library in another process that
// runs the same one: 0 after a fork, else the distance of the two mappings. `address` lies in a mapped file. False: the
// other process is gone, hidden, or has not mapped that file.
bool address_shift(std::int32_t pid, std::uint64_t address, std::int64_t& shift);

}  // namespace accel::runtime::python
