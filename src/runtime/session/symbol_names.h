// Names of functions for addresses of code, read from the symbol tables of the files on disk: nothing of the loader is
// asked, whose lock a thread that hangs may hold. As the linker writes them (C++ names are mangled). 64-bit ELF of this
// machine's byte order; any other file gives no names. Control thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace accel::runtime {

struct SymbolQuery {
  std::uint64_t file_offset = 0;  // of the address in its file
  std::uint64_t value = 0;        // the address as the file counts, once it is known
  std::uint64_t into = 0;         // bytes behind the function's start
  char name[120] = {};            // empty: not known
};

// Fills the names of `count` queries of one mapping of a file, whose offsets ascend.
void name_symbols(const char* path, SymbolQuery* queries, std::size_t count);

}  // namespace accel::runtime
