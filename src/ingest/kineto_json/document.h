// The file as a whole, read in order: what stands before, in and behind the array of events. Knows at every point where
// in the document it is, reads damaged events one by one, and finds the way back after damage. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "ingest/kineto_json/event_sink.h"
#include "ingest/kineto_json/exact_reader.h"
#include "ingest/kineto_json/fast_reader.h"
#include "trace/trace_store.h"

namespace accel::kineto_json {

class Document {
 public:
  // `damaged(offset)` is called before anything is read behind a place where events were lost.
  Document(ProcessInfo& process, NoteList& notes, std::function<void(std::uint64_t)> damaged)
      : process_(process), notes_(notes), damaged_(std::move(damaged)) {}

  // Between two events of the array, as far as the text so far goes.
  bool in_events() const { return place_ == Place::events && !resyncing_; }
  // Another reader read `text`, all of it events; and it met the "]" of the array.
  void saw(std::string_view text);
  void events_ended();

  // Reads `text`, which starts at `offset`, and returns how much of it is done with: the rest comes again, with more
  // behind it. `final`: there is no more. `fast`, if given, is used for the events where nothing was added before.
  std::size_t walk(std::string_view text, std::uint64_t offset, bool final, EventSink& sink, FastReader* fast);

  // After the last walk: whether the text ends in the middle of the document.
  bool truncated() const;
  // Whether it was an object with members, none of which is of a trace.
  bool is_no_trace() const { return had_members_ && !had_events_ && !had_schema_; }

 private:
  enum class Place : std::uint8_t {
    start,       // nothing but white space yet
    before_key,  // in the outer object
    before_comma,
    skipping,  // in a value that is not needed, or an event too long to read, however large
    events,
    behind,    // the document is over
    lost,      // in a damaged description, looking for events
    ignoring,  // another writer's text
  };

  std::size_t walk_outside(std::string_view text, std::size_t at, std::uint64_t offset, bool final);
  std::size_t walk_events(std::string_view text, std::size_t at, std::uint64_t offset, bool final, EventSink& sink);
  std::size_t read_member(std::string_view text, std::size_t at, std::uint64_t offset, bool final);
  std::size_t recover_outside(std::string_view text, std::size_t at, std::uint64_t offset, bool final);
  void start_skipping(Place then);
  std::size_t skip(std::string_view text, std::size_t at);
  bool another_writer(std::string_view skipped, std::uint64_t offset);

  ProcessInfo& process_;
  NoteList& notes_;
  std::function<void(std::uint64_t)> damaged_;
  ExactReader reader_;
  RawEvent event_;
  Place place_ = Place::start;
  bool bare_array_ = false;
  bool had_members_ = false;
  bool had_schema_ = false;  // the mark of a trace, even if its events are missing
  bool had_events_ = false;
  char last_character_ = '\0';  // of the text so far, white space aside
  // The way back after damage: no event was whole since `lost_from_`.
  bool resyncing_ = false;
  bool loss_noted_ = false;  // not while the text may merely end there
  std::uint64_t lost_from_ = 0;
  std::uint64_t work_ = 0;  // bytes looked at in vain
  // State of Place::skipping.
  Place after_skipping_ = Place::before_comma;
  std::uint64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace accel::kineto_json
