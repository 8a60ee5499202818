// Document: everything a report says, as plain values; the one source of every writer, so that formats cannot disagree.
// Declared in document.def. Every type has fields(self, visit), which calls visit(key, member, meaning) in the order of
// the output. Strings are valid UTF-8, numbers are finite, times are relative to time_origin_ns. Made by
// build_document() and constant from then on: any thread may read it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/words.h"

namespace accel::report {

inline constexpr std::int64_t kSchemaVersion = 1;

using Number = std::optional<double>;
using Integer = std::optional<std::int64_t>;
using Text = std::optional<std::string>;
using Numbers = std::map<std::string, double>;
using Texts = std::map<std::string, std::string>;
using Ranks = std::vector<std::int64_t>;

#define TYPE_BEGIN(Name) struct Name {
#define FIELD(type, key, meaning) type key{};
#define WORD(list, key, meaning) Word<list> key;
#define WORD_NAMED(list, member, key, meaning) Word<list> member;
#define TYPE_END(Name)                           \
  template <typename Self, typename Visit>       \
  static void fields(Self& self, Visit&& visit); \
  }                                              \
  ;
#include "report/document.def"
#undef TYPE_BEGIN
#undef FIELD
#undef WORD
#undef WORD_NAMED
#undef TYPE_END

#define TYPE_BEGIN(Name)                   \
  template <typename Self, typename Visit> \
  void Name::fields([[maybe_unused]] Self& self, [[maybe_unused]] Visit&& visit) {
#define FIELD(type, key, meaning) visit(std::string_view(#key), self.key, std::string_view(meaning));
#define WORD(list, key, meaning) visit(std::string_view(#key), self.key, std::string_view(meaning));
#define WORD_NAMED(list, member, key, meaning) visit(std::string_view(key), self.member, std::string_view(meaning));
#define TYPE_END(Name) }
#include "report/document.def"
#undef TYPE_BEGIN
#undef FIELD
#undef WORD
#undef WORD_NAMED
#undef TYPE_END

// A type of document.def, as opposed to a number, string, list or map.
template <typename T>
concept Described = requires(T& value) { T::fields(value, [](std::string_view, auto&, std::string_view) {}); };

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;

template <typename T>
inline constexpr bool kIsMap = false;
template <typename K, typename V>
inline constexpr bool kIsMap<std::map<K, V>> = true;

template <typename T>
inline constexpr bool kIsWord = false;
template <WordList List>
inline constexpr bool kIsWord<Word<List>> = true;

}  // namespace accel::report
