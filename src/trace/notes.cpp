#include "trace/notes.h"

#include <algorithm>

namespace accel {
namespace {

constexpr NoteDescriptor kCatalog[] = {
#define NOTE(code, severity, message, remedy) {NoteCode::code, #code, NoteSeverity::severity, message, remedy},
#include "trace/notes.def"
#undef NOTE
};

}  // namespace

std::span<const NoteDescriptor> note_catalog() { return kCatalog; }

const NoteDescriptor& describe(NoteCode code) { return kCatalog[static_cast<std::size_t>(code)]; }

std::string_view to_string(NoteSeverity severity) {
  switch (severity) {
    case NoteSeverity::info:
      return "info";
    case NoteSeverity::data_loss:
      return "data_loss";
    case NoteSeverity::error:
      return "error";
  }
  return "info";
}

void NoteList::add(NoteCode code, std::uint64_t count, std::string where, std::string detail) {
  if (count == 0) return;
  const auto at =
      std::lower_bound(notes_.begin(), notes_.end(), code, [](const Note& note, NoteCode c) { return note.code < c; });
  if (at != notes_.end() && at->code == code) {
    at->count += count;
    if (at->where.empty()) at->where = std::move(where);
    if (at->detail.empty()) at->detail = std::move(detail);
    return;
  }
  notes_.insert(at, Note{code, count, std::move(where), std::move(detail)});
}

void NoteList::add_all(const NoteList& other) {
  for (const Note& note : other.notes_) add(note.code, note.count, note.where, note.detail);
}

const Note* NoteList::find(NoteCode code) const {
  const auto at =
      std::lower_bound(notes_.begin(), notes_.end(), code, [](const Note& note, NoteCode c) { return note.code < c; });
  return at != notes_.end() && at->code == code ? &*at : nullptr;
}

}  // namespace accel
