// Chinese for the sentences that rules make. A rule writes its sentences in English, with the figures and names of one
// capture in them; the catalogue beside this file holds the same templates in both languages, one folder for all rules,
// and a sentence is translated by the template that made it. tests/python/test_chinese.py fails when a rule has a
// template that the catalogue lacks. Any thread; pure.
//
// SENTENCE(english, chinese): {n} is a figure with its unit; {u} the unit of work (step, iteration, recorded window)
// and {a} the same with its article; {t} is a piece that is a template itself, or nothing; {} is anything else, such as
// a name out of the trace, and stays as it is. The Chinese text names them by number: {0}, {1}.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace accel {

struct Sentence {
  std::string_view english;
  std::string_view chinese;
};
std::span<const Sentence> sentences();

// Nothing when no template made the sentence, or when it could be read in two ways: a name that holds words of a
// template must not change what is said.
std::optional<std::string> chinese_sentence(std::string_view english);

}  // namespace accel
