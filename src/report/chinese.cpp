#include "report/chinese.h"

#include <optional>
#include <string_view>

#include "diagnosis/sentences/sentences.h"

namespace accel::report {
namespace {

// A note ends with figures in brackets that its sentence in the catalogue cannot hold.
std::optional<std::string> in_chinese(const std::string& text) {
  if (auto whole = chinese_sentence(text)) return whole;
  const std::size_t open = text.find(" (");
  if (open == std::string::npos || !text.ends_with(')')) return std::nullopt;
  auto sentence = chinese_sentence(std::string_view(text).substr(0, open));
  if (!sentence) return std::nullopt;
  const std::string detail = text.substr(open + 2, text.size() - open - 3);
  return *sentence + "（" + chinese_sentence(detail).value_or(detail) + "）";
}

template <class Doc, class Visit>
void visit_sentences(Doc& document, const Visit& visit) {
  visit(document.verdict.sentence);
  for (auto& finding : document.findings) {
    visit(finding.title);
    for (auto& evidence : finding.evidence) visit(evidence.text);
    visit(finding.action.title);
    visit(finding.action.detail);
    visit(finding.action.side_effects);
    visit(finding.action.not_when);
  }
  for (auto& step : document.plan) visit(step.title);
  if (document.utilisation.sentence) visit(*document.utilisation.sentence);
  if (document.distortion.model) visit(*document.distortion.model);
  for (auto& entry : document.not_measured) visit(entry.reason);
  for (auto& note : document.notes) {
    visit(note.message);
    visit(note.remedy);
  }
}

}  // namespace

Document in_chinese(Document document) {
  visit_sentences(document, [](std::string& text) {
    if (auto chinese = in_chinese(text)) text = std::move(*chinese);
  });
  return document;
}

std::map<std::string, std::string> chinese_sentences(const Document& document) {
  std::map<std::string, std::string> known;
  visit_sentences(document, [&](const std::string& text) {
    if (text.empty() || known.contains(text)) return;
    if (auto chinese = in_chinese(text)) known.emplace(text, std::move(*chinese));
  });
  return known;
}

}  // namespace accel::report
