// The bytes of the native format (docs/formats/native.md) and the rows that are written into it. A file is a FileHeader
// and then chunks: ChunkHeader, payload, zeros up to the next multiple of 8. A chunk's payload is the columns of one
// table one after the other: fixed-width values, or for text the 32-bit lengths and then the bytes. Little endian.
// Plain data, C library only: the runtime writes with it and the engine reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace accel::format {

inline constexpr char kFileMagic[8] = {'A', 'C', 'C', 'E', 'L', 'T', 'R', '\n'};
inline constexpr std::uint16_t kMajorVersion = 1;         // a reader refuses a file with a greater one
inline constexpr std::uint16_t kMinorVersion = 2;         // grows with every new table or column
inline constexpr std::uint32_t kChunkMagic = 0x4b4e4341;  // "ACNK"
inline constexpr std::uint16_t kSchemaTable = 0;
inline constexpr std::uint32_t kMaxChunkBytes = 16U << 20;  // of a payload, packed or not: bounds the reader's memory
inline constexpr std::size_t kMaxColumns = 16;
inline constexpr std::size_t kMaxTables = 64;

inline constexpr std::uint64_t kNoU64 = ~std::uint64_t{0};
inline constexpr std::int64_t kNoI64 = std::numeric_limits<std::int64_t>::min();

enum class Codec : std::uint16_t { none = 0, zstd = 1 };
enum class ColumnType : std::uint8_t { u8 = 1, u16 = 2, u32 = 3, u64 = 4, i64 = 5, f64 = 6, text = 7 };

struct FileHeader {
  char magic[8];
  std::uint16_t major;
  std::uint16_t minor;
  std::uint32_t header_bytes;   // the first chunk starts here
  std::uint64_t capture_id[2];  // the same in all files of one capture
  std::uint32_t part;           // 0, 1, 2 ... of a record that is rotated
  std::uint32_t pid;
  std::int64_t created_ns;  // CLOCK_REALTIME
  std::uint32_t reserved[3];
  std::uint32_t crc;  // of the bytes before
};
static_assert(sizeof(FileHeader) == 64);

struct ChunkHeader {
  std::uint32_t magic;
  std::uint16_t table;
  Codec codec;
  std::uint32_t rows;
  std::uint32_t stored_bytes;  // of the payload in the file
  std::uint32_t raw_bytes;     // of the payload unpacked
  std::uint32_t payload_crc;   // of the stored bytes
  std::uint64_t sequence;      // 0, 1, 2 ... in one file
  std::uint32_t reserved;
  std::uint32_t header_crc;  // of the bytes before
};
static_assert(sizeof(ChunkHeader) == 40);

inline constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

struct ColumnLayout {
  std::string_view name;
  std::string_view unit;
  ColumnType type;
};

struct TableLayout {
  std::string_view name;
  const ColumnLayout* columns;
  std::uint16_t number;
  std::uint16_t column_count;
};

constexpr std::size_t width_of(ColumnType type) {
  switch (type) {
    case ColumnType::u8:
      return 1;
    case ColumnType::u16:
      return 2;
    case ColumnType::u32:
      return 4;
    case ColumnType::u64:
    case ColumnType::i64:
    case ColumnType::f64:
      return 8;
    case ColumnType::text:
      return 4;  // the length; the bytes come on top
  }
  return 0;
}

namespace native {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
using f64 = double;
using text = std::string_view;

// MetaRow, NameRow, ...: what a writer fills in.
#define NATIVE_TABLE(number, Name, name, doc) struct Name##Row {
#define NATIVE_COLUMN(Name, type, name, unit, doc) type name{};
#define NATIVE_TABLE_END(Name) \
  }                            \
  ;
#include "format/native_schema.def"
#undef NATIVE_TABLE
#undef NATIVE_COLUMN
#undef NATIVE_TABLE_END

}  // namespace native

// The layouts of this version, in the order of the schema.
enum class NativeTable : std::uint16_t {
#define NATIVE_TABLE(number, Name, name, doc) Name = number,
#define NATIVE_COLUMN(Name, type, name, unit, doc)
#define NATIVE_TABLE_END(Name)
#include "format/native_schema.def"
#undef NATIVE_TABLE
#undef NATIVE_COLUMN
#undef NATIVE_TABLE_END
};
const TableLayout& layout_of(NativeTable table);
const TableLayout* native_layouts(std::size_t& count);

// The layout of the schema chunk itself, the same in every version.
const TableLayout& schema_layout();

}  // namespace accel::format
