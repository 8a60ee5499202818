// report.html: one file that needs nothing else. The page itself is built from web/; this writer puts the data into it.
// Data stand in script elements of type application/json, which no browser runs; every "<" in them is escaped, so no
// string of a trace can end the element.
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/call_tree/call_tree.h"
#include "analysis/kernel_table.h"
#include "diagnosis/rule.h"
#include "report/html/page.h"
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

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Columns, since rows would repeat their keys.
Json call_tree_json(const CallTree& tree) {
  Json names = Json::array();
  for (const std::string& name : tree.names) names.push_back(valid_utf8(name));
  Json parent = Json::array(), name = Json::array(), kind = Json::array(), flags = Json::array(), count = Json::array();
  Json host_self = Json::array(), host_total = Json::array(), device_self = Json::array(), device_total = Json::array();
  Json short_names = Json::object();
  for (const CallNode& node : tree.nodes) {
    parent.push_back(node.parent);
    name.push_back(node.name);
    kind.push_back(static_cast<int>(node.kind));
    flags.push_back(node.flags);
    count.push_back(node.count);
    host_self.push_back(node.host_self_ns);
    host_total.push_back(node.host_total_ns);
    device_self.push_back(node.device_self_ns);
    device_total.push_back(node.device_total_ns);
    if (node.kind == CallKind::kernel) {
      const std::string key = std::to_string(node.name);
      if (!short_names.contains(key)) short_names[key] = valid_utf8(short_kernel_name(tree.names[node.name]));
    }
  }
  Json kinds = Json::array();
  for (int k = 0; k <= static_cast<int>(CallKind::rest); ++k) kinds.push_back(to_string(static_cast<CallKind>(k)));
  return {{"steps", tree.steps},
          {"nodes_summed", tree.nodes_summed},
          {"most_nodes", kCallTreeNodes},
          {"device_other_ns", tree.device_other_ns},
          {"kinds", std::move(kinds)},
          {"names", std::move(names)},
          {"short_names", std::move(short_names)},
          {"parent", std::move(parent)},
          {"name", std::move(name)},
          {"kind", std::move(kind)},
          {"flags", std::move(flags)},
          {"count", std::move(count)},
          {"host_self", std::move(host_self)},
          {"host_total", std::move(host_total)},
          {"device_self", std::move(device_self)},
          {"device_total", std::move(device_total)}};
}

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

Json rank_reports_json(const WriterOptions& options) {
  Json list = Json::array();
  for (const RankReport& report : options.rank_reports)
    list.push_back({{"rank", report.rank ? Json(*report.rank) : Json(nullptr)}, {"path", valid_utf8(report.path)}});
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
                {"labels", labels_json()},
                {"rules", rules_json(document)}};
  append_data(page, "about", dumped(about));
  const auto append_tree = [&](std::string_view id, const std::shared_ptr<const CallTree>& tree) {
    if (tree && !tree->nodes.empty()) append_data(page, id, dumped(call_tree_json(*tree)));
  };
  if (options.views != nullptr) {
    append_tree("call-tree", options.views->call_tree);
    append_tree("call-tree-before", options.views->call_tree_before);
  }
  // The page works before its largest part has arrived.
  page += kPageTail;
  if (has_records) {
    append_data(page, "timeline-about", options.views->timeline.about);
    page += "<script type=\"text/plain\" id=\"timeline-columns\">" + options.views->timeline.columns + "</script>\n";
  }
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
