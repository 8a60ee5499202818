#include "report/compare_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/plain_text.h"
#include "report/summary_text.h"

namespace accel::report {
namespace {

constexpr std::size_t kNameColumns = 70;

struct Words {
  const char* english;
  const char* chinese;
};

class Page {
 public:
  Page(const Document& document, const WriterOptions& options, bool markdown)
      : compare_(*document.compare),
        chinese_(options.language == Language::chinese),
        markdown_(markdown),
        rows_(markdown ? 20 : 8),
        options_(options) {}

  std::string write() {
    out_ += markdown_ ? "# accel-profiler compare\n" : "accel-profiler compare\n";
    runs();
    steps();
    parts();
    work({"Kernels, copies and sets, a step", "核函数、拷贝与置零（每步）"}, compare_.work);
    work({"Ops, device time a step", "算子设备时间（每步）"}, compare_.ops);
    work({"Modules, device time a step, forward and backward", "模块设备时间（每步，前向与反向）"}, compare_.modules);
    work({"Annotations, device time a step", "标注设备时间（每步）"}, compare_.annotations);
    host({"Modules, host time a step, as recorded", "模块主机时间（每步，实测）"}, compare_.host_modules);
    host({"Annotations, host time a step, as recorded", "标注主机时间（每步，实测）"}, compare_.host_annotations);
    tree();
    implementations();
    numbers();
    findings();
    environment();
    limits();
    if (!options_.files.empty()) {
      heading({"Report", "报告"});
      for (const std::string& file : options_.files) item(visible_text(file));
    }
    return std::move(out_);
  }

 private:
  std::string say(const Words& words) const { return chinese_ ? words.chinese : words.english; }
  // Text of a trace, safe in either format.
  std::string safe(std::string_view text) const { return markdown_ ? markdown_text(text) : visible_text(text); }
  std::string name(std::string_view text) const {
    const std::string shown = shortened(visible_text(text), kNameColumns);
    if (shown.empty()) return say({"(no op)", "（无算子）"});
    return markdown_ ? markdown_code(shown) : shown;
  }
  void heading(const Words& words) { out_ += markdown_ ? "\n## " + say(words) + "\n\n" : "\n" + say(words) + "\n"; }
  void item(const std::string& text) { out_ += (markdown_ ? "- " : "  ") + text + "\n"; }
  static std::string delta_text(double ms) {
    if (ms == 0) return "0 ms";
    return (ms > 0 ? "+" : "-") + duration_text(std::abs(ms));
  }
  std::string verdict_text(const ComparedStep& step) const {
    if (step.verdict == "faster") return say({"faster", "更快"});
    if (step.verdict == "slower") return say({"slower", "更慢"});
    if (step.verdict == "same") return say({"no change beyond the noise of the steps", "在步时噪声之内，无变化"});
    return say(
        {"not sure: the interval does not exclude no change, or is not known", "不确定：区间未排除无变化或未知"});
  }

  void runs() {
    if (markdown_) out_ += "\n";
    const auto run = [&](const Words& words, const ComparedRun& one) {
      std::string text = say(words) + ": " + safe(one.file.value_or("-"));
      for (const std::string& device : one.devices) text += ", " + safe(device);
      item(text + fmt::format(", {} {}", one.steps, say({"complete steps", "个完整步"})));
    };
    run({"before", "之前"}, compare_.before);
    run({"after", "之后"}, compare_.after);
  }

  void step(const Words& words, const std::optional<ComparedStep>& step) {
    if (!step) {
      item(say(words) + ": " + say({"not known of both runs", "并非两次运行都已知"}));
      return;
    }
    std::string text = fmt::format("{}: {} -> {}, {}", say(words), duration_text(step->before_ms),
                                   duration_text(step->after_ms), delta_text(step->delta_ms));
    if (step->ratio) text += fmt::format(" ({:.3f}x)", *step->ratio);
    if (step->delta_low_ms && step->delta_high_ms) {
      text += fmt::format(", {} {} {} {}", say({"interval", "区间"}), delta_text(*step->delta_low_ms),
                          say({"to", "至"}), delta_text(*step->delta_high_ms));
    }
    item(text + ": " + verdict_text(*step));
  }

  void steps() {
    heading({"Step", "步时"});
    step({"undisturbed", "无干扰"}, compare_.undisturbed);
    step({"as recorded", "实测"}, compare_.measured);
  }

  std::string part_name(const std::string& part) const {
    if (part == "copies") return std::string(label(Label::copies, options_.language));
    if (part == "communication") return std::string(label(Label::communication_exposed, options_.language));
    if (part.starts_with("idle."))
      return std::string(label(Label::idle, options_.language)) + ": " +
             std::string(label_named(part.substr(5), options_.language));
    return std::string(label_named(part, options_.language));
  }

  void parts_of(const Words& words, const ComparedStep& step) {
    heading(words);
    if (markdown_) out_ += "| | before | after | difference |\n|---|---:|---:|---:|\n";
    const auto row = [&](const std::string& title, double before, double after, double delta) {
      if (markdown_) {
        out_ += fmt::format("| {} | {:.3f} ms | {:.3f} ms | {:+.3f} ms |\n", title, before, after, delta);
        return;
      }
      const std::size_t width = display_width(title);
      out_ += "  " + title + std::string(width < 34 ? 34 - width : 1, ' ') +
              fmt::format("{:>12.3f} -> {:>10.3f} ms {:>+12.3f} ms\n", before, after, delta);
    };
    for (const ComparedPart& part : step.parts) {
      if (part.before_ms == 0 && part.after_ms == 0) continue;
      row(part_name(part.name), part.before_ms, part.after_ms, part.delta_ms);
    }
    row(std::string(label(Label::whole, options_.language)), step.before_ms, step.after_ms, step.delta_ms);
  }

  void parts() {
    if (compare_.undisturbed)
      parts_of({"Where the difference comes from, undisturbed", "差异来源（无干扰）"}, *compare_.undisturbed);
    if (compare_.measured && (markdown_ || !compare_.undisturbed))
      parts_of({"Where the difference comes from, as recorded", "差异来源（实测）"}, *compare_.measured);
  }

  void work(const Words& words, const ComparedWork& work) {
    rows(words, work, {"launches", "次启动"},
         {"overlap of streams, edges of the window, work of no step", "流间重叠、窗口边缘、不属于任何步"},
         compare_.busy_delta_ms, {"together: the device's working time", "合计：设备工作时间"});
  }
  void host(const Words& words, const ComparedWork& work) {
    rows(words, work, {"calls", "次调用"}, {"outside of all, less other threads", "其外的部分，减去其他线程"},
         compare_.host_delta_ms, {"together: the host's step", "合计：主机步时"});
  }

  void rows(const Words& words, const ComparedWork& work, const Words& counted, const Words& rest, double whole_ms,
            const Words& whole) {
    if (work.rows.empty()) return;
    heading(words);
    double others = work.others_ms;
    std::size_t shown = 0;
    for (const ComparedPart& row : work.rows) {
      if (shown == rows_) {
        others += row.delta_ms;
        continue;
      }
      ++shown;
      std::string text = fmt::format("{}  {}: {} -> {}", delta_text(row.delta_ms), name(row.name),
                                     duration_text(row.before_ms), duration_text(row.after_ms));
      if (row.before_count && row.after_count)
        text += fmt::format(", {:.6g} -> {:.6g} {}", *row.before_count, *row.after_count, say(counted));
      if (row.status == "appeared") text += say({", new", "，新出现"});
      if (row.status == "vanished") text += say({", gone", "，已消失"});
      item(text);
    }
    item(fmt::format("{}  {}", delta_text(others), say({"all others", "其余全部"})));
    item(fmt::format("{}  {}", delta_text(work.rest_ms), say(rest)));
    item(fmt::format("{}  {}", delta_text(whole_ms), say(whole)));
  }

  void tree() {
    if (!compare_.tree || compare_.tree->rows.empty()) return;
    const ComparedTree& tree = *compare_.tree;
    heading({"Call tree: host and device time that changed", "调用树：主机与设备时间的变化"});
    double host = tree.host_others_ms + tree.host_rest_ms;
    double device = tree.device_others_ms + tree.device_rest_ms;
    for (std::size_t i = 0; i < tree.rows.size(); ++i) {
      const ComparedNode& row = tree.rows[i];
      if (i >= rows_) {
        host += row.host_delta_ms;
        device += row.device_delta_ms;
        continue;
      }
      std::string text =
          fmt::format("{} | {}  {}", delta_text(row.host_delta_ms), delta_text(row.device_delta_ms), place(row.path));
      if (row.before_name) text += " (" + say({"was ", "原为 "}) + name(*row.before_name) + ")";
      if (row.status == "appeared") text += say({", new", "，新出现"});
      if (row.status == "vanished") text += say({", gone", "，已消失"});
      item(text);
    }
    item(fmt::format("{} | {}  {}", delta_text(host), delta_text(device), say({"all others", "其余全部"})));
    item(fmt::format(
        "{} | {}  {}", delta_text(tree.host_delta_ms), delta_text(tree.device_delta_ms),
        say({"together: host time of all threads, device time summed", "合计：所有线程的主机时间、设备时间之和"})));
  }

  // The last of a path, and what is around it.
  std::string place(const std::vector<std::string>& path) const {
    constexpr std::size_t kShown = 3;
    std::string text;
    for (std::size_t i = path.size() > kShown ? path.size() - kShown : 0; i < path.size(); ++i)
      text += (text.empty() ? "" : " > ") + name(path[i]);
    return text;
  }

  void implementations() {
    if (compare_.implementations.empty()) return;
    heading({"Same op, same shapes, other kernels", "同一算子、相同形状，核函数不同"});
    std::size_t shown = 0;
    for (const ComparedKernels& row : compare_.implementations) {
      if (shown++ == rows_) break;
      const auto list = [&](const std::vector<std::string>& kernels) {
        std::string text;
        for (std::size_t i = 0; i < kernels.size() && i < 2; ++i) text += (i == 0 ? "" : ", ") + name(kernels[i]);
        return kernels.size() > 2 ? text + ", ..." : text;
      };
      std::string text = fmt::format("{}  {} {}: {} -> {}", delta_text(row.delta_ms), name(row.op), name(row.dims),
                                     list(row.before), list(row.after));
      if (row.before_types != row.after_types) {
        text += fmt::format("; {} {} -> {}", say({"other types:", "类型不同："}), name(row.before_types),
                            name(row.after_types));
      }
      item(text);
    }
    if (compare_.implementations.size() > rows_)
      item(fmt::format("{} {}", compare_.implementations.size() - rows_, say({"more in the report", "条见报告"})));
  }

  void numbers() {
    if (compare_.numbers.empty()) return;
    heading({"Figures", "数值"});
    for (const ComparedNumber& number : compare_.numbers) {
      const auto text = [&](const Number& value) {
        if (!value) return say({"not measured", "未测量"});
        return number.path.ends_with("_bytes") ? bytes_text(*value) : fmt::format("{:.6g}", *value);
      };
      std::string line = fmt::format("{}: {} -> {}", name(number.path), text(number.before), text(number.after));
      if (number.ratio) line += fmt::format(" ({:.3f}x)", *number.ratio);
      item(line);
    }
  }

  void findings() {
    if (compare_.findings.empty()) return;
    heading({"Findings", "发现"});
    for (const ComparedFinding& finding : compare_.findings) {
      const std::string state = finding.status == "appeared"   ? say({"new", "新出现"})
                                : finding.status == "vanished" ? say({"gone", "已消失"})
                                                               : say({"still there", "仍存在"});
      std::string text = name(finding.rule.text) + ": " + state;
      if (finding.before_ms) text += ", " + duration_text(*finding.before_ms) + " " + say({"before", "之前"});
      if (finding.after_ms) text += ", " + duration_text(*finding.after_ms) + " " + say({"after", "之后"});
      item(text);
    }
  }

  void environment() {
    if (compare_.environment.empty()) return;
    heading({"What differs around the job", "环境差异"});
    for (const EnvironmentChange& change : compare_.environment) {
      std::string text = fmt::format("{}: {} -> {}", name(change.key), safe(shortened(change.before.value_or("-"), 60)),
                                     safe(shortened(change.after.value_or("-"), 60)));
      if (change.may_explain) text += "; " + say({"may explain ", "可能影响 "}) + *change.may_explain;
      item(text);
    }
  }

  void limits() {
    if (compare_.not_comparable.empty()) return;
    heading({"What cannot be compared", "无法比较的内容"});
    for (const std::string& sentence : compare_.not_comparable) item(safe(sentence));
  }

  const Compare& compare_;
  bool chinese_;
  bool markdown_;
  std::size_t rows_;
  const WriterOptions& options_;
  std::string out_;
};

}  // namespace

std::string comparison_text(const Document& document, const WriterOptions& options, bool markdown) {
  return Page(document, options, markdown).write();
}

}  // namespace accel::report
