#include "ingest/kineto_json/document.h"

#include <algorithm>

#include "ingest/kineto_json/header.h"

namespace accel::kineto_json {
namespace {

using Status = ExactReader::Status;

constexpr std::size_t kNone = std::string_view::npos;
// An event longer than this is taken for damage, and a member of the document for something to pass over.
constexpr std::size_t kMaxEvent = std::size_t{8} << 20;
constexpr std::size_t kMaxMember = std::size_t{16} << 20;
// Kept of a text without an event, so that what spans two texts is found: longer than any mark looked for.
constexpr std::size_t kOverlap = 64;
// Damage may make every attempt run to the end of the text. Bytes looked at in vain are bounded by this and by a
// multiple of the file's size, so that no file, however made, is read forever.
constexpr std::uint64_t kFreeWork = std::uint64_t{16} << 20;
constexpr std::uint64_t kWorkPerByte = 8;
// Once that is spent, an attempt looks no further than this: longer events of so damaged a file are lost.
constexpr std::size_t kShortEvent = std::size_t{4} << 10;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

std::string byte(std::uint64_t offset) { return "byte " + std::to_string(offset); }

// Containers beside the events that are read; all others may be of any size and are passed over.
bool is_needed(std::string_view key) {
  return key == "deviceProperties" || key == "computeProperties" || key == "distributedInfo";
}

}  // namespace

void Document::saw(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last != kNone) last_character_ = text[last];
}

void Document::events_ended() { place_ = bare_array_ ? Place::behind : Place::before_comma; }

bool Document::truncated() const {
  switch (place_) {
    case Place::start:
    case Place::behind:
    case Place::lost:
    case Place::ignoring:
      return false;
    case Place::events:
      return !loss_noted_ || (last_character_ != '}' && last_character_ != ']');
    default:
      return true;
  }
}

bool Document::another_writer(std::string_view skipped, std::uint64_t offset) {
  std::size_t at = skipped.find("\"schemaVersion\"");
  at = std::min(at, skipped.find("\"traceEvents\""));
  if (at == kNone) return false;
  notes_.add(NoteCode::interleaved_writers, 1, byte(offset + at),
             "a second file begins inside this one; events from there on were left out");
  place_ = Place::ignoring;
  return true;
}

std::size_t Document::walk(std::string_view text, std::uint64_t offset, bool final, EventSink& sink, FastReader* fast) {
  saw(text);
  std::size_t at = 0;
  while (at < text.size()) {
    const Place before = place_;
    const std::size_t from = at;
    if (place_ == Place::events && fast != nullptr && !resyncing_) {
      const FastReader::Outcome outcome = fast->read(text.substr(at), offset + at, sink);
      fast = nullptr;
      if (outcome.ok) {
        had_events_ = true;
        at += outcome.end;
        if (outcome.array_ended) events_ended();
        continue;
      }
      sink.discard();
    }
    if (place_ == Place::events) {
      fast = nullptr;  // what it fails at is discarded, and with it whatever was added before
      at = walk_events(text, at, offset, final, sink);
    } else {
      at = walk_outside(text, at, offset, final);
    }
    if (place_ == before && (at == from || place_ == Place::events)) break;
  }
  return at;
}

std::size_t Document::walk_events(std::string_view text, std::size_t at, std::uint64_t offset, bool final,
                                  EventSink& sink) {
  had_events_ = true;
  while (true) {
    if (resyncing_) {
      const std::size_t next = ExactReader::find_event(text, at);
      if (another_writer(text.substr(at, next == kNone ? kNone : next - at), offset + at)) return text.size();
      if (next == kNone)
        return final || text.size() - at <= kOverlap ? (final ? text.size() : at) : text.size() - kOverlap;
      at = next;
    } else {
      while (at < text.size() && (is_space(text[at]) || text[at] == ',')) ++at;
      if (at == text.size()) return at;
      if (text[at] == ']') {
        events_ended();
        return at + 1;
      }
    }
    StringFaults faults;
    ExactReader::Outcome outcome{Status::broken, at};
    const bool spent = work_ > kFreeWork + kWorkPerByte * (offset + at);
    const std::string_view reach = spent ? text.substr(0, std::min(text.size() - at, kShortEvent) + at) : text;
    if (text[at] == '{') outcome = reader_.read(reach, at, event_, faults);
    if (outcome.status == Status::need_more && reach.size() < text.size()) outcome.status = Status::broken;
    const bool whole = outcome.status == Status::complete && !event_[Key::ph].empty();
    if (!resyncing_ && outcome.status != Status::broken && !whole &&
        another_writer(text.substr(at, std::min<std::size_t>(outcome.end - at, 4096)), offset + at)) {
      return text.size();
    }
    if (whole || (outcome.status == Status::complete && !resyncing_)) {
      if (resyncing_) {
        if (!loss_noted_) notes_.add(NoteCode::malformed_event, 1, byte(lost_from_));
        damaged_(lost_from_);
        resyncing_ = false;
        loss_noted_ = false;
      }
      event_.offset = offset + at;
      sink.add(event_);
      sink.add_faults(faults, offset + at);
      at = outcome.end;
      continue;
    }
    if (outcome.status == Status::need_more && !final) {
      if (text.size() - at < kMaxEvent) return at;
      if (!resyncing_) {
        // As far as it was read it is sound, only too long: what it holds is its own, not the events of the trace.
        notes_.add(NoteCode::malformed_event, 1, byte(offset + at), "an event of more than 8 MB was passed over");
        damaged_(offset + at);
        start_skipping(Place::events);
        return at;
      }
    }
    if (!resyncing_) {
      resyncing_ = true;
      lost_from_ = offset + at;
    }
    if (outcome.status == Status::broken && !loss_noted_) {
      loss_noted_ = true;
      notes_.add(NoteCode::malformed_event, 1, byte(lost_from_));
    }
    work_ += outcome.end - at;
    ++at;
  }
}

std::size_t Document::walk_outside(std::string_view text, std::size_t at, std::uint64_t offset, bool final) {
  switch (place_) {
    case Place::start:
      if (at == 0 && offset == 0 && text.starts_with("\xEF\xBB\xBF")) at = 3;
      at = skip_space(text, at);
      if (at == text.size()) return at;
      bare_array_ = text[at] == '[';
      if (text[at] != '{' && text[at] != '[') return recover_outside(text, at, offset, final);
      place_ = bare_array_ ? Place::events : Place::before_key;
      return at + 1;
    case Place::before_key:
    case Place::before_comma: {
      at = skip_space(text, at);
      if (at == text.size()) return at;
      if (text[at] == '}') {
        place_ = Place::behind;
        return at + 1;
      }
      if (text[at] == ',') {
        place_ = Place::before_key;
        return at + 1;
      }
      const bool member = place_ == Place::before_key && text[at] == '"';
      return member ? read_member(text, at, offset, final) : recover_outside(text, at, offset, final);
    }
    case Place::skipping:
      return skip(text, at);
    case Place::behind: {
      at = skip_space(text, at);
      if (at == text.size()) return at;
      if (!final && text.size() - at < 4096) return at;
      if (!another_writer(text.substr(at), offset + at)) {
        notes_.add(NoteCode::malformed_event, 1, byte(offset + at), "there is text behind the end of the trace");
        place_ = Place::ignoring;
      }
      return text.size();
    }
    case Place::lost: {
      const std::size_t event = ExactReader::find_event(text, at);
      if (another_writer(text.substr(at, event == kNone ? kNone : event - at), offset + at)) return text.size();
      if (event != kNone) {
        place_ = Place::events;
        return event;
      }
      return final ? text.size() : std::max(at, text.size() - std::min(text.size(), kOverlap));
    }
    case Place::events:
    case Place::ignoring:
      break;
  }
  return text.size();
}

std::size_t Document::read_member(std::string_view text, std::size_t at, std::uint64_t offset, bool final) {
  const auto not_yet = [&] { return final ? text.size() : at; };
  StringFaults faults;
  const ExactReader::Outcome key_end = reader_.skip_string(text, at, faults);
  if (key_end.status != Status::complete) return not_yet();
  const std::string_view key = text.substr(at + 1, key_end.end - at - 2);
  std::size_t i = skip_space(text, key_end.end);
  if (i == text.size()) return not_yet();
  if (text[i] != ':') return recover_outside(text, i, offset, final);
  i = skip_space(text, i + 1);
  if (i == text.size()) return not_yet();
  had_members_ = true;
  had_schema_ = had_schema_ || key == "schemaVersion";
  if (key == "traceEvents" && text[i] == '[') {
    had_events_ = true;
    place_ = Place::events;
    return i + 1;
  }
  const bool container = text[i] == '{' || text[i] == '[';
  const bool too_long = text.size() - at > kMaxMember;
  if ((container && !is_needed(key)) || (too_long && (container || text[i] == '"'))) {
    start_skipping(Place::before_comma);
    return i;
  }
  const ExactReader::Outcome value = reader_.skip_value(text, i, faults);
  if (value.status == Status::need_more) return not_yet();
  if (value.status == Status::broken) return recover_outside(text, i, offset, final);
  take_header_member(key, text.substr(i, value.end - i), process_, notes_);
  place_ = Place::before_comma;
  return value.end;
}

// Something outside the events is no JSON. What seemed to be their end may have been that of an array inside a damaged
// one: events are looked for behind it too.
std::size_t Document::recover_outside(std::string_view text, std::size_t at, std::uint64_t offset, bool final) {
  if (had_events_) {
    const std::size_t event = ExactReader::find_event(text, at);
    if (another_writer(text.substr(at, event == kNone ? kNone : event - at), offset + at)) return text.size();
    notes_.add(NoteCode::malformed_event, 1, byte(offset + at), "the description behind the events is damaged");
    place_ = Place::lost;
    return at;
  }
  const std::size_t array = text.find("\"traceEvents\"", at);
  const std::size_t event = array == kNone ? ExactReader::find_event(text, at) : kNone;
  if (array == kNone && event == kNone) {
    if (!final) {
      place_ = Place::start;  // comes back here
      return std::max(at, text.size() - std::min(text.size(), kOverlap));
    }
    notes_.add(NoteCode::malformed_event, 1, byte(offset + at), "the head of the file is damaged");
    return text.size();
  }
  notes_.add(NoteCode::malformed_event, 1, byte(offset + at), "the head of the file is damaged");
  if (array != kNone) {
    place_ = Place::before_key;
    return array;
  }
  place_ = Place::events;
  return event;
}

void Document::start_skipping(Place then) {
  place_ = Place::skipping;
  after_skipping_ = then;
  depth_ = 0;
  in_string_ = false;
  escaped_ = false;
}

std::size_t Document::skip(std::string_view text, std::size_t at) {
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      } else {
        continue;
      }
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      --depth_;
    } else {
      continue;
    }
    if (!in_string_ && depth_ == 0) {
      place_ = after_skipping_;
      return at + 1;
    }
  }
  return at;
}

}  // namespace accel::kineto_json
