// Reading the native format: any version with the same major number, any damage. The reader pulls bytes, checks every
// chunk and hands its rows on, whole chunk after whole chunk. A damaged stretch is skipped up to the next chunk whose
// header is right, and counted. Memory: one chunk at a time (at most 2 x 16 MiB). One thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/native_layout.h"

namespace accel::format {

// The columns of one chunk, by name. Values that the file does not have (a column of a newer version, or a row beyond
// the end) are the schema's "missing".
class NativeRows {
 public:
  std::string_view table() const { return table_; }
  std::uint32_t size() const { return rows_; }
  std::uint64_t sequence() const { return sequence_; }
  bool has(std::string_view column) const { return find(column) >= 0; }

  // A cursor over one column, looked up once. Numbers of any width convert to the type asked for.
  class Column {
   public:
    std::uint64_t u64(std::uint32_t row) const;  // kNoU64 when missing
    std::int64_t i64(std::uint32_t row) const;   // kNoI64 when missing
    double f64(std::uint32_t row) const;         // NaN when missing
    std::string_view text(std::uint32_t row) const;
    bool present() const { return data_ != nullptr; }

   private:
    friend class NativeRows;
    const char* data_ = nullptr;
    const std::vector<std::uint32_t>* offsets_ = nullptr;  // text: rows + 1 of them
    std::uint32_t rows_ = 0;
    ColumnType type_ = ColumnType::u8;
  };
  Column column(std::string_view name) const;

 private:
  friend class NativeReader;
  struct Place {
    std::string_view name;
    ColumnType type;
    const char* data;
    std::vector<std::uint32_t> offsets;
  };
  int find(std::string_view name) const;

  std::string_view table_;
  std::uint32_t rows_ = 0;
  std::uint64_t sequence_ = 0;
  std::vector<Place> columns_;
};

struct NativeSummary {
  FileHeader header{};
  std::uint64_t bytes = 0;
  std::uint64_t chunks = 0;
  std::uint64_t rows = 0;
  std::uint64_t unknown_tables = 0;  // chunks of tables that the file's own schema does not describe
  std::uint64_t damaged_bytes = 0;   // skipped inside the file
  std::uint64_t damaged_places = 0;
  std::uint64_t first_damage = kNoU64;  // byte
  std::uint64_t missing_chunks = 0;     // gaps in the numbers of the chunks
  std::uint64_t cut_bytes = 0;          // after the last whole chunk
  bool ended = false;                   // the recorder closed the file in order
};

class NativeReader {
 public:
  // Fills the span with up to its size and returns how many; 0 = end.
  using Pull = std::function<Result<std::size_t>(std::span<char>)>;
  // Called for each chunk of a table; views die with the call. False stops reading (ErrorCode::cancelled).
  using Visit = std::function<bool(const NativeRows&)>;

  // True when `head`, the first bytes of a file, starts as a native file does.
  static bool sniff(std::span<const char> head);

  static Result<NativeSummary> read(const Pull& pull, const Visit& visit);

 private:
  struct Column {
    std::string name;
    ColumnType type;
  };
  struct Table {
    std::string name;
    std::vector<Column> columns;
  };

  NativeReader(const Pull& pull, const Visit& visit) : pull_(pull), visit_(visit) {}
  Result<NativeSummary> run();
  Result<void> file_header();
  Result<bool> need(std::size_t bytes);  // false = the input ends before
  bool header_at(std::size_t at, ChunkHeader& header) const;
  Result<bool> find_chunk(ChunkHeader& header);
  Result<bool> chunk(const ChunkHeader& header);
  const char* payload(const ChunkHeader& header);
  bool lay_out(const Table& table, const ChunkHeader& header, const char* data);
  bool take_schema(const ChunkHeader& header, const char* data);
  void damage(std::size_t bytes);

  const Pull& pull_;
  const Visit& visit_;
  NativeSummary summary_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;   // of the next unread byte in buffer_
  std::size_t end_ = 0;  // of the bytes read into buffer_
  bool input_ended_ = false;
  bool in_damage_ = false;
  std::uint64_t offset_ = 0;  // of buffer_[at_] in the file
  std::uint64_t next_sequence_ = 0;
  std::uint64_t pending_damage_ = 0;  // damaged bytes after the last whole chunk: cut if nothing follows
  std::vector<char> unpacked_;
  std::vector<Table> tables_;
  NativeRows rows_;
};

}  // namespace accel::format
