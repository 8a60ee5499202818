// accel-profiler list: what this program knows, from its catalogues.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "cli/command.h"
#include "cli/console.h"
#include "diagnosis/rule.h"
#include "ingest/importer.h"
#include "report/plain_text.h"
#include "report/schema.h"
#include "report/writer.h"
#include "trace/notes.h"

namespace accel::cli {
namespace {

using Json = nlohmann::ordered_json;

Json list_rules() {
  Json list = Json::array();
  for (const RuleDescriptor& rule : rules()) {
    Json thresholds = Json::array();
    for (const Threshold& threshold : rule.thresholds) {
      thresholds.push_back({{"name", threshold.name},
                            {"value", threshold.value},
                            {"unit", threshold.unit},
                            {"reason", threshold.reason}});
    }
    list.push_back({{"id", rule.id},
                    {"title", rule.title},
                    {"title_zh", rule.title_zh},
                    {"meaning", rule.meaning},
                    {"meaning_zh", rule.meaning_zh},
                    {"how_we_know", rule.how_we_know},
                    {"how_we_know_zh", rule.how_we_know_zh},
                    {"what_to_do", rule.what_to_do},
                    {"what_to_do_zh", rule.what_to_do_zh},
                    {"when_wrong", rule.when_wrong},
                    {"when_wrong_zh", rule.when_wrong_zh},
                    {"thresholds", thresholds},
                    {"needs", rule.needs}});
  }
  return list;
}

Json list_analyses() {
  Json list = Json::array();
  for (const AnalysisDescriptor& analysis : analyses()) {
    list.push_back({{"id", analysis.id},
                    {"title", analysis.title},
                    {"title_zh", analysis.title_zh},
                    {"prose", analysis.prose},
                    {"needs", analysis.needs}});
  }
  return list;
}

Json list_importers() {
  Json list = Json::array();
  for (const ImporterDescriptor* importer : importers()) {
    list.push_back({{"id", importer->id},
                    {"title", importer->title},
                    {"title_zh", importer->title_zh},
                    {"extensions", importer->extensions}});
  }
  return list;
}

Json list_writers() {
  Json list = Json::array();
  for (const report::WriterDescriptor& writer : report::writers()) {
    list.push_back({{"id", writer.id},
                    {"title", writer.title},
                    {"title_zh", writer.title_zh},
                    {"alias", writer.alias},
                    {"file", writer.file_name}});
  }
  return list;
}

Json list_notes() {
  Json list = Json::array();
  for (const NoteDescriptor& note : note_catalog()) {
    list.push_back(
        {{"id", note.id}, {"title", note.message}, {"severity", to_string(note.severity)}, {"remedy", note.remedy}});
  }
  return list;
}

struct Topic {
  std::string_view name;
  Json (*make)();
};

constexpr Topic kTopics[] = {
    {"rules", list_rules},     {"analyses", list_analyses}, {"importers", list_importers},
    {"writers", list_writers}, {"notes", list_notes},
};

std::string as_text(const Json& list, bool chinese) {
  std::size_t width = 0;
  for (const Json& entry : list) width = std::max(width, entry["id"].get_ref<const std::string&>().size());
  std::string text;
  for (const Json& entry : list) {
    const bool translated =
        chinese && entry.contains("title_zh") && !entry["title_zh"].get_ref<const std::string&>().empty();
    text += fmt::format("{:<{}}  {}\n", entry["id"].get<std::string>(), width,
                        entry[translated ? "title_zh" : "title"].get<std::string>());
  }
  return text;
}

struct Options {
  std::string topic;
  bool json = false;
  std::string language = "en";
};

int run(const Options& options) {
  std::string text;
  if (options.topic == "schema") {
    text = report::json_schema();
  } else {
    for (const Topic& topic : kTopics) {
      if (topic.name != options.topic) continue;
      const Json list = topic.make();
      text = options.json ? list.dump(1) + "\n" : as_text(list, options.language == "zh");
    }
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return finish_output(kDone);
}

std::function<int()> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  std::vector<std::string> topics;
  for (const Topic& topic : kTopics) topics.emplace_back(topic.name);
  topics.emplace_back("schema");
  app.add_option("TOPIC", options->topic,
                 "rules, analyses, importers, writers, notes, or schema (the JSON Schema of report.json)")
      ->required()
      ->check(CLI::Validator(CLI::IsMember(topics)).description(""))
      ->type_name("");
  app.add_flag("--json", options->json, "everything about each entry, as JSON");
  app.add_option("--lang", options->language, "language of the titles: en or zh")
      ->check(CLI::Validator(CLI::IsMember({"en", "zh"})).description(""))
      ->type_name("LANG");
  return [options] { return run(*options); };
}

}  // namespace

extern const CommandDescriptor list_command;
const CommandDescriptor list_command = {
    "list",
    "what this program knows: rules, analyses, importers, writers, notes",
    "本程序的规则、分析、导入器、输出格式与说明",
    "  accel-profiler list rules\n"
    "  accel-profiler list rules --json\n"
    "  accel-profiler list schema > report.schema.json\n",
    declare,
};

}  // namespace accel::cli
