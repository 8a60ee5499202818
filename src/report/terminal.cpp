// The terminal report: what a person reads in ten seconds. Plain text; escape sequences only when asked for.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/chinese.h"
#include "report/compare_text.h"
#include "report/plain_text.h"
#include "report/summary_text.h"
#include "report/what_if_text.h"
#include "report/writer.h"

namespace accel::report {
namespace {

constexpr std::size_t kFindingsShown = 3;
constexpr std::size_t kEvidenceShown = 4;
constexpr std::size_t kWhereShown = 3;
constexpr std::size_t kNameColumns = 90;
constexpr std::size_t kIndent = 2;
constexpr std::size_t kColumnGap = 4;

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kMagenta = "\x1b[35m";
constexpr std::string_view kReset = "\x1b[0m";

std::string_view colour_of(char glyph) {
  switch (glyph) {
    case '#':
      return kGreen;
    case '=':
      return kYellow;
    case '~':
      return kMagenta;
    default:
      return kRed;
  }
}

class Page {
 public:
  Page(const Document& document, const WriterOptions& options) : document_(document), options_(options) {}

  std::string write() {
    header();
    where_time_goes();
    health();
    efficiency();
    memory();
    critical_path();
    what_if();
    plan();
    findings();
    notes();
    files();
    return std::move(out_);
  }

 private:
  std::string_view say(Label id) const { return label(id, options_.language); }
  std::string painted(std::string_view colour, std::string_view text) const {
    if (!options_.colour) return std::string(text);
    return fmt::format("{}{}{}", colour, text, kReset);
  }
  void line(std::string_view text = {}) {
    out_ += text;
    out_ += '\n';
  }
  void heading(std::string_view text, std::string_view rest = {}) {
    line();
    line(painted(kBold, text) + std::string(rest.empty() ? "" : ", ") + visible_text(rest));
  }
  // Text wrapped after `first`, continued below its end.
  void paragraph(std::string_view first, std::string_view text) {
    const std::size_t indent = display_width(first);
    const std::size_t room = options_.columns > indent + 20 ? options_.columns - indent : 20;
    bool begun = false;
    for (const std::string& part : wrapped(visible_text(text), room)) {
      line((begun ? std::string(indent, ' ') : std::string(first)) + part);
      begun = true;
    }
  }

  void header();
  void where_time_goes();
  void health();
  void efficiency();
  void memory();
  void critical_path();
  void what_if();
  void plan();
  void findings();
  void finding(const Finding& finding, std::size_t number);
  void command(const std::string& text, std::size_t indent);
  void notes();
  void files();

  const Document& document_;
  const WriterOptions& options_;
  std::string out_;
};

void Page::header() {
  line(visible_text(input_text(document_)));
  const Verdict& verdict = document_.verdict;
  heading(say(Label::verdict));
  const std::string suffix = verdict.bound_by == "unknown"
                                 ? std::string()
                                 : fmt::format(" ({} {}, {})", say(Label::limited_by),
                                               label_named("bound_" + verdict.bound_by.text, options_.language),
                                               sureness(verdict.confidence, options_.language));
  paragraph("  ", verdict.sentence + suffix);
  const std::string step = step_text(document_, options_.language);
  if (step.empty()) return;
  heading(say(unit_heading(document_)));
  paragraph("  ", step);
}

void Page::where_time_goes() {
  const PartTable table = part_table(document_, options_.language);
  if (table.rows.empty()) return;
  heading(say(time_heading(document_)), table.of);

  const std::string_view names[] = {say(Label::undisturbed), say(Label::measured)};
  const TimeParts* parts[] = {&*document_.time_breakdown_undisturbed, &*document_.time_breakdown};
  std::size_t name_width = std::max(display_width(names[0]), display_width(names[1]));
  const auto padded = [](std::string_view text, std::size_t width) {
    const std::size_t own = display_width(text);
    return std::string(text) + std::string(width > own ? width - own : 0, ' ');
  };
  const auto right = [](std::string_view text, std::size_t width) {
    const std::size_t own = display_width(text);
    return std::string(width > own ? width - own : 0, ' ') + std::string(text);
  };
  const std::size_t room =
      std::min<std::size_t>(options_.columns > name_width + 10 ? options_.columns - name_width - 6 : 20, 72);
  for (int i = 0; i < 2; ++i) {
    const std::string bar = bar_of(*parts[i], room);
    std::string shown;
    for (std::size_t at = 0; at < bar.size();) {
      const std::size_t end = std::min(bar.find_first_not_of(bar[at], at), bar.size());
      shown += painted(colour_of(bar[at]), std::string_view(bar).substr(at, end - at));
      at = end;
    }
    line("  " + padded(names[i], name_width) + " |" + shown + "|");
  }
  line();

  std::size_t part_width = 0;
  for (const PartRow& row : table.rows)
    part_width = std::max(part_width, display_width(row.name) + (row.is_cause ? 4 : 2));
  std::size_t left_width =
      std::max<std::size_t>({table.whole.undisturbed.size() + table.unit.size() + 10, display_width(names[0]) + 2});
  std::size_t right_width =
      std::max<std::size_t>({table.whole.measured.size() + table.unit.size() + 10, display_width(names[1]) + 2}) +
      kColumnGap;
  line("  " + std::string(part_width, ' ') + right(names[0], left_width) + right(names[1], right_width));
  const auto figures = [&](const PartRow& row) {
    return right(row.undisturbed + " " + table.unit + right(row.undisturbed_share, 7), left_width) +
           right(row.measured + " " + table.unit + right(row.measured_share, 7), right_width);
  };
  for (const PartRow& row : table.rows) {
    const std::string name = row.is_cause ? "    " + row.name : fmt::format("{} {}", row.glyph, row.name);
    const std::string shown = padded(name, part_width);
    line("  " + (row.is_cause ? painted(kDim, shown) : painted(colour_of(row.glyph), shown)) + figures(row));
  }
  line("  " + padded("  " + table.whole.name, part_width) + figures(table.whole));
}

void Page::health() {
  const std::string bad = health_text(document_, false, options_.language);
  const std::string good = health_text(document_, true, options_.language);
  if (bad.empty() && good.empty()) return;
  heading(say(Label::health));
  const std::size_t width = std::max(display_width(say(Label::ok)), display_width(say(Label::not_ok)));
  const auto group = [&](Label name, std::string_view colour, const std::string& text) {
    if (text.empty()) return;
    const std::string first = "  " + std::string(say(name)) + std::string(width - display_width(say(name)) + 2, ' ');
    const std::size_t before = out_.size();
    paragraph(first, text);
    out_.replace(before + 2, say(name).size(), painted(colour, say(name)));
  };
  group(Label::not_ok, kRed, bad);
  group(Label::ok, kGreen, good);
}

void Page::memory() {
  bool begun = false;
  for (const MemoryDevice& device : document_.memory.devices) {
    const std::string text = memory_text(device, options_.language);
    if (text.empty()) continue;
    if (!begun) heading(say(Label::memory));
    begun = true;
    paragraph("  ", text);
  }
}

void Page::efficiency() {
  if (!document_.utilisation.sentence) return;
  heading(say(Label::efficiency));
  paragraph("  ", *document_.utilisation.sentence);
}

void Page::critical_path() {
  const std::string text = path_text(document_, options_.language);
  if (text.empty()) return;
  heading(say(Label::critical_path));
  paragraph("  ", text);
}

void Page::what_if() {
  if (document_.what_if.empty()) return;
  heading(say(Label::what_if));
  for (const WhatIf& answer : document_.what_if)
    paragraph("  " + visible_text(answer.name) + ": ", answer_text(answer, document_, options_.language));
}

void Page::plan() {
  if (document_.plan.empty()) return;
  heading(say(Label::plan));
  for (const PlanStep& step : document_.plan) {
    const std::string first = fmt::format("  {}. ", step.order);
    paragraph(first, step.title);
    paragraph(std::string(first.size(), ' ') + "-> ", plan_text(step, document_, options_.language));
  }
}

// The first block of the code: alternatives, which stand after a blank line, are for the report.
void Page::command(const std::string& text, std::size_t indent) {
  std::string_view rest = text;
  while (!rest.empty() && rest.front() != '\n') {
    const std::size_t end = rest.find('\n');
    line(std::string(indent, ' ') + painted(kBold, visible_text(rest.substr(0, end))));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (!rest.empty()) line(std::string(indent, ' ') + painted(kDim, say(Label::more_code)));
}

void Page::finding(const Finding& finding, std::size_t number) {
  const std::string first = fmt::format("  {}. ", number);
  const std::string indent(first.size(), ' ');
  paragraph(first, finding.title);
  std::string kind = fmt::format("[{}, {}, {}]", finding.rule.text,
                                 label_named("severity_" + finding.severity.text, options_.language),
                                 sureness(finding.confidence, options_.language));
  line(indent + painted(finding.severity == "critical"  ? kRed
                        : finding.severity == "warning" ? kYellow
                                                        : kDim,
                        visible_text(kind)));
  for (std::size_t i = 0; i < finding.evidence.size() && i < kEvidenceShown; ++i) {
    paragraph(indent + "- ", evidence_text(finding.evidence[i]));
  }
  std::string where;
  for (std::size_t i = 0; i < finding.where.size() && i < kWhereShown; ++i) {
    where += (where.empty() ? "" : "; ") + shortened(visible_text(location_text(finding.where[i])), kNameColumns);
  }
  if (!where.empty()) paragraph(indent + std::string(say(Label::where)) + ": ", where);
  paragraph(indent + std::string(say(Label::action)) + ": ",
            finding.action.detail.empty() ? finding.action.title : finding.action.title + ". " + finding.action.detail);
  if (!finding.action.command.empty()) {
    line(indent + std::string(say(Label::paste)) + ":");
    command(finding.action.command, indent.size() + 2 * kIndent);
  }
  if (!finding.action.not_when.empty())
    paragraph(indent + std::string(say(Label::not_when)) + ": ", finding.action.not_when);
  paragraph(indent + std::string(say(Label::gain)) + ": ",
            gain_text(finding.gain, document_.step_time, options_.language));
}

void Page::findings() {
  heading(say(Label::findings));
  const bool concluded = !(document_.verdict.bound_by == "unknown");
  if (document_.findings.empty()) {
    line("  " + (concluded ? painted(kGreen, say(Label::nothing_found)) : std::string(say(Label::no_conclusion))));
    return;
  }
  for (std::size_t i = 0; i < document_.findings.size() && i < kFindingsShown; ++i)
    finding(document_.findings[i], i + 1);
  if (document_.findings.size() > kFindingsShown) {
    line("  " + fmt::format(fmt::runtime(say(Label::more_findings)), document_.findings.size() - kFindingsShown));
  }
}

void Page::notes() {
  if (document_.notes.empty()) return;
  heading(say(Label::notes));
  std::string infos;
  std::size_t info_count = 0;
  for (const Note& note : document_.notes) {
    if (note.severity == "info") {
      ++info_count;
      infos += (infos.empty() ? "" : ", ") + note.code.text;
      continue;
    }
    std::string text = note.message;
    if (note.count > 1) text += fmt::format(", {} {}", count_text(note.count), say(Label::times));
    if (!note.where.empty()) text += ", " + note.where;
    const std::string mark = painted(note.severity == "error" ? kRed : kYellow, note.severity.text);
    const std::string head = "  " + note.severity.text + ": ";
    const std::size_t before = out_.size();
    paragraph(head, text + "; " + note.remedy);
    if (options_.colour) out_.replace(before + 2, note.severity.text.size(), mark);
  }
  if (info_count > 0) paragraph("  ", fmt::format("{} {}: {}", info_count, say(Label::info_notes), infos));
}

void Page::files() {
  if (options_.files.empty()) return;
  heading(say(Label::report));
  for (const std::string& file : options_.files) line("  " + visible_text(file));
}

std::string write(const Document& document, const WriterOptions& options) {
  if (document.compare) return comparison_text(document, options, false);
  if (options.language == Language::chinese) return Page(in_chinese(document), options).write();
  return Page(document, options).write();
}

}  // namespace

extern const WriterDescriptor terminal_writer;
const WriterDescriptor terminal_writer = {
    "terminal", "what to read first, on standard output", "终端摘要，输出到标准输出", "", "", write,
};

}  // namespace accel::report
