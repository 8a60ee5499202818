// DeviceRows: the tables of the native format that hold what devices did in one window. Turns buffers of CUPTI records
// into rows, gives kernels, calls and launch configurations their numbers, and hands full tables to the capture. Made
// with a capture of level 2 and freed with it. Control thread.
#pragma once

#include "format/native_writer.h"
#include "runtime/buffer/names.h"
#include "runtime/cupti/records.h"

namespace accel::runtime::cupti {

class DeviceRows {
 public:
  // Writes the rows of a full table; the names that they use come before them in the file.
  struct Out {
    void* context;
    void (*write)(void* context, format::RowBuffer& rows);
  };
  struct Counts {
    std::uint64_t events = 0;
    std::uint64_t calls = 0;
    std::uint64_t calls_left_out = 0;  // of functions that neither launch nor wait
    std::uint64_t before_window = 0;
    std::uint64_t without_time = 0;
    std::uint64_t damaged_buffers = 0;
  };

  static constexpr std::size_t kMostPayload = std::size_t{4096} * 72;  // of one chunk of these tables

  // Null: no memory.
  static DeviceRows* make(NameRegistry& names, Out out);
  static void destroy(DeviceRows* rows);

  void write_devices();
  // Records that end before `keep_from` are thrown away (the caller says ~0 while it does not know).
  void take(const Functions& functions, std::uint8_t* buffer, std::size_t valid_bytes, std::uint64_t keep_from);
  // Writes what is left in the tables.
  void flush();
  const Counts& counts() const { return counts_; }

 private:
  static constexpr std::uint32_t kLaunches = 4096;   // remembered; a power of two
  static constexpr std::uint32_t kFunctions = 1024;  // numbers of API functions that are looked up once
  struct Launch {
    std::uint32_t id;  // 0: free
    std::uint32_t values[8];
  };

  DeviceRows() = default;
  ~DeviceRows() = default;
  void device(const DeviceRecord& record);
  void call(const CallRecord& record, bool driver);
  std::uint32_t launch_of(const KernelRecord& record);
  std::uint32_t name_of_copy(const DeviceRecord& record);
  std::uint32_t name_of_call(std::uint32_t function, bool driver);
  void make_room(format::RowBuffer& rows, std::size_t text_bytes);

  NameRegistry* names_ = nullptr;
  Out out_{};
  const Functions* functions_ = nullptr;
  std::uint64_t keep_from_ = 0;
  Counts counts_;
  format::RowBuffer devices_;
  format::RowBuffer launches_;
  format::RowBuffer events_;
  format::RowBuffer calls_;
  std::uint32_t launch_count_ = 0;
  Launch launch_table_[kLaunches] = {};
  std::uint32_t call_names_[2][kFunctions] = {};
  std::size_t block_bytes_ = 0;
};

}  // namespace accel::runtime::cupti
