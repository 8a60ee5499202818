// A real capture, cut and flipped at random places: never a crash, never a hang, never an event lost before the damage.
// ACCEL_DAMAGE_PLACES=2000 is the long version.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "unit/ingest/stores.h"

namespace accel {
namespace {

using testing::count_of;
using testing::import_text;
using testing::unpacked;

std::size_t places(std::size_t few) {
  const char* const many = std::getenv("ACCEL_DAMAGE_PLACES");
  return many != nullptr ? std::strtoul(many, nullptr, 10) : few;
}

// A capture without the metadata events at its end, which make no rows, and where each of its events ends.
struct Capture {
  std::string text;
  std::vector<std::size_t> ends;
  explicit Capture(std::string_view name) : text(unpacked(testing::golden_path(name))) {
    for (std::size_t at = text.find("\n  },\n"); at != std::string::npos; at = text.find("\n  },\n", at + 1))
      ends.push_back(at + 4);
  }
  std::size_t events_before(std::size_t offset) const {
    return static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), offset) - ends.begin());
  }
};

TEST(Damage, ACutAnywhereKeepsEveryEventBeforeIt) {
  const Capture capture("pageable_h2d.before.json.gz");
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < places(60); ++i) {
    const std::size_t cut = 3000 + random() % (capture.text.size() - 3000);
    const Result<TraceStore> store = import_text(std::string_view(capture.text).substr(0, cut));
    ASSERT_TRUE(store.ok()) << cut << " " << store.error().message;
    EXPECT_EQ(store->input.events, capture.events_before(cut)) << cut;
    EXPECT_EQ(count_of(*store, NoteCode::truncated), 1U) << cut;
  }
}

TEST(Damage, AFlippedByteCostsAtMostAFewEventsAndNoneBeforeIt) {
  const Capture capture("pageable_h2d.before.json.gz");
  const std::size_t all = import_text(capture.text)->input.events;
  std::mt19937_64 random(2);
  for (std::size_t i = 0; i < places(60); ++i) {
    std::string text = capture.text;
    const std::size_t at = random() % text.size();
    const char flipped = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << random() % 8));
    text[at] = flipped;
    const Result<TraceStore> store = import_text(text);
    ASSERT_TRUE(store.ok()) << at << " " << store.error().message;
    EXPECT_GE(store->input.events, capture.events_before(at)) << at;
    // A bracket that opens or closes wrongly may take a few neighbours along.
    EXPECT_GE(store->input.events + 8, all) << at << " " << flipped;
  }
}

TEST(Damage, AHoleOfZerosLosesOnlyWhatItCovers) {
  const Capture capture("pageable_h2d.before.json.gz");
  const std::size_t all = import_text(capture.text)->input.events;
  std::mt19937_64 random(3);
  for (std::size_t i = 0; i < places(20); ++i) {
    std::string text = capture.text;
    const std::size_t at = 3000 + random() % (text.size() - 10'000);
    std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(at), 4096, '\0');
    const Result<TraceStore> store = import_text(text);
    ASSERT_TRUE(store.ok()) << at << " " << store.error().message;
    const std::size_t covered = capture.events_before(at + 4096) - capture.events_before(at);
    EXPECT_GE(store->input.events + covered + 2, all) << at;
    EXPECT_GE(store->input.events, capture.events_before(at)) << at;
  }
}

TEST(Damage, ACompressedFileCutAnywhereKeepsWhatUnpacks) {
  const std::string packed = testing::file_content(testing::golden_path("launch_bound.after.json.gz"));
  std::mt19937_64 random(4);
  for (std::size_t i = 0; i < places(20); ++i) {
    const std::size_t cut = 2000 + random() % (packed.size() - 2008);
    const Result<TraceStore> store = import_text(std::string_view(packed).substr(0, cut));
    ASSERT_TRUE(store.ok()) << cut << store.error().message;
    EXPECT_EQ(count_of(*store, NoteCode::compressed_stream_cut), 1U) << cut;
    EXPECT_EQ(count_of(*store, NoteCode::truncated), 1U) << cut;
    EXPECT_GT(store->input.events, 0U);
  }
}

TEST(Damage, AFlippedByteInACompressedFileIsNoticed) {
  const std::string packed = testing::file_content(testing::golden_path("launch_bound.after.json.gz"));
  std::mt19937_64 random(5);
  for (std::size_t i = 0; i < places(20); ++i) {
    std::string text = packed;
    const std::size_t at = 20 + random() % (text.size() - 20);
    text[at] = static_cast<char>(text[at] ^ 0x10);
    const Result<TraceStore> store = import_text(text);
    if (!store.ok()) continue;  // broken in its first block: nothing came out
    EXPECT_EQ(count_of(*store, NoteCode::compressed_stream_cut), 1U) << at;
  }
}

TEST(Damage, NestingWithoutEndTakesNoTimeWithoutEnd) {
  std::string text = R"({"schemaVersion":1,"traceEvents":[)";
  for (int i = 0; i < 60'000; ++i) text += R"({"ph":[[{"name":)";
  const Result<TraceStore> store = import_text(text);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(store->input.events, 0U);
}

}  // namespace
}  // namespace accel
