// One event as a reader finds it: the raw JSON text of every member that we know, nothing converted yet. Both readers
// (the fast one over simdjson's index, the exact one of ours) fill this, one sink takes it; so they cannot differ in
// meaning. Views point into the reader's buffer and die with it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/kineto_json/key_table.h"

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
static_assert(kKeys < 32 && kArgs < 64, "presence is a bit each");

class RawEvent {
 public:
  std::uint64_t offset = 0;  // of its opening brace in the text

  // Raw JSON values, strings with their quotes; empty = absent.
  std::string_view operator[](Key key) const {
    return (key_bits_ >> bit(key) & 1) != 0 ? keys_[bit(key)] : std::string_view();
  }
  std::string_view operator[](Arg arg) const { return has(arg) ? args_[bit(arg)] : std::string_view(); }
  bool has(Arg arg) const { return (arg_bits_ >> bit(arg) & 1) != 0; }
  // Every member of args, of the events whose args are open-ended (counters); of others it may be empty.
  const std::vector<std::pair<std::string_view, std::string_view>>& all_args() const { return all_args_; }

  void clear() {
    key_bits_ = 0;
    arg_bits_ = 0;
    all_args_.clear();
  }
  void set(Key key, std::string_view value) {
    if (key == Key::unknown) return;
    key_bits_ |= 1U << bit(key);
    keys_[bit(key)] = value;
  }
  void set(Arg arg, std::string_view value) {
    if (arg == Arg::unknown) return;
    arg_bits_ |= std::uint64_t{1} << bit(arg);
    args_[bit(arg)] = value;
  }
  // Whether all members of args are to be added: it is a counter, or it may turn out to be one.
  bool wants_all_args() const { return (*this)[Key::ph].empty() || (*this)[Key::ph] == "\"C\""; }
  void add_arg(std::string_view key, std::string_view value) { all_args_.emplace_back(key, value); }

 private:
  template <typename Id>
  static constexpr unsigned bit(Id id) {
    return static_cast<unsigned>(id);
  }

  std::uint32_t key_bits_ = 0;
  std::uint64_t arg_bits_ = 0;
  std::array<std::string_view, kKeys> keys_;  // meaningful where the bit is set
  std::array<std::string_view, kArgs> args_;
  std::vector<std::pair<std::string_view, std::string_view>> all_args_;
};

inline constexpr std::array<std::string_view, kArgs> kArgTexts = {
#define EVENT_KEY(id, text)
#define ARG_KEY(id, text) text,
#include "ingest/kineto_json/keys.def"
#undef EVENT_KEY
#undef ARG_KEY
};

// The keys of an event are a few short words, looked up eight times an event: told apart by length and value, which the
// branch predictor learns from the order in which recorders write them.
inline Key find_key(std::string_view text) {
  if (text.empty() || text.size() > 4) return Key::unknown;
  const auto packed = [](std::string_view word) constexpr {
    std::uint64_t v = word.size();
    for (const char c : word) v = v << 8 | static_cast<unsigned char>(c);
    return v;
  };
  switch (packed(text)) {
#define EVENT_KEY(id, text) \
  case packed(text):        \
    return Key::id;
#define ARG_KEY(id, text)
#include "ingest/kineto_json/keys.def"
#undef EVENT_KEY
#undef ARG_KEY
    default:
      return Key::unknown;
  }
}

inline constexpr KeyTable<kArgs> kArgTable{kArgTexts};

inline Arg find_arg(std::string_view text) { return static_cast<Arg>(kArgTable.find(text)); }

}  // namespace accel::kineto_json
