// One event as a reader finds it: the raw JSON text of every member that we know, nothing converted yet. Both readers
// (the fast one over simdjson's index, the exact one of ours) fill this, one sink takes it; so they cannot differ in
// meaning. Views point into the reader's buffer and die with it.
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
static_assert(kKeys < 32 && kArgs < 64, "presence is a bit each");

class RawEvent {
 public:
  std::uint64_t offset = 0;  // of its opening brace in the text

  // Raw JSON values, strings with their quotes; empty = absent.
  std::string_view operator[](Key key) const { return (key_bits_ >> bit(key) & 1) != 0 ? keys_[bit(key)] : std::string_view(); }
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

// Whether [p, p + size) is `text`, which has that size. Short texts only, without a call.
inline bool same_text(const char* p, const char* text, std::size_t size) {
  const auto load64 = [](const char* at) {
    std::uint64_t v;
    std::memcpy(&v, at, 8);
    return v;
  };
  const auto load32 = [](const char* at) {
    std::uint32_t v;
    std::memcpy(&v, at, 4);
    return v;
  };
  if (size > 16) return std::memcmp(p, text, size) == 0;
  if (size >= 8) return load64(p) == load64(text) && load64(p + size - 8) == load64(text + size - 8);
  if (size >= 4) return load32(p) == load32(text) && load32(p + size - 4) == load32(text + size - 4);
  for (std::size_t i = 0; i < size; ++i) {
    if (p[i] != text[i]) return false;
  }
  return true;
}

// Finds which key a text is. Recorders write the keys of one kind of event in one order, so the key that followed last
// time is tried first; the rest is found by a table over length and first character.
template <typename Id, std::size_t kCount>
class KeyFinder {
 public:
  explicit KeyFinder(const std::array<std::string_view, kCount>& texts) : texts_(texts) { next_.fill(0); }

  void start() { last_ = kCount; }
  Id find(std::string_view key) {
    const std::size_t guess = next_[last_];
    if (texts_[guess].size() == key.size() && same_text(key.data(), texts_[guess].data(), key.size())) {
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

 private:
  std::array<std::string_view, kCount> texts_;
  std::array<std::uint8_t, kCount + 1> next_;
  std::size_t last_ = kCount;
};

}  // namespace accel::kineto_json
