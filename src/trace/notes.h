// Notes: what is wrong, missing or doubtful in an input. Every importer and analysis adds to one NoteList per trace;
// every report shows it. Adding merges by code: counts add up, the first place is kept. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace accel {

enum class NoteSeverity : std::uint8_t { info, data_loss, error };

enum class NoteCode : std::uint8_t {
#define NOTE(code, severity, message, remedy) code,
#include "trace/notes.def"
#undef NOTE
};

struct NoteDescriptor {
  NoteCode code;
  std::string_view id;
  NoteSeverity severity;
  std::string_view message;
  std::string_view remedy;
};

// All descriptors, in the order of NoteCode.
std::span<const NoteDescriptor> note_catalog();
const NoteDescriptor& describe(NoteCode code);
std::string_view to_string(NoteSeverity severity);

struct Note {
  NoteCode code{};
  std::uint64_t count = 0;
  std::string where;   // first place: "byte 1234", "step 3", "stream 7"; may be empty
  std::string detail;  // figures that the catalogue's sentence cannot hold; may be empty
};

class NoteList {
 public:
  void add(NoteCode code, std::uint64_t count = 1, std::string where = {}, std::string detail = {});
  // Adds all of `other`, whose places come after those already here.
  void add_all(const NoteList& other);
  const Note* find(NoteCode code) const;
  // In the order of the catalogue, hence the same from run to run.
  std::span<const Note> notes() const { return notes_; }
  bool empty() const { return notes_.empty(); }

 private:
  std::vector<Note> notes_;
};

}  // namespace accel
