#include "report/what_if_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "report/plain_text.h"
#include "report/summary_text.h"

namespace accel::report {
namespace {

constexpr double kSmallestShare = 0.01;  // parts below are left out of the line
constexpr std::size_t kNameColumns = 32;

struct Part {
  std::string kind;
  double share = 0;
  std::string largest;  // its costliest name
};

}  // namespace

std::string path_text(const Document& document, Language language) {
  std::vector<Part> parts;
  for (const PathPart& row : document.critical_path) {
    auto at = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.kind == row.kind.text; });
    if (at == parts.end()) at = parts.insert(parts.end(), {row.kind.text, 0, row.name.value_or("")});
    at->share += row.share;
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.share > b.share; });
  std::string text;
  for (const Part& part : parts) {
    if (part.share < kSmallestShare) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", label_named("path_" + part.kind, language),
                        percent_text(part.share));
    if (!part.largest.empty()) text += fmt::format(" ({})", shortened(visible_text(part.largest), kNameColumns));
  }
  if (text.empty() || !document.replay.error) return text;
  return text + "; " +
         fmt::format(fmt::runtime(label(Label::replayed_within, language)), percent_text(*document.replay.error));
}

std::string answer_text(const WhatIf& answer, const Document& document, Language language) {
  if (!answer.step_ms) return std::string(label(Label::no_such_name, language));
  Gain gain;
  gain.step_ms = answer.step_ms;
  gain.step_low_ms = answer.step_low_ms;
  gain.step_high_ms = answer.step_high_ms;
  gain.speedup = answer.speedup;
  gain.basis = std::string_view("replay");
  return gain_text(gain, document.step_time, language);
}

}  // namespace accel::report
