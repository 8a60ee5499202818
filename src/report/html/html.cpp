// report.html: one file that needs nothing else. The page itself is built from web/; this writer puts the data into it.
// Data stand in script elements of type application/json, which no browser runs; every "<" in them is escaped, so no
// string of a trace can end the element.
#include <nlohmann/json.hpp>
#include <set>

#include "diagnosis/rule.h"
#include "report/chinese.h"
#include "report/html/page.h"
#include "report/html/rank_trees.h"
#include "report/html/views.h"
#include "report/plain_text.h"
#include "report/writer.h"

namespace accel::report {
namespace {

using Json = nlohmann::ordered_json;

void append_escaped(std::string& out, std::string_view json) {
  std::size_t from = 0;
  for (std::size_t at = json.find('<'); at != std::string_view::npos; at = json.find('<', from)) {
    out.append(json, from, at - from);
    out += "\\u003c";
    from = at + 1;
  }
  out.append(json, from);
}

void append_data(std::string& out, std::string_view id, std::string_view json) {
  out += "<script type=\"application/json\" id=\"";
  out += id;
  out += "\">";
  append_escaped(out, json);
  out += "</script>\n";
}

// Base64, in which nothing can end the element.
void append_packed(std::string& out, const std::string& id, std::string_view base64) {
  out += "<script type=\"text/plain\" id=\"" + id + "\">";
  out += base64;
  out += "</script>\n";
}

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json labels_json() {
  Json labels = Json::object();
#define LABEL(id, english, chinese) labels[#id] = {english, chinese};
#include "report/labels.def"
#undef LABEL
  return labels;
}

// The prose of the rules that the report names.
Json rules_json(const Document& document) {
  std::set<std::string> named;
  for (const Finding& finding : document.findings) named.insert(finding.rule.text);
  if (document.compare) {
    for (const ComparedFinding& finding : document.compare->findings) named.insert(finding.rule.text);
  }
  Json list = Json::object();
  for (const RuleDescriptor& rule : rules()) {
    if (!named.contains(std::string(rule.id))) continue;
    list[std::string(rule.id)] = {{"title", {rule.title, rule.title_zh}},
                                  {"meaning", {rule.meaning, rule.meaning_zh}},
                                  {"how_we_know", {rule.how_we_know, rule.how_we_know_zh}},
                                  {"what_to_do", {rule.what_to_do, rule.what_to_do_zh}},
                                  {"when_wrong", {rule.when_wrong, rule.when_wrong_zh}}};
  }
  return list;
}

// Chinese for what the report says in English.
Json sentences_json(const Document& document) {
  Json list = Json::object();
  for (const auto& [english, chinese] : chinese_sentences(document)) list[english] = chinese;
  return list;
}

Json rank_reports_json(const WriterOptions& options) {
  Json list = Json::array();
  for (const RankReport& report : options.rank_reports)
    list.push_back({{"rank", report.rank ? Json(*report.rank) : Json(nullptr)}, {"path", valid_utf8(report.path)}});
  return list;
}

Json rank_trees_json(const WriterOptions& options) {
  Json list = Json::array();
  for (const RankTree& tree : options.rank_trees) list.push_back(tree.rank ? Json(*tree.rank) : Json(nullptr));
  return list;
}

std::string write(const Document& document, const WriterOptions& options) {
  std::string page(kPageHead);
  append_data(page, "report", find_writer("json")->write(document, options));
  const bool has_records = options.views != nullptr && !options.views->timeline.about.empty();
  Json about = {{"language", options.language == Language::chinese ? Json("zh") : Json(nullptr)},
                {"records", has_records},
                {"perfetto", options.views != nullptr && !options.views->perfetto.empty()
                                 ? Json(find_writer("perfetto")->file_name)
                                 : Json(nullptr)},
                {"rank_reports", rank_reports_json(options)},
                {"rank_trees", rank_trees_json(options)},
                {"sentences", sentences_json(document)},
                {"labels", labels_json()},
                {"rules", rules_json(document)}};
  append_data(page, "about", dumped(about));
  const auto append_tree = [&](std::string_view id, const std::shared_ptr<const CallTree>& tree) {
    if (tree && !tree->nodes.empty()) append_data(page, id, call_tree_json(*tree));
  };
  if (options.views != nullptr) {
    append_tree("call-tree", options.views->call_tree);
    append_tree("call-tree-before", options.views->call_tree_before);
  }
  // The page works before its largest part has arrived.
  page += kPageTail;
  if (has_records) {
    append_data(page, "timeline-about", options.views->timeline.about);
    append_packed(page, "timeline-columns", options.views->timeline.columns);
  }
  for (std::size_t i = 0; i < options.rank_trees.size(); ++i)
    append_packed(page, "rank-tree-" + std::to_string(i), options.rank_trees[i].columns);
  page += "</body>\n</html>\n";
  return page;
}

std::string_view unavailable() {
  return kPageHead.empty() ? "this program was built without the report page (ACCEL_WEB=OFF)" : "";
}

}  // namespace

extern const WriterDescriptor html_writer;
const WriterDescriptor html_writer = {
    "html",      "the page to read in a browser, one file", "在浏览器中阅读的单文件页面", "", "report.html", write,
    unavailable,
};

}  // namespace accel::report
