// Rows and tables generated from schema.def. A table is a struct of equally long column vectors. Tables are written by
// TraceBuilder alone and read by anyone afterwards.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace accel {

// A number that the input does not hold.
inline constexpr std::int64_t kNotRecorded = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int32_t kNotRecorded32 = std::numeric_limits<std::int32_t>::min();

enum class SliceKind : std::uint8_t { op, annotation, frame, runtime_call, driver_call, overhead, other };
enum class DeviceEventKind : std::uint8_t { kernel, memcpy, memset };
enum class CopyDirection : std::uint8_t {
  unknown,
  host_to_device,
  device_to_host,
  device_to_device,
  peer,
  host_to_host
};
enum class MemoryKind : std::uint8_t { unknown, pageable, pinned, device, managed, array };

inline constexpr std::uint8_t kSliceUnfinished =
    1;  // no usable duration in the input; open until its parent or the trace ends
inline constexpr std::uint8_t kSliceCrossing = 2;  // starts inside its parent and ends after it
inline constexpr std::uint8_t kSliceClamped = 4;   // a frame that the recorder closed at its stop; ends with its parent
inline constexpr std::uint8_t kSliceOutOfRange = 8;      // starts too far from everything else to be of this recording
inline constexpr std::uint8_t kDeviceNoTiming = 1;       // the record holds no time: kept out of every range and sum
inline constexpr std::uint8_t kDeviceSuspiciousEnd = 2;  // runs far into later events of its stream

#define TABLE_BEGIN(Name, accessor, doc) struct Name##Row {
#define COLUMN(type, name, unit, doc) type name{};
#define TABLE_END(Name) \
  }                     \
  ;
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END

#define TABLE_BEGIN(Name, accessor, doc)                            \
  struct Name##Table {                                              \
    using Row = Name##Row;                                          \
    static constexpr std::string_view kName = #accessor;            \
    std::size_t size() const;                                       \
    bool empty() const { return size() == 0; }                      \
    void push(const Row& row);                                      \
    Row row(std::size_t index) const;                               \
    /* fn(std::string_view name, std::string_view unit, vector&) */ \
    template <typename Fn>                                          \
    void for_each_column(Fn&& fn);                                  \
    template <typename Fn>                                          \
    void for_each_column(Fn&& fn) const;
#define COLUMN(type, name, unit, doc) std::vector<type> name;
#define TABLE_END(Name) \
  }                     \
  ;
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END

#define TABLE_BEGIN(Name, accessor, doc) inline std::size_t Name##Table::size() const {
#define COLUMN(type, name, unit, doc) return name.size();
#define TABLE_END(Name) }
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END

#define TABLE_BEGIN(Name, accessor, doc) inline void Name##Table::push(const Row& row) {
#define COLUMN(type, name, unit, doc) name.push_back(row.name);
#define TABLE_END(Name) }
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END

#define TABLE_BEGIN(Name, accessor, doc)                       \
  inline Name##Row Name##Table::row(std::size_t index) const { \
    Row row;
#define COLUMN(type, name, unit, doc) row.name = name[index];
#define TABLE_END(Name) \
  return row;           \
  }
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END

#define TABLE_BEGIN(Name, accessor, doc) \
  template <typename Fn>                 \
  void Name##Table::for_each_column(Fn&& fn) {
#define COLUMN(type, name, unit, doc) fn(std::string_view(#name), std::string_view(unit), name);
#define TABLE_END(Name) }
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END

#define TABLE_BEGIN(Name, accessor, doc) \
  template <typename Fn>                 \
  void Name##Table::for_each_column(Fn&& fn) const {
#define COLUMN(type, name, unit, doc) fn(std::string_view(#name), std::string_view(unit), name);
#define TABLE_END(Name) }
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END

}  // namespace accel
