#include "format/native_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zstd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "format/crc32c.h"
#include "format/native_reader.h"
#include "format/tick_clock.h"
#include "unit/format/native_files.h"

namespace accel::format {
namespace {

std::size_t pack_zstd(void*, char* out, std::size_t capacity, const char* in, std::size_t bytes) {
  const std::size_t packed = ZSTD_compress(out, capacity, in, bytes, 1);
  return ZSTD_isError(packed) != 0 ? 0 : packed;
}

class Native : public testing::Test {
 protected:
  // Chunks of scopes and names, then an end row. Each scope row's begin is its number.
  std::string written(std::uint32_t chunks, std::uint32_t rows, bool zstd) {
    NativeFile file;
    const std::filesystem::path path = folder_ / ("capture" + std::to_string(++files_) + ".accel");
    NativeFile::Identity identity;
    identity.pid = 42;
    EXPECT_EQ(file.open(AT_FDCWD, path.c_str(), identity, zstd ? Packer{pack_zstd, nullptr} : Packer{}, scratch_.data(),
                        scratch_.size()),
              0);
    OwnedRows scopes(NativeTable::Scope);
    OwnedRows names(NativeTable::Name);
    std::uint64_t next = 0;
    for (std::uint32_t c = 0; c < chunks; ++c) {
      put_row(*names, native::NameRow{c, "category", "name " + std::to_string(c)});
      for (std::uint32_t r = 0; r < rows; ++r, ++next)
        put_row(*scopes, native::ScopeRow{next, next + 5, kNoU64, c, 0, 1});
      EXPECT_EQ(file.append(*names), 0);
      EXPECT_EQ(file.append(*scopes), 0);
      ends_.push_back(file.bytes());
    }
    OwnedRows end(NativeTable::End);
    put_row(*end, native::EndRow{next, file.chunks(), "done"});
    EXPECT_EQ(file.append(*end), 0);
    file.close();
    return bytes_of(path);
  }

  // The begins of all scope rows, and the summary.
  std::vector<std::uint64_t> scopes_in(const std::string& bytes, NativeSummary& summary, std::size_t piece = 1000000) {
    std::vector<std::uint64_t> begins;
    const Result<NativeSummary> read = NativeReader::read(pull_from(bytes, piece), [&](const NativeRows& rows) {
      if (rows.table() != "scope") return true;
      const NativeRows::Column begin = rows.column("begin");
      const NativeRows::Column end = rows.column("end");
      for (std::uint32_t row = 0; row < rows.size(); ++row) {
        begins.push_back(begin.u64(row));
        EXPECT_EQ(end.u64(row), begin.u64(row) + 5);
      }
      return true;
    });
    summary = read ? *read : NativeSummary{};
    return begins;
  }

  TemporaryFolder folder_;
  int files_ = 0;
  std::vector<std::uint64_t> ends_;  // bytes of the file after each round of chunks
  std::vector<char> scratch_ = std::vector<char>(NativeFile::scratch_bytes(100000));
};

TEST(Crc32c, equals_the_published_check_value_with_and_without_the_instruction) {
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283U);
  EXPECT_EQ(crc32c_portable("123456789", 9), 0xe3069283U);
  std::string bytes(1000, '\0');
  std::mt19937 random(1);
  for (char& c : bytes) c = static_cast<char>(random());
  for (std::size_t length = 0; length < 100; ++length) {
    EXPECT_EQ(crc32c(bytes.data(), length), crc32c_portable(bytes.data(), length));
    EXPECT_EQ(crc32c(bytes.data() + length, bytes.size() - length, crc32c(bytes.data(), length)),
              crc32c(bytes.data(), bytes.size()));
  }
}

TEST_F(Native, every_row_comes_back_as_it_was_written) {
  for (const bool zstd : {false, true}) {
    const std::string bytes = written(3, 100, zstd);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1000000}}) {
      NativeSummary summary;
      const std::vector<std::uint64_t> begins = scopes_in(bytes, summary, piece);
      ASSERT_EQ(begins.size(), 300U);
      for (std::uint64_t i = 0; i < begins.size(); ++i) EXPECT_EQ(begins[i], i);
      EXPECT_EQ(summary.header.pid, 42U);
      EXPECT_EQ(summary.chunks, 8U) << "schema, three times names and scopes, end";
      EXPECT_EQ(summary.bytes, bytes.size());
      EXPECT_TRUE(summary.ended);
      EXPECT_EQ(summary.cut_bytes + summary.damaged_bytes + summary.missing_chunks + summary.unknown_tables, 0U);
    }
  }
}

TEST_F(Native, texts_of_several_columns_do_not_mix) {
  NativeFile file;
  const std::filesystem::path path = folder_ / "texts.accel";
  ASSERT_EQ(file.open(AT_FDCWD, path.c_str(), {}, {}, scratch_.data(), scratch_.size()), 0);
  OwnedRows notes(NativeTable::Note);
  for (int i = 0; i < 50; ++i) {
    const std::string n = std::to_string(i);
    put_row(*notes, native::NoteRow{7, 1, 2, "code" + n, std::string(static_cast<std::size_t>(i % 5), 'm'),
                                    i % 3 == 0 ? "" : "remedy" + n});
  }
  ASSERT_EQ(file.append(*notes), 0);
  file.close();
  const std::string bytes = bytes_of(path);
  int seen = 0;
  const Result<NativeSummary> read = NativeReader::read(pull_from(bytes), [&](const NativeRows& rows) {
    for (std::uint32_t row = 0; row < rows.size(); ++row, ++seen) {
      const std::string n = std::to_string(row);
      EXPECT_EQ(rows.column("code").text(row), "code" + n);
      EXPECT_EQ(rows.column("message").text(row), std::string(row % 5, 'm'));
      EXPECT_EQ(rows.column("remedy").text(row), row % 3 == 0 ? "" : "remedy" + n);
      EXPECT_EQ(rows.column("severity").u64(row), 2U);
    }
    return true;
  });
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(seen, 50);
}

TEST_F(Native, a_file_cut_at_any_byte_reads_up_to_its_last_whole_chunk_and_says_that_it_was_cut) {
  for (const bool zstd : {false, true}) {
    ends_.clear();
    const std::string bytes = written(4, 10, zstd);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      NativeSummary summary;
      const std::vector<std::uint64_t> begins = scopes_in(bytes.substr(0, cut), summary);
      std::size_t whole = 0;
      while (whole < ends_.size() && ends_[whole] <= cut) ++whole;
      ASSERT_GE(begins.size(), whole * 10) << "cut at " << cut;
      ASSERT_LE(begins.size(), (whole + 1) * 10);
      ASSERT_FALSE(summary.ended);
      ASSERT_EQ(summary.damaged_bytes, 0U) << "cut at " << cut;
      for (std::uint64_t i = 0; i < begins.size(); ++i) ASSERT_EQ(begins[i], i);
    }
  }
}

TEST_F(Native, a_file_whose_end_is_a_hole_of_zeros_reads_as_cut) {
  std::string bytes = written(4, 10, false);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(ends_[1]), bytes.end(), '\0');
  NativeSummary summary;
  EXPECT_EQ(scopes_in(bytes, summary).size(), 20U);
  EXPECT_FALSE(summary.ended);
  EXPECT_EQ(summary.cut_bytes, bytes.size() - ends_[1]);
  EXPECT_EQ(summary.damaged_bytes, 0U);
}

TEST_F(Native, any_flipped_byte_costs_at_most_one_chunk_and_is_told) {
  for (const bool zstd : {false, true}) {
    const std::string bytes = written(4, 10, zstd);
    const std::uint64_t schema_end = [&] {  // without a schema nothing can be read, so damage there is another matter
      ChunkHeader header;
      std::memcpy(&header, bytes.data() + sizeof(FileHeader), sizeof header);
      return sizeof(FileHeader) + sizeof header + padded(header.stored_bytes);
    }();
    for (std::size_t at = schema_end; at < bytes.size(); ++at) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(~damaged[at]);
      NativeSummary summary;
      const std::vector<std::uint64_t> begins = scopes_in(damaged, summary);
      ASSERT_GE(begins.size(), 30U) << "byte " << at;
      for (const std::uint64_t begin : begins) ASSERT_LT(begin, 40U);
      if (begins.size() < 40) {
        ASSERT_TRUE(summary.damaged_bytes > 0 || summary.cut_bytes > 0) << "byte " << at;
        ASSERT_EQ(summary.missing_chunks, summary.ended ? 1U : 0U);
      }
    }
  }
}

TEST_F(Native, random_bytes_are_no_native_file_and_a_newer_format_is_named) {
  NativeSummary summary;
  const auto error_of = [&](const std::string& bytes) {
    const Result<NativeSummary> read = NativeReader::read(pull_from(bytes), [](const NativeRows&) { return true; });
    return read ? Error{} : read.error();
  };
  EXPECT_EQ(error_of("").code, ErrorCode::not_a_trace);
  EXPECT_EQ(error_of("{\"traceEvents\": []}").code, ErrorCode::not_a_trace);
  std::string bytes = written(1, 1, false);
  EXPECT_EQ(error_of(bytes.substr(0, 40)).code, ErrorCode::unreadable);
  EXPECT_EQ(error_of(std::string(bytes).replace(30, 1, "x")).code, ErrorCode::unreadable);
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.major = kMajorVersion + 1;
  header.crc = crc32c(&header, offsetof(FileHeader, crc));
  std::memcpy(bytes.data(), &header, sizeof header);
  EXPECT_EQ(error_of(bytes).code, ErrorCode::unreadable);
  EXPECT_NE(error_of(bytes).message.find("newer accel-profiler"), std::string::npos);
}

// A file of another version of the schema, made by hand.
class OtherSchema {
 public:
  OtherSchema() {
    FileHeader header{};
    std::memcpy(header.magic, kFileMagic, sizeof header.magic);
    header.major = kMajorVersion;
    header.minor = 77;
    header.header_bytes = sizeof header;
    header.crc = crc32c(&header, offsetof(FileHeader, crc));
    bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
  }
  void chunk(RowBuffer& rows) {
    std::string payload(rows.payload_bytes(), '\0');
    rows.write_payload(payload.data());
    ChunkHeader header{};
    header.magic = kChunkMagic;
    header.table = rows.layout().number;
    header.rows = rows.rows();
    header.raw_bytes = header.stored_bytes = static_cast<std::uint32_t>(payload.size());
    header.payload_crc = crc32c(payload.data(), payload.size());
    header.sequence = sequence_++;
    header.header_crc = crc32c(&header, offsetof(ChunkHeader, header_crc));
    payload.resize(padded(payload.size()), '\0');
    bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
    bytes += payload;
    rows.clear();
  }
  std::string bytes;

 private:
  std::uint64_t sequence_ = 0;
};

TEST_F(Native, a_file_of_another_version_reads_by_its_own_schema) {
  static constexpr ColumnLayout kColumns[] = {
      {"end", "ticks", ColumnType::u64}, {"colour", "", ColumnType::text}, {"begin", "ticks", ColumnType::u32}};
  constexpr TableLayout kScope = {"scope", kColumns, 5, 3};
  OtherSchema other;
  OwnedRows schema(schema_layout());
  for (const ColumnLayout& column : kColumns) {
    schema->put(0, kScope.number);
    schema->put(1, static_cast<std::uint8_t>(column.type));
    schema->put(2, kScope.name);
    schema->put(3, column.name);
    schema->put(4, column.unit);
    schema->end_row();
  }
  other.chunk(*schema);
  OwnedRows rows(kScope);
  rows->put(0, std::uint64_t{15});
  rows->put(1, std::string_view("red"));
  rows->put(2, std::uint32_t{10});
  rows->end_row();
  other.chunk(*rows);
  constexpr TableLayout kUnknown = {"unknown", kColumns, 9, 3};
  OwnedRows unknown(kUnknown);
  unknown->put(0, std::uint64_t{1});
  unknown->put(1, std::string_view());
  unknown->put(2, std::uint32_t{1});
  unknown->end_row();
  other.chunk(*unknown);
  int seen = 0;
  const Result<NativeSummary> read = NativeReader::read(pull_from(other.bytes), [&](const NativeRows& scope) {
    ++seen;
    EXPECT_EQ(scope.column("begin").u64(0), 10U);
    EXPECT_EQ(scope.column("end").i64(0), 15);
    EXPECT_EQ(scope.column("colour").text(0), "red");
    EXPECT_FALSE(scope.has("bytes"));
    EXPECT_EQ(scope.column("bytes").u64(0), kNoU64);
    EXPECT_EQ(scope.column("bytes").i64(0), kNoI64);
    EXPECT_TRUE(std::isnan(scope.column("bytes").f64(0)));
    EXPECT_EQ(scope.column("bytes").text(0), "");
    return true;
  });
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(read->unknown_tables, 1U);
}

TEST_F(Native, a_full_disk_loses_the_chunk_counts_it_and_leaves_a_readable_file) {
  NativeFile file;
  const std::filesystem::path path = folder_ / "full.accel";
  ASSERT_EQ(file.open(AT_FDCWD, path.c_str(), {}, {}, scratch_.data(), scratch_.size()), 0);
  OwnedRows scopes(NativeTable::Scope);
  const auto append = [&](std::uint64_t begin) {
    for (std::uint64_t r = 0; r < 100; ++r) put_row(*scopes, native::ScopeRow{begin + r, begin + r + 5, 0, 0, 0, 0});
    return file.append(*scopes);
  };
  ASSERT_EQ(append(0), 0);
  const rlimit before = [] {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    return limit;
  }();
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = file.bytes() + 100;
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_EQ(append(1000), EFBIG);
  EXPECT_EQ(append(2000), EFBIG);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(file.lost_rows(), 200U);
  EXPECT_EQ(append(3000), 0) << "there is room again";
  file.close();
  NativeSummary summary;
  const std::vector<std::uint64_t> begins = scopes_in(bytes_of(path), summary);
  EXPECT_EQ(begins.size(), 200U);
  EXPECT_EQ(begins.back(), 3099U);
  EXPECT_EQ(summary.damaged_bytes, 0U) << "the half chunk was cut off";
}

TEST_F(Native, a_file_that_exists_or_a_folder_that_is_gone_is_an_error_and_nothing_is_left) {
  NativeFile file;
  const std::filesystem::path path = folder_ / "twice.accel";
  ASSERT_EQ(file.open(AT_FDCWD, path.c_str(), {}, {}, scratch_.data(), scratch_.size()), 0);
  EXPECT_EQ(file.open(AT_FDCWD, path.c_str(), {}, {}, scratch_.data(), scratch_.size()), EEXIST);
  EXPECT_FALSE(file.is_open());
  EXPECT_EQ(file.open(AT_FDCWD, (folder_ / "gone/x.accel").c_str(), {}, {}, scratch_.data(), scratch_.size()), ENOENT);
  OwnedRows scopes(NativeTable::Scope);
  put_row(*scopes, native::ScopeRow{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(file.append(*scopes), EBADF);
  EXPECT_EQ(file.lost_rows(), 1U);
}

TEST_F(Native, a_buffer_takes_what_fits_and_cuts_a_text_that_never_would) {
  OwnedRows marks(NativeTable::Mark, 3, 10);
  EXPECT_TRUE(marks->has_room(1000)) << "an empty buffer takes any row";
  put_row(*marks, native::MarkRow{1, std::string(50, 'x')});
  EXPECT_FALSE(marks->has_room(1));
  EXPECT_TRUE(marks->has_room(0));
  EXPECT_EQ(marks->payload_bytes(), 8U + 4U + 10U);
}

TEST_F(Native, the_documentation_lists_every_table_and_column_as_the_code_does) {
  std::ifstream in(std::string(ACCEL_SOURCE_DIR) + "/docs/formats/native.md");
  std::stringstream text;
  text << in.rdbuf();
  const std::string page = text.str();
  const std::map<ColumnType, std::string> types = {
      {ColumnType::u8, "u8"},   {ColumnType::u16, "u16"}, {ColumnType::u32, "u32"},  {ColumnType::u64, "u64"},
      {ColumnType::i64, "i64"}, {ColumnType::f64, "f64"}, {ColumnType::text, "text"}};
  std::size_t count = 0;
  const TableLayout* tables = native_layouts(count);
  for (std::size_t t = 0; t < count; ++t) {
    EXPECT_NE(page.find("### " + std::to_string(tables[t].number) + " " + std::string(tables[t].name)),
              std::string::npos)
        << tables[t].name;
    for (std::size_t c = 0; c < tables[t].column_count; ++c) {
      const ColumnLayout& column = tables[t].columns[c];
      const std::string row =
          "| `" + std::string(column.name) + "` | " + types.at(column.type) + " | " + std::string(column.unit) + " |";
      EXPECT_NE(page.find(row), std::string::npos) << row;
    }
  }
}

TEST(TickClock, interpolates_between_pairs_and_goes_on_beyond_them) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const TickClock clock({{2'000'000, 101 * kSecond, kSecond, 0}, {0, 100 * kSecond, 0, 0}}, 999);
  EXPECT_EQ(clock.to_ns(0), 100 * kSecond);
  EXPECT_EQ(clock.to_ns(1'000'000), 100 * kSecond + kSecond / 2);
  EXPECT_EQ(clock.to_ns(3'000'000), 101 * kSecond + kSecond / 2);
}

TEST(TickClock, a_wall_clock_that_was_set_bends_no_duration_and_is_told) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const TickClock clock(
      {{0, 50 * kSecond, 0, 0}, {1000, 51 * kSecond, kSecond, 0}, {2000, 3600 * kSecond, 2 * kSecond, 0}}, 1000);
  EXPECT_EQ(clock.to_ns(2000) - clock.to_ns(1000), kSecond);
  EXPECT_EQ(clock.to_ns(1000), 51 * kSecond);
  EXPECT_EQ(clock.wall_clock_shift_ns(), 3548 * kSecond);
}

TEST(TickClock, one_pair_uses_the_stated_frequency_and_none_counts_from_zero) {
  const TickClock one({{5000, 7'000'000'000, 1'000'000'000, 0}}, 1000);
  EXPECT_EQ(one.to_ns(6000), 8'000'000'000);
  EXPECT_EQ(one.to_ns(4000), 6'000'000'000);
  const TickClock none({}, 1000);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.to_ns(500), 500'000'000);
}

TEST(TickClock, absurd_pairs_overflow_nothing) {
  const TickClock clock({{0, INT64_MIN, INT64_MIN, 0}, {kNoU64, INT64_MAX, INT64_MAX, 0}, {kNoU64, 0, 5, 0}}, 1);
  (void)clock.to_ns(0);
  (void)clock.to_ns(kNoU64);
  const TickClock flipped({{10, 0, INT64_MAX, 0}, {20, 0, INT64_MIN, 0}}, 0);
  (void)flipped.to_ns(kNoU64);
}

}  // namespace
}  // namespace accel::format
