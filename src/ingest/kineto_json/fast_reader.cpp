#include "ingest/kineto_json/fast_reader.h"

namespace accel::kineto_json {
namespace {

constexpr std::size_t kBad = SIZE_MAX;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::string_view without_space(const char* first, const char* last) {
  while (last > first && is_space(last[-1])) --last;
  return {first, static_cast<std::size_t>(last - first)};
}

// +1 for an opening bracket, -1 for a closing one; indexed by character.
struct DepthTable {
  std::int8_t step[256] = {};
  constexpr DepthTable() {
    step[static_cast<unsigned char>('{')] = step[static_cast<unsigned char>('[')] = 1;
    step[static_cast<unsigned char>('}')] = step[static_cast<unsigned char>(']')] = -1;
  }
};
constexpr DepthTable kDepth;

}  // namespace

// The key of the member whose string starts at index i; the colon is at i + 1.
inline bool FastReader::member(std::size_t i, std::string_view& key) const {
  if (i + 2 >= count_ || text_[at_[i]] != '"' || text_[at_[i + 1]] != ':') return false;
  const char* const first = text_ + at_[i] + 1;
  const char* last = text_ + at_[i + 1] - 1;
  while (*last != '"') --last;  // the string is closed, or there would be no colon
  key = {first, static_cast<std::size_t>(last - first)};
  return true;
}

std::size_t FastReader::skip_container(std::size_t i) const {
  int depth = 0;
  for (; i < count_; ++i) {
    depth += kDepth.step[static_cast<unsigned char>(text_[at_[i]])];
    if (depth == 0) return i + 1;
  }
  return kBad;
}

// The raw text of the value at index i; returns the index behind it.
inline std::size_t FastReader::value(std::size_t i, std::string_view& out) const {
  const char c = text_[at_[i]];
  if (c == '[' || c == '{') {
    const std::size_t end = skip_container(i);
    if (end != kBad) out = {text_ + at_[i], at_[end - 1] + 1 - at_[i]};
    return end;
  }
  if (c == '}' || c == ']' || c == ',' || c == ':') return kBad;
  out = without_space(text_ + at_[i], text_ + at_[i + 1]);
  return i + 1;
}

std::size_t FastReader::read_args(std::size_t i) {
  const bool all = event_.wants_all_args();
  ++i;  // the brace
  if (i < count_ && text_[at_[i]] == '}') return i + 1;
  while (true) {
    std::string_view key;
    if (!member(i, key)) return kBad;
    std::string_view text;
    i = value(i + 2, text);
    if (i >= count_) return kBad;
    event_.set(find_arg(key), text);
    if (all) event_.add_arg(key, text);
    const char c = text_[at_[i++]];
    if (c == '}') return i;
    if (c != ',') return kBad;
  }
}

std::size_t FastReader::read_event(std::size_t i) {
  event_.clear();
  ++i;
  if (i < count_ && text_[at_[i]] == '}') return i + 1;
  while (true) {
    std::string_view name;
    if (!member(i, name)) return kBad;
    const Key key = find_key(name);
    i += 2;
    if (key == Key::args && text_[at_[i]] == '{') {
      i = read_args(i);
    } else {
      std::string_view text;
      i = value(i, text);
      event_.set(key, text);
    }
    if (i >= count_) return kBad;
    const char c = text_[at_[i++]];
    if (c == '}') return i;
    if (c != ',') return kBad;
  }
}

FastReader::Outcome FastReader::read(std::span<const char> text, std::uint64_t offset, EventSink& sink) {
  Outcome outcome;
  if (!index_.build(text)) return outcome;
  text_ = text.data();
  at_ = index_.positions().data();
  count_ = index_.positions().size();
  outcome.end = text.size();
  for (std::size_t i = 0; i < count_;) {
    const char c = text_[at_[i]];
    if (c == '{') {
      const std::uint64_t event_offset = offset + at_[i];
      i = read_event(i);
      if (i == kBad || event_[Key::ph].empty()) return outcome;
      event_.offset = event_offset;
      sink.add(event_);
    } else if (c == ',') {
      ++i;  // a comma too many or too few between events loses nothing
    } else if (c == ']') {
      outcome.array_ended = true;
      outcome.end = at_[i] + 1;
      break;
    } else {
      return outcome;
    }
  }
  outcome.ok = true;
  return outcome;
}

}  // namespace accel::kineto_json
