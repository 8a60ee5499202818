#include "trace/notes.h"

#include <gtest/gtest.h>

#include <set>

namespace accel {
namespace {

TEST(NoteList, MergesByCodeAndKeepsTheFirstPlace) {
  NoteList list;
  list.add(NoteCode::malformed_event, 1, "byte 10");
  list.add(NoteCode::truncated, 1, "byte 99");
  list.add(NoteCode::malformed_event, 2, "byte 50");
  ASSERT_EQ(list.notes().size(), 2U);
  const Note* note = list.find(NoteCode::malformed_event);
  ASSERT_NE(note, nullptr);
  EXPECT_EQ(note->count, 3U);
  EXPECT_EQ(note->where, "byte 10");
}

TEST(NoteList, ComesInTheOrderOfTheCatalogueWhateverCameFirst) {
  NoteList list;
  list.add(NoteCode::output_capped);
  list.add(NoteCode::truncated);
  EXPECT_EQ(list.notes().front().code, NoteCode::truncated);
}

TEST(NoteList, LeavesOutWhatDidNotHappen) {
  NoteList list;
  list.add(NoteCode::truncated, 0);
  EXPECT_TRUE(list.empty());
}

TEST(NoteCatalog, GivesEveryCodeItsOwnIdSentenceAndRemedy) {
  std::set<std::string_view> ids;
  for (const NoteDescriptor& note : note_catalog()) {
    EXPECT_TRUE(ids.insert(note.id).second) << note.id;
    EXPECT_FALSE(note.message.empty()) << note.id;
    EXPECT_FALSE(note.remedy.empty()) << note.id;
    EXPECT_EQ(&describe(note.code), &note) << note.id;
  }
}

}  // namespace
}  // namespace accel
