// One event as a reader finds it: the raw JSON text of every member that we know, nothing converted yet. Both readers
// (the fast one over simdjson, the lenient one of ours) fill this, one sink takes it; so they cannot differ in meaning.
// Views point into the reader's buffer and die with it.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace accel::kineto_json {

enum class Key : std::uint8_t {
#define EVENT_KEY(id, text) id,
#define ARG_KEY(id, text)
#include "ingest/kineto_json/keys.def"
#undef EVENT_KEY
#undef ARG_KEY
  unknown,
};

enum class Arg : std::uint8_t {
#define EVENT_KEY(id, text)
#define ARG_KEY(id, text) id,
#include "ingest/kineto_json/keys.def"
#undef EVENT_KEY
#undef ARG_KEY
  unknown,
};

inline constexpr std::size_t kKeys = static_cast<std::size_t>(Key::unknown);
inline constexpr std::size_t kArgs = static_cast<std::size_t>(Arg::unknown);

struct RawEvent {
  std::uint64_t offset = 0;                            // of its opening brace in the text
  std::array<std::string_view, kKeys> fields{};        // raw JSON values, strings with their quotes; empty = absent
  std::array<std::string_view, kArgs> args{};
  // Every member of args, for the events whose args are open-ended (counters, metadata). Only kept while needed.
  std::vector<std::pair<std::string_view, std::string_view>> all_args;

  std::string_view operator[](Key key) const { return fields[static_cast<std::size_t>(key)]; }
  std::string_view operator[](Arg arg) const { return args[static_cast<std::size_t>(arg)]; }
  bool has(Arg arg) const { return !(*this)[arg].empty(); }
  void clear() {
    fields.fill({});
    args.fill({});
    all_args.clear();
  }
};

// Finds which key a text is. Recorders write the keys of one kind of event in one order, so the key that followed last
// time is tried first.
template <typename Id, std::size_t kCount>
class KeyFinder {
 public:
  explicit constexpr KeyFinder(const std::array<std::string_view, kCount>& texts) : texts_(texts) {}

  Id find(std::string_view key) {
    const std::size_t guess = next_[last_];
    if (guess < kCount && texts_[guess] == key) {
      last_ = guess;
      return static_cast<Id>(guess);
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      if (texts_[i] == key) {
        next_[last_] = static_cast<std::uint8_t>(i);
        last_ = i;
        return static_cast<Id>(i);
      }
    }
    return static_cast<Id>(kCount);
  }
  void start() { last_ = kCount; }

 private:
  std::array<std::string_view, kCount> texts_;
  std::array<std::uint8_t, kCount + 1> next_{};
  std::size_t last_ = kCount;
};

inline constexpr std::array<std::string_view, kKeys> kKeyTexts = {
#define EVENT_KEY(id, text) text,
#define ARG_KEY(id, text)
#include "ingest/kineto_json/keys.def"
#undef EVENT_KEY
#undef ARG_KEY
};

inline constexpr std::array<std::string_view, kArgs> kArgTexts = {
#define EVENT_KEY(id, text)
#define ARG_KEY(id, text) text,
#include "ingest/kineto_json/keys.def"
#undef EVENT_KEY
#undef ARG_KEY
};

}  // namespace accel::kineto_json
