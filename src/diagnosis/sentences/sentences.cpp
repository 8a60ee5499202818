#include "diagnosis/sentences/sentences.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace accel {
namespace {

constexpr Sentence kSentences[] = {
#define SENTENCE(english, chinese) {english, chinese},
#include "diagnosis/sentences/common.def"
#include "diagnosis/sentences/counters.def"
#include "diagnosis/sentences/device.def"
#include "diagnosis/sentences/host.def"
#include "diagnosis/sentences/job.def"
#include "diagnosis/sentences/loader.def"
#include "diagnosis/sentences/memory.def"
#include "diagnosis/sentences/notes.def"
#include "diagnosis/sentences/report.def"
#include "diagnosis/sentences/steps.def"
#include "diagnosis/sentences/verdict.def"
#undef SENTENCE
};

constexpr std::size_t kLongest = 4000;  // longer text is no sentence of a rule
// Of one sentence: names are short, so that no honest one comes near it, and no hostile one costs more.
constexpr int kMostTrials = 50'000;
constexpr int kTrialsOfTemplates = 20;  // what looking through the catalogue once counts for
constexpr int kDeepest = 4;             // templates within templates

constexpr std::array<Sentence, 3> kUnits = {{{"recorded window", "采集窗口"}, {"iteration", "迭代"}, {"step", "步"}}};
constexpr std::array<Sentence, 3> kOfUnits = {
    {{"a recorded window", "整个采集窗口"}, {"an iteration", "每次迭代"}, {"a step", "每步"}}};
constexpr std::array<std::string_view, 12> kFigureUnits = {" GB/s", " bytes", " ms", " us", " ns", " kB",
                                                           " KB",   " MB",    " GB", " TB", " s",  " %"};

enum class Kind : unsigned char { literal, figure, unit, of_unit, piece, any };

struct Part {
  Kind kind = Kind::literal;
  std::string_view text;
};

struct Template {
  std::vector<Part> parts;
  std::string_view chinese;
  std::size_t literal_length = 0;
};

Kind kind_of(std::string_view name) {
  if (name == "n") return Kind::figure;
  if (name == "u") return Kind::unit;
  if (name == "a") return Kind::of_unit;
  return name == "t" ? Kind::piece : Kind::any;
}

Template parsed(const Sentence& sentence) {
  Template made;
  made.chinese = sentence.chinese;
  std::string_view rest = sentence.english;
  while (!rest.empty()) {
    const std::size_t open = std::min(rest.find('{'), rest.size());
    if (open > 0) made.parts.push_back({Kind::literal, rest.substr(0, open)});
    made.literal_length += open;
    rest.remove_prefix(open);
    if (rest.empty()) break;
    const std::size_t close = rest.find('}');
    made.parts.push_back({kind_of(rest.substr(1, close - 1)), {}});
    rest.remove_prefix(close + 1);
  }
  return made;
}

// The most particular first.
const std::vector<Template>& templates() {
  static const std::vector<Template> list = [] {
    std::vector<Template> made;
    for (const Sentence& sentence : kSentences) made.push_back(parsed(sentence));
    std::stable_sort(made.begin(), made.end(), [](const Template& a, const Template& b) {
      return a.literal_length != b.literal_length ? a.literal_length > b.literal_length
                                                  : a.parts.size() < b.parts.size();
    });
    return made;
  }();
  return list;
}

// The length of the figure at the start of `text`, without its unit; 0: there is none.
std::size_t figure_length(std::string_view text) {
  const auto digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  std::size_t at = 0;
  if (!text.empty() && (text[0] == '-' || text[0] == '<' || text[0] == '>')) ++at;
  if (!digit(at)) return 0;
  while (digit(at) || (at < text.size() && (text[at] == '.' || text[at] == ',') && digit(at + 1))) ++at;
  if (at < text.size() && text[at] == 'e') {
    const std::size_t exponent =
        at + 1 + (at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-') ? 1 : 0);
    if (digit(exponent)) {
      at = exponent;
      while (digit(at)) ++at;
    }
  }
  return at;
}

std::string filled(std::string_view chinese, const std::vector<std::string>& values) {
  std::string text;
  while (!chinese.empty()) {
    const std::size_t open = std::min(chinese.find('{'), chinese.size());
    text += chinese.substr(0, open);
    chinese.remove_prefix(open);
    if (chinese.empty()) break;
    const std::size_t number = static_cast<std::size_t>(chinese[1] - '0');
    if (number < values.size()) text += values[number];
    chinese.remove_prefix(chinese.find('}') + 1);
  }
  return text;
}

class Translator {
 public:
  std::optional<std::string> translate(std::string_view text, int depth) {
    if (depth > kDeepest || text.size() > kLongest) return std::nullopt;
    const auto known = known_.find(text);
    return known != known_.end() ? known->second : known_[text] = search_templates(text, depth);
  }

 private:
  std::optional<std::string> search_templates(std::string_view text, int depth) {
    trials_ += kTrialsOfTemplates;
    if (trials_ > kMostTrials) return std::nullopt;
    for (const Template& one : templates()) {
      const Part& first = one.parts.front();
      const Part& last = one.parts.back();
      if (first.kind == Kind::literal && !text.starts_with(first.text)) continue;
      if (last.kind == Kind::literal && !text.ends_with(last.text)) continue;
      Search search{&one, depth, {}, {}, false};
      walk(search, 0, text);
      if (trials_ > kMostTrials || search.twice) return std::nullopt;
      if (search.found) return search.found;
    }
    return std::nullopt;
  }

  struct Search {
    const Template* of;
    int depth;
    std::vector<std::string> values;
    std::optional<std::string> found;
    bool twice;  // and says something else when read in another way
  };

  void with(Search& search, std::size_t part, std::string value, std::string_view rest) {
    search.values.push_back(std::move(value));
    walk(search, part + 1, rest);
    search.values.pop_back();
  }

  void walk(Search& search, std::size_t part, std::string_view rest) {
    if (search.twice || ++trials_ > kMostTrials) return;
    if (part == search.of->parts.size()) {
      if (!rest.empty()) return;
      std::string text = filled(search.of->chinese, search.values);
      if (search.found && *search.found != text) search.twice = true;
      if (!search.found) search.found = std::move(text);
      return;
    }
    const Part& wanted = search.of->parts[part];
    switch (wanted.kind) {
      case Kind::literal:
        if (rest.starts_with(wanted.text)) walk(search, part + 1, rest.substr(wanted.text.size()));
        return;
      case Kind::figure:
        return figure(search, part, rest);
      case Kind::unit:
        return words(search, part, rest, kUnits);
      case Kind::of_unit:
        return words(search, part, rest, kOfUnits);
      case Kind::piece:
      case Kind::any:
        return stretch(search, part, rest);
    }
  }

  void figure(Search& search, std::size_t part, std::string_view rest) {
    const std::size_t length = figure_length(rest);
    if (length == 0) return;
    const std::string_view after = rest.substr(length);
    for (const std::string_view unit : kFigureUnits) {
      if (after.starts_with(unit))
        with(search, part, std::string(rest.substr(0, length + unit.size())), after.substr(unit.size()));
    }
    with(search, part, std::string(rest.substr(0, length)), after);
  }

  void words(Search& search, std::size_t part, std::string_view rest, std::span<const Sentence> known) {
    for (const Sentence& word : known) {
      if (rest.starts_with(word.english))
        with(search, part, std::string(word.chinese), rest.substr(word.english.size()));
    }
  }

  void stretch(Search& search, std::size_t part, std::string_view rest) {
    const std::vector<Part>& parts = search.of->parts;
    const bool may_be_nothing = parts[part].kind == Kind::piece;
    const Part* next = part + 1 < parts.size() ? &parts[part + 1] : nullptr;
    for (std::size_t end = may_be_nothing ? 0 : 1; end <= rest.size(); ++end) {
      if (next == nullptr) end = rest.size();
      if (next != nullptr && next->kind == Kind::literal) {
        end = rest.find(next->text, end);
        if (end == std::string_view::npos) return;
      }
      if (end == 0 && !may_be_nothing) return;
      const std::string_view piece = rest.substr(0, end);
      if (parts[part].kind == Kind::any) {
        with(search, part, std::string(piece), rest.substr(end));
      } else if (piece.empty()) {
        with(search, part, {}, rest.substr(end));
      } else if (auto translated = translate(piece, search.depth + 1)) {
        with(search, part, std::move(*translated), rest.substr(end));
      }
      if (search.twice || trials_ > kMostTrials) return;
    }
  }

  int trials_ = 0;
  std::map<std::string_view, std::optional<std::string>> known_;  // pieces of the sentence
};

}  // namespace

std::span<const Sentence> sentences() { return kSentences; }

std::optional<std::string> chinese_sentence(std::string_view english) { return Translator().translate(english, 0); }

}  // namespace accel
