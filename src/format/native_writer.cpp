#include "format/native_writer.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>

#include "format/crc32c.h"

namespace accel::format {

std::size_t RowBuffer::bytes_needed(const TableLayout& layout, std::uint32_t capacity, std::uint32_t text_bytes) {
  std::size_t bytes = 0;
  for (std::size_t c = 0; c < layout.column_count; ++c) {
    bytes += padded(width_of(layout.columns[c].type) * std::size_t{capacity});
  }
  return bytes + padded(text_bytes);
}

void RowBuffer::init(const TableLayout& layout, std::uint32_t capacity, std::uint32_t text_bytes, char* memory) {
  layout_ = &layout;
  capacity_ = capacity;
  text_capacity_ = text_bytes;
  for (std::size_t c = 0; c < layout.column_count; ++c) {
    columns_[c] = memory;
    memory += padded(width_of(layout.columns[c].type) * std::size_t{capacity});
  }
  text_ = memory;
  clear();
}

// The lengths go to the column, the bytes to the gathering area in order of arrival; they are sorted by column when the
// payload is written (few tables have texts, and those are small).
void RowBuffer::put(std::size_t column, std::string_view value) {
  const std::size_t room = text_capacity_ - text_used_;
  const auto length = static_cast<std::uint32_t>(value.size() < room ? value.size() : room);
  std::memcpy(columns_[column] + std::size_t{rows_} * sizeof length, &length, sizeof length);
  if (length == 0) return;
  std::memcpy(text_ + text_used_, value.data(), length);
  text_used_ += length;
}

std::size_t RowBuffer::payload_bytes() const {
  std::size_t bytes = text_used_;
  for (std::size_t c = 0; c < layout_->column_count; ++c)
    bytes += width_of(layout_->columns[c].type) * std::size_t{rows_};
  return bytes;
}

void RowBuffer::write_payload(char* out) const {
  std::size_t text_columns[kMaxColumns];
  std::size_t text_count = 0;
  for (std::size_t c = 0; c < layout_->column_count; ++c) {
    if (layout_->columns[c].type == ColumnType::text) text_columns[text_count++] = c;
  }
  const auto length_of = [&](std::size_t column, std::uint32_t row) {
    std::uint32_t length;
    std::memcpy(&length, columns_[column] + std::size_t{row} * sizeof length, sizeof length);
    return length;
  };
  for (std::size_t c = 0; c < layout_->column_count; ++c) {
    const std::size_t bytes = width_of(layout_->columns[c].type) * std::size_t{rows_};
    std::memcpy(out, columns_[c], bytes);
    out += bytes;
    if (layout_->columns[c].type != ColumnType::text) continue;
    const char* at = text_;
    for (std::uint32_t row = 0; row < rows_; ++row) {
      for (std::size_t t = 0; t < text_count; ++t) {
        const std::uint32_t length = length_of(text_columns[t], row);
        if (text_columns[t] == c) {
          std::memcpy(out, at, length);
          out += length;
        }
        at += length;
      }
    }
  }
}

#define NATIVE_TABLE(number, Name, name, doc)                     \
  void put_row(RowBuffer& buffer, const native::Name##Row& row) { \
    std::size_t column = 0;
#define NATIVE_COLUMN(Name, type, name, unit, doc) buffer.put(column++, row.name);
#define NATIVE_TABLE_END(Name) \
  buffer.end_row();            \
  }
#include "format/native_schema.def"
#undef NATIVE_TABLE
#undef NATIVE_COLUMN
#undef NATIVE_TABLE_END

int NativeFile::open(int directory_fd, const char* path, const Identity& identity, Packer packer, char* scratch,
                     std::size_t scratch_size) {
  close();
  packer_ = packer;
  scratch_ = scratch;
  scratch_size_ = scratch_size;
  bytes_ = 0;
  sequence_ = 0;
  fd_ = ::openat(directory_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd_ < 0) return errno;
  FileHeader header{};
  std::memcpy(header.magic, kFileMagic, sizeof header.magic);
  header.major = kMajorVersion;
  header.minor = kMinorVersion;
  header.header_bytes = sizeof header;
  std::memcpy(header.capture_id, identity.capture_id, sizeof header.capture_id);
  header.part = identity.part;
  header.pid = identity.pid;
  header.created_ns = identity.created_ns;
  header.crc = crc32c(&header, offsetof(FileHeader, crc));
  int error = write_all(reinterpret_cast<const char*>(&header), sizeof header);
  if (error == 0) {
    constexpr std::uint32_t kColumns = 256;
    constexpr std::uint32_t kTextBytes = 8192;
    static_assert(kColumns * (2 + 1 + 3 * 12) + kTextBytes < 20000);
    char memory[20480];
    RowBuffer schema;
    schema.init(schema_layout(), kColumns, kTextBytes, memory);
    std::size_t count = 0;
    const TableLayout* tables = native_layouts(count);
    for (std::size_t t = 0; t < count; ++t) {
      for (std::size_t c = 0; c < tables[t].column_count; ++c) {
        const ColumnLayout& column = tables[t].columns[c];
        schema.put(0, tables[t].number);
        schema.put(1, static_cast<std::uint8_t>(column.type));
        schema.put(2, tables[t].name);
        schema.put(3, column.name);
        schema.put(4, column.unit);
        schema.end_row();
      }
    }
    error = append(schema);
  }
  if (error != 0) {  // nothing that can be read: leave no file
    ::unlinkat(directory_fd, path, 0);
    close();
  }
  return error;
}

int NativeFile::append(RowBuffer& rows) {
  if (rows.empty()) return 0;
  const std::size_t raw = rows.payload_bytes();
  const std::size_t half = scratch_size_ / 2;
  int error = fd_ < 0 ? EBADF : sizeof(ChunkHeader) + padded(raw) > half || raw > kMaxChunkBytes ? EFBIG : 0;
  if (error == 0) {
    char* plain = scratch_;
    char* packed = scratch_ + half;
    rows.write_payload(plain + sizeof(ChunkHeader));
    ChunkHeader header{};
    header.magic = kChunkMagic;
    header.table = rows.layout().number;
    header.rows = rows.rows();
    header.raw_bytes = static_cast<std::uint32_t>(raw);
    char* chunk = plain;
    std::size_t stored = raw;
    if (packer_.pack != nullptr) {
      const std::size_t bytes = packer_.pack(packer_.context, packed + sizeof(ChunkHeader),
                                             half - sizeof(ChunkHeader) - 8, plain + sizeof(ChunkHeader), raw);
      if (bytes != 0 && bytes < raw) {
        chunk = packed;
        stored = bytes;
        header.codec = Codec::zstd;
      }
    }
    header.stored_bytes = static_cast<std::uint32_t>(stored);
    header.payload_crc = crc32c(chunk + sizeof header, stored);
    header.sequence = sequence_;
    header.header_crc = crc32c(&header, offsetof(ChunkHeader, header_crc));
    std::memcpy(chunk, &header, sizeof header);
    std::memset(chunk + sizeof header + stored, 0, padded(stored) - stored);
    error = write_all(chunk, sizeof header + padded(stored));
  }
  if (error == 0) {
    ++sequence_;
  } else {
    lost_rows_ += rows.rows();
  }
  rows.clear();
  return error;
}

int NativeFile::write_all(const char* data, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t written = ::write(fd_, data + done, bytes - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = written == 0 ? EIO : errno;
      // A half chunk would only cost the reader a search, but the next chunk may fit where this one did not.
      if (::ftruncate(fd_, static_cast<off_t>(bytes_)) == 0) (void)::lseek(fd_, static_cast<off_t>(bytes_), SEEK_SET);
      return error;
    }
    done += static_cast<std::size_t>(written);
  }
  bytes_ += bytes;
  return 0;
}

int NativeFile::sync() { return fd_ < 0 || ::fdatasync(fd_) == 0 ? 0 : errno; }

void NativeFile::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace accel::format
