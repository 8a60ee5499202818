#include "format/native_reader.h"

#include <zstd.h>

#include <cstring>
#include <limits>

#include "format/crc32c.h"

namespace accel::format {
namespace {

constexpr std::size_t kPullBytes = 256 << 10;

template <typename T>
T load(const char* data, std::uint32_t row) {
  T value;
  std::memcpy(&value, data + std::size_t{row} * sizeof(T), sizeof(T));
  return value;
}

bool known_type(std::uint64_t type) {
  return type >= static_cast<std::uint64_t>(ColumnType::u8) && type <= static_cast<std::uint64_t>(ColumnType::text);
}

}  // namespace

std::uint64_t NativeRows::Column::u64(std::uint32_t row) const {
  if (data_ == nullptr || row >= rows_) return kNoU64;
  switch (type_) {
    case ColumnType::u8:
      return load<std::uint8_t>(data_, row);
    case ColumnType::u16:
      return load<std::uint16_t>(data_, row);
    case ColumnType::u32:
      return load<std::uint32_t>(data_, row);
    case ColumnType::u64:
      return load<std::uint64_t>(data_, row);
    case ColumnType::i64: {
      const auto value = load<std::int64_t>(data_, row);
      return value < 0 ? kNoU64 : static_cast<std::uint64_t>(value);
    }
    case ColumnType::f64:
    case ColumnType::text:
      return kNoU64;
  }
  return kNoU64;
}

std::int64_t NativeRows::Column::i64(std::uint32_t row) const {
  if (data_ == nullptr || row >= rows_) return kNoI64;
  if (type_ == ColumnType::i64) return load<std::int64_t>(data_, row);
  const std::uint64_t value = u64(row);
  return value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
             ? kNoI64
             : static_cast<std::int64_t>(value);
}

double NativeRows::Column::f64(std::uint32_t row) const {
  if (data_ == nullptr || row >= rows_) return std::numeric_limits<double>::quiet_NaN();
  if (type_ == ColumnType::f64) return load<double>(data_, row);
  const std::int64_t value = i64(row);
  return value == kNoI64 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(value);
}

std::string_view NativeRows::Column::text(std::uint32_t row) const {
  if (data_ == nullptr || row >= rows_ || offsets_ == nullptr) return {};
  const std::uint32_t from = (*offsets_)[row];
  return {data_ + from, (*offsets_)[row + 1] - from};
}

int NativeRows::find(std::string_view name) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

NativeRows::Column NativeRows::column(std::string_view name) const {
  Column column;
  const int at = find(name);
  if (at < 0) return column;
  const Place& place = columns_[static_cast<std::size_t>(at)];
  column.data_ = place.data;
  column.type_ = place.type;
  column.rows_ = rows_;
  if (place.type == ColumnType::text) column.offsets_ = &place.offsets;
  return column;
}

bool NativeReader::sniff(std::span<const char> head) {
  return head.size() >= sizeof kFileMagic && std::memcmp(head.data(), kFileMagic, sizeof kFileMagic) == 0;
}

Result<NativeSummary> NativeReader::read(const Pull& pull, const Visit& visit) {
  return NativeReader(pull, visit).run();
}

Result<bool> NativeReader::need(std::size_t bytes) {
  while (end_ - at_ < bytes && !input_ended_) {
    if (at_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
      end_ -= at_;
      at_ = 0;
    }
    if (buffer_.size() < bytes + kPullBytes) buffer_.resize(bytes + kPullBytes);
    const Result<std::size_t> got = pull_(std::span<char>(buffer_).subspan(end_));
    if (!got) return got.error();
    end_ += *got;
    summary_.bytes += *got;
    if (*got == 0) input_ended_ = true;
  }
  return end_ - at_ >= bytes;
}

Result<void> NativeReader::file_header() {
  Result<bool> whole = need(sizeof(FileHeader));
  if (!whole) return whole.error();
  const std::span<const char> head = std::span<const char>(buffer_).first(std::min(end_, sizeof kFileMagic));
  if (!sniff(head))
    return Error{ErrorCode::not_a_trace, "this is no native trace of accel-profiler: its first bytes are different",
                 "byte 0"};
  if (!*whole)
    return Error{ErrorCode::unreadable, "the file ends inside its header: the recorder was stopped as it began",
                 "byte 0"};
  FileHeader header;
  std::memcpy(&header, buffer_.data(), sizeof header);
  if (crc32c(&header, offsetof(FileHeader, crc)) != header.crc) {
    return Error{ErrorCode::unreadable, "the header of the file is damaged; copy the file again from its source",
                 "byte 0"};
  }
  if (header.major > kMajorVersion) {
    return Error{ErrorCode::unreadable,
                 "the file has format version " + std::to_string(header.major) + ", and this program reads up to " +
                     std::to_string(kMajorVersion) + ": use a newer accel-profiler",
                 "byte 8"};
  }
  if (header.header_bytes < sizeof header || header.header_bytes > 4096) {
    return Error{ErrorCode::unreadable, "the header of the file has an impossible length", "byte 12"};
  }
  whole = need(header.header_bytes);
  if (!whole) return whole.error();
  if (!*whole)
    return Error{ErrorCode::unreadable, "the file ends inside its header: the recorder was stopped as it began",
                 "byte 0"};
  at_ = header.header_bytes;
  offset_ = header.header_bytes;
  summary_.header = header;
  return {};
}

bool NativeReader::header_at(std::size_t at, ChunkHeader& header) const {
  std::memcpy(&header, buffer_.data() + at, sizeof header);
  return header.magic == kChunkMagic && crc32c(&header, offsetof(ChunkHeader, header_crc)) == header.header_crc &&
         header.stored_bytes <= kMaxChunkBytes && header.raw_bytes <= kMaxChunkBytes;
}

void NativeReader::damage(std::size_t bytes) {
  if (!in_damage_) {
    in_damage_ = true;
    if (summary_.first_damage == kNoU64) summary_.first_damage = offset_;
    ++summary_.damaged_places;
  }
  pending_damage_ += bytes;
  at_ += bytes;
  offset_ += bytes;
}

// Stands at a chunk whose header is right, or at the end. Chunks start at multiples of 8 from the first one.
Result<bool> NativeReader::find_chunk(ChunkHeader& header) {
  for (;;) {
    Result<bool> whole = need(sizeof header);
    if (!whole) return whole.error();
    if (!*whole) return false;
    if (header_at(at_, header)) return true;
    std::size_t step = 8;
    while (at_ + step + sizeof header <= end_ && load<std::uint32_t>(buffer_.data() + at_ + step, 0) != kChunkMagic)
      step += 8;
    damage(step);
  }
}

const char* NativeReader::payload(const ChunkHeader& header) {
  const char* stored = buffer_.data() + at_ + sizeof header;
  if (crc32c(stored, header.stored_bytes) != header.payload_crc) return nullptr;
  if (header.codec == Codec::none) return header.stored_bytes == header.raw_bytes ? stored : nullptr;
  if (header.codec != Codec::zstd) return nullptr;
  unpacked_.resize(header.raw_bytes);
  const std::size_t bytes = ZSTD_decompress(unpacked_.data(), unpacked_.size(), stored, header.stored_bytes);
  return ZSTD_isError(bytes) == 0 && bytes == header.raw_bytes ? unpacked_.data() : nullptr;
}

// Points rows_ at the columns. False when the payload does not have the size that the schema says.
bool NativeReader::lay_out(const Table& table, const ChunkHeader& header, const char* data) {
  const char* const end = data + header.raw_bytes;
  rows_.table_ = table.name;
  rows_.rows_ = header.rows;
  rows_.sequence_ = header.sequence;
  rows_.columns_.resize(table.columns.size());
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    NativeRows::Place& place = rows_.columns_[c];
    place.name = table.columns[c].name;
    place.type = table.columns[c].type;
    const std::size_t fixed = width_of(place.type) * std::size_t{header.rows};
    if (fixed > static_cast<std::size_t>(end - data)) return false;
    place.data = data;
    if (place.type == ColumnType::text) {
      place.data = data + fixed;
      place.offsets.resize(std::size_t{header.rows} + 1);
      std::uint64_t total = 0;
      for (std::uint32_t row = 0; row < header.rows; ++row) {
        place.offsets[row] = static_cast<std::uint32_t>(total);
        total += load<std::uint32_t>(data, row);
        if (total > static_cast<std::size_t>(end - data) - fixed) return false;
      }
      place.offsets[header.rows] = static_cast<std::uint32_t>(total);
      data += total;
    }
    data += fixed;
  }
  return data == end;
}

// The schema replaces what was known: a file has one, at its start.
bool NativeReader::take_schema(const ChunkHeader& header, const char* data) {
  Table schema;
  const TableLayout& layout = schema_layout();
  for (std::size_t c = 0; c < layout.column_count; ++c)
    schema.columns.push_back({std::string(layout.columns[c].name), layout.columns[c].type});
  if (!lay_out(schema, header, data)) return false;
  const NativeRows::Column number = rows_.column("table");
  const NativeRows::Column type = rows_.column("type");
  const NativeRows::Column table_name = rows_.column("table_name");
  const NativeRows::Column name = rows_.column("name");
  std::vector<Table> tables;
  for (std::uint32_t row = 0; row < rows_.size(); ++row) {
    const std::uint64_t at = number.u64(row);
    if (at == kSchemaTable || at >= 4096 || !known_type(type.u64(row))) return false;
    if (tables.size() <= at) tables.resize(at + 1);
    tables[at].name = table_name.text(row);
    tables[at].columns.push_back({std::string(name.text(row)), static_cast<ColumnType>(type.u64(row))});
  }
  tables_ = std::move(tables);
  return true;
}

Result<bool> NativeReader::chunk(const ChunkHeader& header) {
  const std::size_t bytes = sizeof header + padded(header.stored_bytes);
  Result<bool> whole = need(bytes);
  if (!whole) return whole.error();
  const char* data = *whole ? payload(header) : nullptr;
  if (data == nullptr) {  // its header is right and its content is not: look for the next one behind this header
    damage(sizeof header);
    return true;
  }
  bool fits = true;
  bool go_on = true;
  if (header.table == kSchemaTable) {
    fits = take_schema(header, data);
  } else if (header.table >= tables_.size() || tables_[header.table].columns.empty()) {
    ++summary_.unknown_tables;
  } else {
    fits = lay_out(tables_[header.table], header, data);
    if (fits) {
      summary_.rows += header.rows;
      if (rows_.table() == layout_of(NativeTable::End).name) summary_.ended = true;
      go_on = visit_(rows_);
    }
  }
  if (!fits) {
    damage(bytes);
    return true;
  }
  if (header.sequence > next_sequence_) summary_.missing_chunks += header.sequence - next_sequence_;
  next_sequence_ = header.sequence + 1;
  ++summary_.chunks;
  summary_.damaged_bytes += pending_damage_;
  pending_damage_ = 0;
  in_damage_ = false;
  at_ += bytes;
  offset_ += bytes;
  if (!go_on) return Error{ErrorCode::cancelled, "reading was stopped", {}};
  return true;
}

Result<NativeSummary> NativeReader::run() {
  Result<void> opened = file_header();
  if (!opened) return opened.error();
  ChunkHeader header;
  for (;;) {
    Result<bool> found = find_chunk(header);
    if (!found) return found.error();
    if (!*found) break;
    Result<bool> read = chunk(header);
    if (!read) return read.error();
  }
  // Damage that nothing whole follows is where the file was cut.
  summary_.cut_bytes = pending_damage_ + (end_ - at_);
  if (in_damage_ && summary_.damaged_places > 0) --summary_.damaged_places;
  if (summary_.damaged_places == 0) summary_.first_damage = kNoU64;
  return summary_;
}

}  // namespace accel::format
