// ChunkFile: a native file being written through one row buffer per table: what a window's capture and the record of
// the run have in common. Lives in memory that its owner maps; the owner says how many rows each table may gather.
// Control thread only; C library only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/native_writer.h"

namespace accel::runtime {

// Who records, as it stands in the file and in its name.
struct RecordIdentity {
  const char* folder = nullptr;
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
};

// As mkdir -p. False with errno.
bool make_folders(const char* path);

class ChunkFile {
 public:
  struct Room {
    format::NativeTable table;
    std::uint32_t rows;
    std::uint32_t text_bytes;
  };

  // For the buffers and the writer's scratch of these rooms.
  static std::size_t bytes_needed(const Room* rooms, std::size_t count);
  ChunkFile() = default;
  ChunkFile(const ChunkFile&) = delete;
  ChunkFile& operator=(const ChunkFile&) = delete;
  void init(const Room* rooms, std::size_t count, char* memory);

  // Makes the folder and the file RANK-PID<name>NUMBER<ending>, with the next free number from `number` on, and writes
  // what is known of the process. 0 or errno.
  int open(const RecordIdentity& identity, const char* name, std::uint32_t number, const char* ending,
           std::uint32_t part);
  bool is_open() const { return file_.is_open(); }
  const char* path() const { return path_; }
  std::uint64_t bytes() const { return file_.bytes(); }
  std::uint64_t lost_rows() const { return file_.lost_rows(); }
  std::uint64_t chunks() const { return file_.chunks(); }

  format::RowBuffer& rows(format::NativeTable table) { return buffers_[static_cast<std::size_t>(table) - 1]; }
  bool has_room(format::NativeTable table, std::size_t text_bytes) { return rows(table).has_room(text_bytes); }
  void write(format::NativeTable table) { write(rows(table)); }
  // Of a table that is not among the rooms; its payload is at most that of the largest room.
  void write(format::RowBuffer& rows);
  // Writes the buffer when the row would not fit.
  void make_room(format::NativeTable table, std::size_t text_bytes) {
    if (!has_room(table, text_bytes)) write(table);
  }
  void meta(const char* key, const char* value);
  void meta(const char* key, std::int64_t value);
  void clock_pair();
  void note(const char* code, unsigned severity, std::uint64_t count, const char* message, const char* remedy);
  void mark(std::uint64_t time, std::string_view text);
  // All buffers but `end`, in the order of the rooms.
  void write_all();
  // Waits for the disk, at most a tenth of the time.
  void sync_sometimes();
  // The last row; the file is whole from then on.
  void end(const char* reason);
  // In the child of a fork.
  void forget() { file_.close(); }

 private:
  static constexpr std::size_t kTables = 22;
  void write_identity(const RecordIdentity& identity);

  format::NativeFile file_;
  format::RowBuffer buffers_[kTables];
  const Room* rooms_ = nullptr;
  std::size_t room_count_ = 0;
  char* scratch_ = nullptr;
  std::size_t scratch_bytes_ = 0;
  std::int64_t next_sync_ns_ = 0;
  std::uint64_t capture_id_[2] = {};
  char path_[1024] = {};
};

}  // namespace accel::runtime
