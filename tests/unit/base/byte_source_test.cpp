#include "base/byte_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace accel {
namespace {

std::string read_all(ByteSource& source, std::size_t piece) {
  std::string all;
  std::string buffer(piece, '\0');
  while (true) {
    const Result<std::size_t> got = source.read(buffer);
    EXPECT_TRUE(got.ok());
    if (!got) return all;
    all.append(buffer, 0, *got);
    if (*got < piece) return all;
  }
}

void put_little_endian(std::string& out, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

// One member in stored blocks (RFC 1951 section 3.2.4, RFC 1952).
std::string gzip(std::string_view text) {
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  constexpr std::size_t kBlock = 5000;
  for (std::size_t at = 0; at < text.size(); at += kBlock) {
    const std::string_view block = text.substr(at, kBlock);
    out += at + kBlock >= text.size() ? '\1' : '\0';
    put_little_endian(out, static_cast<std::uint32_t>(block.size()), 2);
    put_little_endian(out, ~static_cast<std::uint32_t>(block.size()), 2);
    out += block;
  }
  std::uint32_t crc = ~0U;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320U : 0U);
  }
  put_little_endian(out, ~crc, 4);
  put_little_endian(out, static_cast<std::uint32_t>(text.size()), 4);
  return out;
}

std::string numbers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i) + '\n';
  return text;
}

TEST(ByteSource, gives_the_same_bytes_in_pieces_of_any_size) {
  const std::string text = numbers(2000);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, text.size(), text.size() + 1}) {
    EXPECT_EQ(read_all(*memory_source("m", text), piece), text) << piece;
    EXPECT_EQ(
        read_all(*prefixed_source(text.substr(0, 100), memory_source("m", std::string_view(text).substr(100))), piece),
        text);
    EXPECT_EQ(read_all(*gzip_source(memory_source("m", gzip(text))), piece), text) << piece;
  }
}

TEST(ByteSource, reads_all_members_of_a_gzip_file_and_names_what_is_cut) {
  const std::string text = numbers(5000);
  const std::string two = gzip(text) + gzip(text);
  const std::unique_ptr<ByteSource> whole = gzip_source(memory_source("m", two));
  EXPECT_EQ(read_all(*whole, 1000), text + text);
  EXPECT_EQ(whole->damage(), "");
  std::string wrong = two;
  wrong[wrong.size() - 8] ^= 1;  // the checksum of the second member
  const std::unique_ptr<ByteSource> flipped = gzip_source(memory_source("m", wrong));
  EXPECT_EQ(read_all(*flipped, 1000), text + text);
  EXPECT_NE(flipped->damage(), "");

  const std::unique_ptr<ByteSource> cut =
      gzip_source(memory_source("m", std::string_view(two).substr(0, two.size() / 4)));
  const std::string head = read_all(*cut, 1000);
  EXPECT_FALSE(head.empty());
  EXPECT_EQ(text.compare(0, head.size(), head), 0);
  EXPECT_NE(cut->damage(), "");
}

TEST(ByteSource, knows_the_size_and_the_place_in_a_file_and_ends_early_when_it_shrinks) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("byte_source_" + std::to_string(::getpid()));
  const std::string text = numbers(3000);
  std::ofstream(path) << text;
  const Result<std::unique_ptr<ByteSource>> file = open_file(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->total_bytes(), text.size());
  std::string half(text.size() / 2, '\0');
  ASSERT_EQ(*(*file)->read(half), half.size());
  EXPECT_EQ((*file)->bytes_read(), half.size());
  std::filesystem::resize_file(path, half.size() + 3);
  EXPECT_EQ(read_all(**file, 512), text.substr(half.size(), 3));
  std::filesystem::remove(path);
}

TEST(ByteSource, says_which_file_cannot_be_opened) {
  const Result<std::unique_ptr<ByteSource>> none = open_file("/nowhere/at/all.json");
  ASSERT_FALSE(none.ok());
  EXPECT_NE((none.error().message + none.error().where).find("/nowhere/at/all.json"), std::string::npos);
  const Result<std::unique_ptr<ByteSource>> folder = open_file("/");
  std::string bytes(10, '\0');
  EXPECT_TRUE(!folder.ok() || !(*folder)->read(bytes).ok());
}

TEST(ByteSource, reads_a_pipe_that_fills_slowly) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string text = numbers(30000);
  std::thread writer([&] {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t written = ::write(ends[1], text.data() + at, std::min<std::size_t>(text.size() - at, 5000));
      if (written <= 0) break;
      at += static_cast<std::size_t>(written);
    }
    ::close(ends[1]);
  });
  const Result<std::unique_ptr<ByteSource>> pipe = open_file("/dev/fd/" + std::to_string(ends[0]));
  EXPECT_TRUE(pipe.ok());
  if (pipe) {
    EXPECT_EQ((*pipe)->total_bytes(), 0U);
    EXPECT_EQ(read_all(**pipe, 65536), text);
  }
  writer.join();
  ::close(ends[0]);
}

}  // namespace
}  // namespace accel
