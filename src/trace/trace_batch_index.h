// The lookups behind TraceBatch and TraceBuilder: rows of a small table that are stored once each. Private to trace.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "trace/trace_builder.h"

namespace accel {

namespace row_index {

inline std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
  return h ^ (h >> 32);
}
template <typename T>
std::uint64_t bits(const T& value) {
  std::uint64_t v = 0;
  std::memcpy(&v, &value, sizeof(T));
  return v;
}

inline std::uint64_t hash_of(const ThreadRow& r) {
  return mix(mix(mix(bits(r.pid), bits(r.tid)), bits(r.pid_text)), bits(r.tid_text));
}
inline std::uint64_t hash_of(const StreamRow& r) { return mix(mix(bits(r.device), bits(r.context)), bits(r.stream)); }
inline std::uint64_t hash_of(const OpArgsRow& r) {
  return mix(mix(mix(bits(r.dims), bits(r.types)), bits(r.strides)), bits(r.concrete));
}
inline std::uint64_t hash_of(const LaunchConfigRow& r) {
  std::uint64_t h = 0;
  for (const std::int32_t v :
       {r.grid_x, r.grid_y, r.grid_z, r.block_x, r.block_y, r.block_z, r.registers, r.shared_memory})
    h = mix(h, bits(v));
  for (const float v : {r.occupancy_percent, r.blocks_per_sm, r.warps_per_sm}) h = mix(h, bits(v));
  return h;
}

inline bool same(const ThreadTable& t, std::size_t i, const ThreadRow& r) {
  return t.pid[i] == r.pid && t.tid[i] == r.tid && t.pid_text[i] == r.pid_text && t.tid_text[i] == r.tid_text;
}
inline bool same(const StreamTable& t, std::size_t i, const StreamRow& r) {
  return t.device[i] == r.device && t.context[i] == r.context && t.stream[i] == r.stream;
}
inline bool same(const OpArgsTable& t, std::size_t i, const OpArgsRow& r) {
  return t.dims[i] == r.dims && t.types[i] == r.types && t.strides[i] == r.strides && t.concrete[i] == r.concrete;
}
inline bool same(const LaunchConfigTable& t, std::size_t i, const LaunchConfigRow& r) {
  return t.grid_x[i] == r.grid_x && t.grid_y[i] == r.grid_y && t.grid_z[i] == r.grid_z && t.block_x[i] == r.block_x &&
         t.block_y[i] == r.block_y && t.block_z[i] == r.block_z && t.registers[i] == r.registers &&
         t.shared_memory[i] == r.shared_memory && bits(t.occupancy_percent[i]) == bits(r.occupancy_percent) &&
         bits(t.blocks_per_sm[i]) == bits(r.blocks_per_sm) && bits(t.warps_per_sm[i]) == bits(r.warps_per_sm);
}

}  // namespace row_index

// Row number of each distinct row of `Table`. Open addressing; row number + 1, 0 = free.
template <typename Table, std::size_t kMaxRows>
class RowIndex {
 public:
  // The number of `row` in `table`, added at its end when it is new. A table that is full gives its last number, and
  // overflowed() says so.
  std::uint32_t add(Table& table, const typename Table::Row& row) {
    if (last_ < table.size() && row_index::same(table, last_, row)) return last_;
    if (slots_.size() < 2 * (table.size() + 1)) grow(table);
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = row_index::hash_of(row) & mask;
    for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
      if (row_index::same(table, slots_[slot] - 1, row)) return last_ = slots_[slot] - 1;
    }
    if (table.size() >= kMaxRows) {
      overflowed_ = true;
      return last_ = static_cast<std::uint32_t>(table.size() - 1);
    }
    table.push(row);
    slots_[slot] = static_cast<std::uint32_t>(table.size());
    return last_ = slots_[slot] - 1;
  }
  bool overflowed() const { return overflowed_; }
  void clear() {
    slots_.assign(slots_.size(), 0);
    last_ = 0;
    overflowed_ = false;
  }

 private:
  void grow(const Table& table) {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, 0);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = 0; i < table.size(); ++i) {
      std::size_t slot = row_index::hash_of(table.row(i)) & mask;
      while (slots_[slot] != 0) slot = (slot + 1) & mask;
      slots_[slot] = static_cast<std::uint32_t>(i + 1);
    }
  }

  std::vector<std::uint32_t> slots_;
  std::uint32_t last_ = 0;  // neighbours in the input mostly repeat
  bool overflowed_ = false;
};

struct RowIndexes {
  RowIndex<ThreadTable, ThreadIndex::kNone> threads;
  RowIndex<StreamTable, StreamIndex::kNone> streams;
  RowIndex<OpArgsTable, ArgsId::kNone> op_args;
  RowIndex<LaunchConfigTable, LaunchConfigId::kNone> launch_configs;

  void clear() {
    threads.clear();
    streams.clear();
    op_args.clear();
    launch_configs.clear();
  }
  bool overflowed() const { return threads.overflowed() || streams.overflowed(); }
};

struct TraceBatch::Index : RowIndexes {
  std::vector<std::pair<std::string, std::uint64_t>> categories;
};

}  // namespace accel
