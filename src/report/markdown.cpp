// report.md: the report to read, to send and to put beside a pull request (GitHub-flavoured Markdown).
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "report/chinese.h"
#include "report/compare_text.h"
#include "report/plain_text.h"
#include "report/summary_text.h"
#include "report/what_if_text.h"
#include "report/writer.h"

namespace accel::report {
namespace {

constexpr std::size_t kTableRows = 20;
constexpr std::size_t kNameColumns = 100;

class Page {
 public:
  Page(const Document& document, const WriterOptions& options) : document_(document), language_(options.language) {}

  std::string write() {
    header();
    where_time_goes();
    health();
    critical_path();
    what_if();
    plan();
    findings();
    memory();
    efficiency();
    kernels();
    operators();
    scopes(Label::modules, document_.modules);
    scopes(Label::annotations, document_.annotations);
    scopes(Label::frames, document_.frames);
    notes();
    not_measured();
    return std::move(out_);
  }

 private:
  std::string_view say(Label id) const { return label(id, language_); }
  void line(std::string_view text = {}) {
    out_ += text;
    out_ += '\n';
  }
  void heading(std::string_view text, std::string_view rest = {}) {
    line();
    line("## " + std::string(text) + (rest.empty() ? "" : ", " + markdown_text(rest)));
    line();
  }
  // Cells are Markdown already.
  void row(std::initializer_list<std::string> cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += " " + cell + " |";
    line(text);
  }
  static std::string name_cell(std::string_view name) {
    return markdown_code(shortened(visible_text(name), kNameColumns));
  }

  void header();
  void where_time_goes();
  void health();
  void critical_path();
  void what_if();
  void plan();
  void findings();
  void finding(const Finding& finding, std::size_t number);
  void code_block(const std::string& code);
  void memory();
  void efficiency();
  void kernels();
  void operators();
  void scopes(Label title, const std::vector<Scope>& rows);
  void notes();
  void not_measured();

  const Document& document_;
  Language language_;
  std::string out_;
};

void Page::header() {
  line("# accel-profiler");
  line();
  line(markdown_text(input_text(document_)));
  heading(say(Label::verdict));
  const Verdict& verdict = document_.verdict;
  line("**" + markdown_text(verdict.sentence) + "**");
  if (!(verdict.bound_by == "unknown")) {
    line();
    line(fmt::format("{} {}; {}", say(Label::limited_by), label_named("bound_" + verdict.bound_by.text, language_),
                     sureness(verdict.confidence, language_)));
  }
  const std::string step = step_text(document_, language_);
  if (step.empty()) return;
  line();
  line(fmt::format("{}: {}", say(unit_heading(document_)), markdown_text(step)));
}

void Page::where_time_goes() {
  const PartTable table = part_table(document_, language_);
  if (table.rows.empty()) return;
  heading(say(time_heading(document_)), table.of);
  const std::string left(say(Label::undisturbed));
  const std::string right(say(Label::measured));
  row({"", left + " (" + table.unit + ")", "", right + " (" + table.unit + ")", ""});
  line("|---|---:|---:|---:|---:|");
  const auto print = [&](const PartRow& part) {
    row({part.is_cause ? "&nbsp;&nbsp;" + part.name : part.name, part.undisturbed,
         markdown_text(part.undisturbed_share), part.measured, markdown_text(part.measured_share)});
  };
  for (const PartRow& part : table.rows) print(part);
  print(table.whole);
}

void Page::health() {
  const std::string bad = health_text(document_, false, language_);
  const std::string good = health_text(document_, true, language_);
  if (bad.empty() && good.empty()) return;
  heading(say(Label::health));
  if (!bad.empty()) line(fmt::format("- **{}**: {}", say(Label::not_ok), markdown_text(bad)));
  if (!good.empty()) line(fmt::format("- {}: {}", say(Label::ok), markdown_text(good)));
}

void Page::critical_path() {
  const std::string text = path_text(document_, language_);
  if (text.empty()) return;
  heading(say(Label::critical_path));
  line(markdown_text(text));
}

void Page::what_if() {
  if (document_.what_if.empty()) return;
  heading(say(Label::what_if));
  for (const WhatIf& answer : document_.what_if)
    line(fmt::format("- {}: {}", markdown_code(visible_text(answer.name)),
                     markdown_text(answer_text(answer, document_, language_))));
}

void Page::plan() {
  if (document_.plan.empty()) return;
  heading(say(Label::plan));
  for (const PlanStep& step : document_.plan) {
    line(fmt::format("{}. {}: {}", step.order, markdown_text(step.title),
                     markdown_text(plan_text(step, document_, language_))));
  }
}

void Page::code_block(const std::string& code) {
  std::string text;
  std::string_view rest = code;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    text += visible_text(rest.substr(0, end)) + "\n";
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  line();
  line(fence);
  out_ += text;
  line(fence);
}

void Page::finding(const Finding& finding, std::size_t number) {
  line(fmt::format("### {}. {}", number, markdown_text(finding.title)));
  line();
  line(fmt::format("{}, {}, {}", markdown_code(finding.rule.text),
                   label_named("severity_" + finding.severity.text, language_),
                   sureness(finding.confidence, language_)));
  line();
  for (const Evidence& evidence : finding.evidence) line("- " + markdown_text(evidence_text(evidence)));
  for (const Location& location : finding.where) {
    line(fmt::format("- {}: {}", say(Label::where),
                     markdown_code(shortened(visible_text(location_text(location)), kNameColumns))));
  }
  const Action& action = finding.action;
  line();
  line(fmt::format("**{}**{}{}", markdown_text(action.title), action.detail.empty() ? "" : ". ",
                   markdown_text(action.detail)));
  if (!action.command.empty()) code_block(action.command);
  line();
  const auto item = [&](Label id, const std::string& text) {
    if (!text.empty()) line(fmt::format("- {}: {}", say(id), markdown_text(text)));
  };
  item(Label::gain, gain_text(finding.gain, document_.step_time, language_));
  item(Label::side_effects, action.side_effects);
  item(Label::not_when, action.not_when);
  line();
}

void Page::findings() {
  heading(say(Label::findings));
  const bool concluded = !(document_.verdict.bound_by == "unknown");
  if (document_.findings.empty()) line(say(concluded ? Label::nothing_found : Label::no_conclusion));
  for (std::size_t i = 0; i < document_.findings.size(); ++i) finding(document_.findings[i], i + 1);
}

void Page::memory() {
  bool begun = false;
  for (const MemoryDevice& device : document_.memory.devices) {
    const std::string text = memory_text(device, language_);
    if (text.empty()) continue;
    if (!begun) heading(say(Label::memory));
    begun = true;
    line("- " + markdown_text(text));
  }
}

void Page::efficiency() {
  const Efficiency& efficiency = document_.efficiency;
  if (!document_.utilisation.sentence && efficiency.groups.empty()) return;
  heading(say(Label::efficiency));
  if (document_.utilisation.sentence) line(markdown_text(*document_.utilisation.sentence) + ".");
  if (efficiency.groups.empty()) return;
  line();
  line(fmt::format("{}:", say(Label::costliest_calls)));
  line();
  row({"op", "shapes", "dtype", "a step", "TFLOP/s", "TB/s", "bound", "of the roof"});
  line("|---|---|---|---:|---:|---:|---|---:|");
  const std::string unknown(say(Label::not_measured));
  const auto figure = [&](const Number& value) { return value ? fmt::format("{:.3g}", *value) : unknown; };
  for (std::size_t i = 0; i < efficiency.groups.size() && i < kTableRows; ++i) {
    const WorkGroup& group = efficiency.groups[i];
    row({name_cell(group.op ? *group.op : group.kernel), group.dims ? name_cell(*group.dims) : unknown,
         markdown_text(group.dtype.value_or(unknown)), duration_text(group.ms_per_step), figure(group.tflops),
         figure(group.tbps), group.bound.value_or(unknown),
         group.roof_share ? markdown_text(percent_text(*group.roof_share)) : unknown});
  }
}

void Page::kernels() {
  if (document_.kernels.empty()) return;
  heading(say(Label::kernels));
  const KernelSummary& summary = document_.kernel_summary;
  if (summary.per_step && summary.mean_us && summary.share_below_5us) {
    const bool chinese = language_ == Language::chinese;
    line(fmt::format(fmt::runtime(chinese ? "每步 {:.0f} 个，平均 {}，短于 5 us 的占 {}。"
                                          : "{:.0f} a step, {} on average, {} of them shorter than 5 us."),
                     *summary.per_step, duration_text(*summary.mean_us / 1e3), percent_text(*summary.share_below_5us)));
    line();
  }
  row({"kernel", "dtype", "count", "total", "mean", "share"});
  line("|---|---|---:|---:|---:|---:|");
  for (std::size_t i = 0; i < document_.kernels.size() && i < kTableRows; ++i) {
    const Kernel& kernel = document_.kernels[i];
    row({name_cell(kernel.short_name.empty() ? kernel.name : kernel.short_name),
         markdown_text(kernel.dtype.value_or(std::string(say(Label::not_measured)))), count_text(kernel.count),
         duration_text(kernel.total_ms), duration_text(kernel.mean_us / 1e3),
         markdown_text(percent_text(kernel.share))});
  }
}

void Page::operators() {
  if (document_.operators.empty()) return;
  heading(say(Label::operators));
  row({"op", "dtype", "count", "self CPU", "CPU", "self device", "device"});
  line("|---|---|---:|---:|---:|---:|---:|");
  for (std::size_t i = 0; i < document_.operators.size() && i < kTableRows; ++i) {
    const Operator& op = document_.operators[i];
    row({name_cell(op.name), markdown_text(op.dtype.value_or(std::string(say(Label::not_measured)))),
         count_text(op.count), duration_text(op.self_cpu_ms), duration_text(op.cpu_ms),
         duration_text(op.self_device_ms), duration_text(op.device_ms)});
  }
}

// Times are per complete step; frames of libraries are in the user's frames that called them.
void Page::scopes(Label title, const std::vector<Scope>& rows) {
  if (rows.empty()) return;
  heading(say(title), per_unit(document_, language_));
  row({"name", "dtype", "calls", "self CPU", "CPU", "self device", "device", "backward device"});
  line("|---|---|---:|---:|---:|---:|---:|---:|");
  const std::string unknown(say(Label::not_measured));
  std::size_t shown = 0;
  for (const Scope& scope : rows) {
    if (scope.library) continue;
    if (shown++ == kTableRows) break;
    row({name_cell(scope.name), markdown_text(scope.dtype.value_or("-")), fmt::format("{:.6g}", scope.count),
         duration_text(scope.host_self_ms), duration_text(scope.host_ms), duration_text(scope.device_self_ms),
         duration_text(scope.device_ms),
         scope.backward_device_ms ? duration_text(*scope.backward_device_ms) : unknown});
  }
}

void Page::notes() {
  heading(say(Label::notes));
  if (document_.notes.empty()) {
    line(say(Label::no_notes));
    return;
  }
  for (const Note& note : document_.notes) {
    std::string text = note.message;
    if (note.count > 1) text += fmt::format(", {} {}", count_text(note.count), say(Label::times));
    if (!note.where.empty()) text += ", " + note.where;
    line(fmt::format("- **{}** {}: {}; {}", note.severity.text, markdown_code(note.code.text), markdown_text(text),
                     markdown_text(note.remedy)));
  }
}

void Page::not_measured() {
  if (document_.not_measured.empty()) return;
  heading(say(Label::not_measured_title));
  // Keys of one reason share a line.
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const NotMeasured& entry : document_.not_measured) {
    auto at =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& known) { return known.first == entry.reason; });
    if (at == reasons.end()) at = reasons.insert(reasons.end(), {entry.reason, ""});
    if (!at->second.empty()) at->second += ", ";
    at->second += markdown_code(entry.path);
  }
  for (const auto& [reason, paths] : reasons) line("- " + paths + ": " + markdown_text(reason));
}

std::string write(const Document& document, const WriterOptions& options) {
  if (document.compare) return comparison_text(document, options, true);
  if (options.language == Language::chinese) return Page(in_chinese(document), options).write();
  return Page(document, options).write();
}

}  // namespace

extern const WriterDescriptor markdown_writer;
const WriterDescriptor markdown_writer = {
    "markdown", "the report to read and to send", "供阅读和发送的报告", "md", "report.md", write,
};

}  // namespace accel::report
