// Any bytes: the reader ends, its sums hold, and every cell can be asked for. The checksums of a generated input are
// repaired first (unless its first byte says not to), so that the fuzzer gets behind them.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "format/crc32c.h"
#include "format/native_reader.h"
#include "format/tick_clock.h"

namespace {

using namespace accel;          // NOLINT(google-build-using-namespace)
using namespace accel::format;  // NOLINT(google-build-using-namespace)

void require(bool held) {
  if (!held) std::abort();
}

void repair(std::string& bytes) {
  if (bytes.size() < sizeof(FileHeader)) return;
  FileHeader file;
  std::memcpy(&file, bytes.data(), sizeof file);
  file.crc = crc32c(&file, offsetof(FileHeader, crc));
  std::memcpy(bytes.data(), &file, sizeof file);
  std::size_t at = file.header_bytes;
  while (at <= bytes.size() && bytes.size() - at >= sizeof(ChunkHeader)) {
    ChunkHeader chunk;
    std::memcpy(&chunk, bytes.data() + at, sizeof chunk);
    if (chunk.magic != kChunkMagic) break;
    const std::size_t left = bytes.size() - at - sizeof chunk;
    if (chunk.stored_bytes <= left) chunk.payload_crc = crc32c(bytes.data() + at + sizeof chunk, chunk.stored_bytes);
    chunk.header_crc = crc32c(&chunk, offsetof(ChunkHeader, header_crc));
    std::memcpy(bytes.data() + at, &chunk, sizeof chunk);
    at += sizeof chunk + padded(chunk.stored_bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] != 0) repair(bytes);
  std::size_t at = 0;
  const std::size_t piece = data[0] > 1 ? data[0] : 1 << 20;
  const auto pull = [&](std::span<char> out) -> Result<std::size_t> {
    const std::size_t count = std::min({out.size(), piece, bytes.size() - at});
    bytes.copy(out.data(), count, at);
    at += count;
    return count;
  };
  std::uint64_t rows_seen = 0;
  std::vector<TickClock::Pair> pairs;
  const Result<NativeSummary> read = NativeReader::read(pull, [&](const NativeRows& rows) {
    rows_seen += rows.size();
    std::size_t tables = 0;
    const TableLayout* layouts = native_layouts(tables);
    for (std::size_t t = 0; t < tables; ++t) {
      if (layouts[t].name != rows.table()) continue;
      for (std::size_t c = 0; c < layouts[t].column_count; ++c) {
        const NativeRows::Column column = rows.column(layouts[t].columns[c].name);
        for (std::uint32_t row = 0; row < std::min<std::uint32_t>(rows.size(), 1000); ++row) {
          (void)column.u64(row);
          (void)column.i64(row);
          (void)column.f64(row);
          std::string copy(column.text(row));
        }
        require(column.u64(rows.size()) == kNoU64);
      }
    }
    if (rows.table() == "clock") {
      for (std::uint32_t row = 0; row < std::min<std::uint32_t>(rows.size(), 100); ++row) {
        pairs.push_back({rows.column("ticks").u64(row), rows.column("realtime_ns").i64(row),
                         rows.column("monotonic_ns").i64(row), 0});
      }
    }
    return true;
  });
  if (!read) {
    require(!read.error().message.empty());
    return 0;
  }
  require(read->rows == rows_seen);
  require(read->bytes == bytes.size());
  require(read->damaged_bytes + read->cut_bytes <= bytes.size());
  const TickClock clock(pairs, size);
  (void)clock.to_ns(size);
  (void)clock.to_ns(kNoU64);
  return 0;
}
