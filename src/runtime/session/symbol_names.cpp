#include "runtime/session/symbol_names.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>

namespace accel::runtime {
namespace {

constexpr std::uint64_t kMostSymbols = 8'000'000;  // 192 MB of table: more is a damaged file
constexpr std::uint32_t kMostSections = 4096;

bool read_at(int fd, std::uint64_t offset, void* out, std::size_t bytes) {
  return ::pread(fd, out, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

bool read_header(int fd, Elf64_Ehdr& header) {
  return read_at(fd, 0, &header, sizeof header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_shentsize == sizeof(Elf64_Shdr) && header.e_phentsize == sizeof(Elf64_Phdr) &&
         header.e_shnum <= kMostSections;
}

void place(int fd, const Elf64_Ehdr& header, SymbolQuery* queries, std::size_t count) {
  for (std::uint32_t k = 0; k < header.e_phnum; ++k) {
    Elf64_Phdr part;
    if (!read_at(fd, header.e_phoff + std::uint64_t{k} * sizeof part, &part, sizeof part)) return;
    if (part.p_type != PT_LOAD) continue;
    for (std::size_t i = 0; i < count; ++i) {
      SymbolQuery& query = queries[i];
      if (query.file_offset >= part.p_offset && query.file_offset - part.p_offset < part.p_filesz)
        query.value = query.file_offset - part.p_offset + part.p_vaddr;
    }
  }
}

// A file whose parts do not lie as it was mapped would give wrong names.
bool in_order(const SymbolQuery* queries, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    if (queries[k].value == 0 || (k > 0 && queries[k].value <= queries[k - 1].value)) return false;
  }
  return true;
}

// All queries inside the symbol get its name: the first is found by halves.
void match(int fd, const Elf64_Shdr& texts, const Elf64_Sym& symbol, SymbolQuery* queries, std::size_t count) {
  std::size_t low = 0;
  std::size_t high = count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (queries[middle].value < symbol.st_value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (; low < count && queries[low].value - symbol.st_value < symbol.st_size; ++low) {
    SymbolQuery& query = queries[low];
    if (query.name[0] != 0 || symbol.st_name >= texts.sh_size) continue;
    query.into = query.value - symbol.st_value;
    const ssize_t got =
        ::pread(fd, query.name, sizeof query.name - 1, static_cast<off_t>(texts.sh_offset + symbol.st_name));
    query.name[got < 0 ? 0 : got] = 0;
  }
}

void search(int fd, const Elf64_Shdr& table, const Elf64_Shdr& texts, SymbolQuery* queries, std::size_t count) {
  if (table.sh_entsize != sizeof(Elf64_Sym) || table.sh_size / sizeof(Elf64_Sym) > kMostSymbols) return;
  Elf64_Sym symbols[256];
  for (std::uint64_t at = 0; at < table.sh_size;) {
    const std::uint64_t left = table.sh_size - at;
    const std::size_t bytes = left < sizeof symbols ? static_cast<std::size_t>(left) : sizeof symbols;
    if (bytes < sizeof symbols[0] || !read_at(fd, table.sh_offset + at, symbols, bytes)) return;
    for (std::size_t k = 0; k < bytes / sizeof symbols[0]; ++k) {
      const unsigned type = ELF64_ST_TYPE(symbols[k].st_info);
      if ((type == STT_FUNC || type == STT_GNU_IFUNC) && symbols[k].st_shndx != SHN_UNDEF && symbols[k].st_size != 0)
        match(fd, texts, symbols[k], queries, count);
    }
    at += bytes;
  }
}

}  // namespace

void name_symbols(const char* path, SymbolQuery* queries, std::size_t count) {
  if (path[0] != '/') return;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  Elf64_Ehdr header;
  bool sound = read_header(fd, header);
  if (sound) {
    place(fd, header, queries, count);
    sound = in_order(queries, count);
  }
  if (sound) {
    for (const std::uint32_t wanted : {SHT_SYMTAB, SHT_DYNSYM}) {
      for (std::uint32_t k = 0; k < header.e_shnum; ++k) {
        Elf64_Shdr table;
        Elf64_Shdr texts;
        if (!read_at(fd, header.e_shoff + std::uint64_t{k} * sizeof table, &table, sizeof table)) break;
        if (table.sh_type == wanted && table.sh_link < header.e_shnum &&
            read_at(fd, header.e_shoff + std::uint64_t{table.sh_link} * sizeof texts, &texts, sizeof texts))
          search(fd, table, texts, queries, count);
      }
    }
  }
  ::close(fd);
}

}  // namespace accel::runtime
