// The words that report.json uses where only certain words are possible. The lists come from the catalogues and from
// the enums' own names; the JSON Schema takes its enums from here. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace accel::report {

using Words = std::vector<std::string_view>;
using WordList = const Words& (*)();

// One word of `List`.
template <WordList List>
struct Word {
  std::string text;
  Word() : text(List().empty() ? std::string_view() : List().front()) {}
  Word(std::string_view word) : text(word) {}  // NOLINT(google-explicit-constructor)
  static const Words& list() { return List(); }
  operator std::string_view() const { return text; }  // NOLINT(google-explicit-constructor)
  friend bool operator==(const Word& word, std::string_view other) { return word.text == other; }
};

const Words& job_kinds();
const Words& bound_by_words();
const Words& step_classes();
const Words& step_sources();
const Words& paced_by_words();
const Words& gain_bases();
const Words& finding_severities();
const Words& rule_ids();
const Words& note_codes();
const Words& note_severities();
const Words& memory_categories();
const Words& memory_bases();
const Words& change_states();
const Words& change_verdicts();
const Words& path_kinds();
const Words& call_kinds();

}  // namespace accel::report
