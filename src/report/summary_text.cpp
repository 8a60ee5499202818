#include "report/summary_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/apportion.h"
#include "trace/processor.h"

namespace accel::report {
namespace {

constexpr std::array<char, 4> kGlyphs = {'#', '=', '~', '.'};  // compute, copies, communication, idle
constexpr std::array<Label, 4> kPartLabels = {Label::compute, Label::copies, Label::communication_exposed, Label::idle};

std::string named(Label id, Language language, const std::string& value) {
  return fmt::format(fmt::runtime(label(id, language)), value);
}

// Three digits that count.
std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

std::array<std::int64_t, 4> parts_ns(const TimeParts& parts) {
  const auto ns = [](double ms) { return std::llround(ms * 1e6); };
  return {ns(parts.compute_ms), ns(parts.memcpy_ms), ns(parts.communication_exposed_ms), ns(parts.idle_ms)};
}

std::vector<std::int64_t> causes_ns(const IdleCauses& causes) {
  std::vector<std::int64_t> list;
  IdleCauses::fields(causes,
                     [&](std::string_view, double ms, std::string_view) { list.push_back(std::llround(ms * 1e6)); });
  return list;
}

// The unit of one column of the table: seconds, ms or us, with as many decimals as three digits of the whole need.
struct Scale {
  std::string unit = "ms";
  std::int64_t unit_ns = 1'000'000;
  std::int64_t step_ns = 100'000;  // one unit of the last decimal
  int decimals = 1;
};

Scale scale_for(double whole_ms) {
  if (whole_ms >= 10'000) return {"s", 1'000'000'000, 100'000'000, 1};
  if (whole_ms >= 10) return {"ms", 1'000'000, 100'000, 1};
  if (whole_ms >= 1) return {"ms", 1'000'000, 10'000, 2};
  return {"us", 1'000, 1'000, 0};
}

std::string scaled(std::int64_t steps, const Scale& scale) {
  const double value =
      static_cast<double>(steps) * static_cast<double>(scale.step_ns) / static_cast<double>(scale.unit_ns);
  return fmt::format("{:.{}f}", value, scale.decimals);
}

struct Column {
  std::vector<std::string> parts, part_shares, causes, cause_shares;
  std::string whole;
};

Column column_of(const TimeParts& parts, const Scale& scale) {
  Column column;
  const auto ns = parts_ns(parts);
  const std::int64_t whole_ns = std::llround(parts.window_ms * 1e6);
  const std::int64_t whole = rounded_quotient(whole_ns, scale.step_ns);
  const auto steps = apportion(ns, scale.step_ns, whole);
  const auto causes = apportion(causes_ns(parts.idle_causes), scale.step_ns, steps[3]);
  const auto share = [&](std::int64_t part) {
    return whole_ns > 0 ? percent_text(static_cast<double>(part) / static_cast<double>(whole_ns)) : std::string("0 %");
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    column.parts.push_back(scaled(steps[i], scale));
    column.part_shares.push_back(share(ns[i]));
  }
  const auto cause_ns = causes_ns(parts.idle_causes);
  for (std::size_t i = 0; i < causes.size(); ++i) {
    column.causes.push_back(scaled(causes[i], scale));
    column.cause_shares.push_back(share(cause_ns[i]));
  }
  column.whole = scaled(whole, scale);
  return column;
}

// "16.1 to 19.8 ms": a unit that both share is said once.
std::string span_text(double low, double high, std::string_view to) {
  std::string left = duration_text(low);
  const std::string right = duration_text(high);
  const std::size_t unit = left.rfind(' ');
  if (left.substr(unit) == right.substr(right.rfind(' '))) left.resize(unit);
  return fmt::format("{} {} {}", left, to, right);
}

std::string range_text(const Number& low, const Number& high, Language language) {
  if (!low || !high) return "";
  return language == Language::chinese ? "（" + span_text(*low, *high, "至") + "）"
                                       : " (" + span_text(*low, *high, "to") + ")";
}

// Its ops are the work of the device that it has.
bool on_processor(const Document& document) {
  return document.job.ranks.size() == 1 && document.job.ranks.front().devices.size() == 1 &&
         document.job.ranks.front().devices.front().name == kProcessorName;
}

const Finding* finding_of(const Document& document, std::string_view id) {
  for (const Finding& finding : document.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

}  // namespace

std::string duration_text(double ms) {
  const double size = std::abs(ms);
  if (size >= 9'999.5) return three_digits(ms / 1e3) + " s";
  if (size >= 0.1) return three_digits(ms) + " ms";
  if (size >= 0.0009995) return three_digits(ms * 1e3) + " us";
  return size == 0 ? "0 ms" : fmt::format("{:.0f} ns", ms * 1e6);
}

std::string percent_text(double share) {
  const double percent = share * 100;
  if (percent == 0) return "0 %";
  if (std::abs(percent) < 0.05) return "<0.1 %";
  if (std::abs(percent) < 9.95) return fmt::format("{:.1f} %", percent);
  if (percent > 99.5 && percent < 100) return ">99 %";
  return fmt::format("{:.0f} %", percent);
}

std::string speedup_text(double speedup) {
  return speedup >= 9.95 ? fmt::format("{:.0f}x", speedup) : fmt::format("{:.1f}x", speedup);
}

std::string count_text(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string bytes_text(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 999.5 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{} {}", three_digits(bytes), kUnits[unit]);
}

std::string evidence_text(const Evidence& evidence) {
  if (!evidence.value) return evidence.text;
  const double value = *evidence.value;
  std::string figure;
  if (evidence.unit == "ms") {
    figure = duration_text(value);
  } else if (evidence.unit == "us") {
    figure = duration_text(value / 1e3);
  } else if (evidence.unit == "bytes") {
    figure = bytes_text(value);
  } else if (evidence.unit == "%") {
    figure = percent_text(value / 100);
  } else if (std::abs(value) >= 1000 && value >= 0) {
    figure = count_text(static_cast<std::uint64_t>(std::llround(std::min(value, 1e18))));
  } else {
    figure = value == std::floor(value) ? fmt::format("{:.0f}", value) : three_digits(value);
  }
  const bool bare = evidence.unit.empty() || evidence.unit == "count" || evidence.unit == "ms" ||
                    evidence.unit == "us" || evidence.unit == "bytes" || evidence.unit == "%";
  return evidence.text + ": " + figure + (bare ? "" : " " + evidence.unit);
}

std::string location_text(const Location& location) {
  std::string text = location.kind;
  if (!location.name.empty()) text += (text.empty() ? "" : " ") + location.name;
  if (location.file && location.name.find(*location.file) == std::string::npos) {
    text += ", " + *location.file;
    if (location.line) text += fmt::format(":{}", *location.line);
  }
  if (location.rank) text += fmt::format(", rank {}", *location.rank);
  if (location.host) text += ", host " + *location.host;
  if (location.device) text += fmt::format(", device {}", *location.device);
  return text;
}

std::string_view sureness(double confidence, Language language) {
  if (confidence >= 0.9) return label(Label::sure, language);
  if (confidence >= 0.7) return label(Label::quite_sure, language);
  if (confidence >= 0.5) return label(Label::likely, language);
  if (confidence >= 0.25) return label(Label::unsure, language);
  return label(Label::guess, language);
}

Unit unit_of(const Document& document) {
  if (document.step_time.source == "whole_window") return Unit::window;
  return document.job.kind == "inference" ? Unit::iteration : Unit::step;
}

std::string per_unit(const Document& document, Language language) {
  switch (unit_of(document)) {
    case Unit::step:
      return std::string(label(Label::per_step, language));
    case Unit::iteration:
      return std::string(label(Label::per_iteration, language));
    case Unit::window:
      return std::string(label(Label::per_window, language));
  }
  return "";
}

Label unit_heading(const Document& document) {
  constexpr std::array<Label, 3> kHeadings = {Label::step, Label::iteration, Label::window};
  return kHeadings[static_cast<std::size_t>(unit_of(document))];
}

Label time_heading(const Document& document) {
  constexpr std::array<Label, 3> kHeadings = {Label::where_step_goes, Label::where_iteration_goes,
                                              Label::where_window_goes};
  return kHeadings[static_cast<std::size_t>(unit_of(document))];
}

std::string step_text(const Document& document, Language language) {
  const StepTime& step = document.step_time;
  if (!step.mean_ms) return "";
  const bool chinese = language == Language::chinese;
  std::string text;
  // A recording of unknown cost leaves a band and no figure that deserves to be named.
  const bool estimated = step.undisturbed_ms && document.distortion.cost_ms;
  const std::string range = range_text(step.undisturbed_low_ms, step.undisturbed_high_ms, language);
  if (estimated) {
    text = fmt::format(fmt::runtime(label(Label::undisturbed_about, language)), duration_text(*step.undisturbed_ms),
                       range);
    text += chinese ? "；" : "; ";
  }
  text += fmt::format(fmt::runtime(label(Label::measured_value, language)), duration_text(*step.mean_ms));
  if (unit_of(document) != Unit::window) {
    const Label many = unit_of(document) == Unit::step ? Label::mean_of_steps : Label::mean_of_iterations;
    const std::string_view mean = label(step.count == 1 ? Label::of_one : many, language);
    std::string inner = fmt::format(fmt::runtime(mean), count_text(step.count));
    if (!(step.paced_by == "unknown") && !on_processor(document)) {
      inner += chinese ? "，" : ", ";
      inner += label(step.paced_by == "device" ? Label::paced_by_device : Label::paced_by_host, language);
    }
    text += chinese ? "（" + inner + "）" : " (" + inner + ")";
  }
  if (!estimated) text += std::string(chinese ? "；" : "; ") + std::string(label(Label::cost_unknown, language));
  return text;
}

std::string gain_text(const Gain& gain, const StepTime& step_time, Language language) {
  if (!gain.step_ms || !step_time.undisturbed_ms) {
    return gain.max_possible_speedup && *gain.max_possible_speedup > 1
               ? named(Label::upper_bound, language, speedup_text(*gain.max_possible_speedup))
               : std::string(label(Label::gain_unknown, language));
  }
  std::string text = duration_text(*step_time.undisturbed_ms) + " -> " + duration_text(*gain.step_ms) +
                     range_text(gain.step_low_ms, gain.step_high_ms, language);
  if (gain.speedup) text += ", " + speedup_text(*gain.speedup);
  text += ", ";
  text += label_named("basis_" + gain.basis.text, language);
  return text;
}

std::string plan_text(const PlanStep& step, const Document& document, Language language) {
  const Finding* finding = finding_of(document, step.finding_id);
  std::string text;
  if (step.expected_step_ms) {
    text = duration_text(*step.expected_step_ms) + " " + per_unit(document, language) +
           range_text(step.expected_step_low_ms, step.expected_step_high_ms, language);
    if (step.cumulative_speedup) text += ", " + speedup_text(*step.cumulative_speedup);
    if (finding != nullptr) text += ", " + std::string(label_named("basis_" + finding->gain.basis.text, language));
  } else if (finding != nullptr) {
    text = gain_text(finding->gain, document.step_time, language);
  } else {
    text = label(Label::gain_unknown, language);
  }
  if (finding != nullptr) text += ", " + std::string(sureness(finding->confidence, language));
  return text;
}

std::string health_text(const Document& document, bool ok, Language language) {
  std::string text;
  for (const Health& health : document.health) {
    if (!health.value || health.ok != ok) continue;
    // A share that rounds to its bound needs the digit that tells them apart.
    const bool close = percent_text(*health.value) == percent_text(health.bound) && *health.value != health.bound;
    const std::string share = close ? fmt::format("{:.1f} %", *health.value * 100) : percent_text(*health.value);
    const std::string_view name = health.measure == "kernel_share" && on_processor(document)
                                      ? label(Label::op_share, language)
                                      : label_named(health.measure, language);
    text +=
        fmt::format("{}{} {} ({} {})", text.empty() ? "" : ", ", name, share,
                    label(health.at_least ? Label::at_least : Label::at_most, language), percent_text(health.bound));
  }
  return text;
}

std::string input_text(const Document& document) {
  std::string text;
  for (const Input& input : document.inputs) {
    if (!text.empty()) text += "; ";
    text += input.file;
    if (input.rank) text += fmt::format(", rank {}", *input.rank);
    text += ", " + count_text(input.events) + " events";
  }
  for (const Rank& rank : document.job.ranks) {
    for (const Device& device : rank.devices) {
      if (device.name) text += ", " + *device.name;
    }
  }
  return text;
}

std::string memory_text(const MemoryDevice& device, Language language) {
  if (!device.peak) return "";
  const bool chinese = language == Language::chinese;
  const MemoryPeak& peak = *device.peak;
  const auto bytes = [](std::int64_t value) { return bytes_text(static_cast<double>(value)); };
  std::string text = fmt::format(fmt::runtime(chinese ? "设备 {}：峰值占用 {}" : "device {}: peak {} in use"),
                                 device.device, bytes(peak.allocated_bytes));
  std::string beside;
  if (peak.reserved_bytes)
    beside = fmt::format(fmt::runtime(chinese ? "已向驱动申请 {}" : "{} reserved"), bytes(*peak.reserved_bytes));
  if (device.total_bytes) {
    beside += fmt::format(fmt::runtime(chinese ? "{}显存共 {}" : "{}of {}"),
                          beside.empty() ? ""
                          : chinese      ? "，"
                                         : " ",
                          bytes(*device.total_bytes));
  }
  if (!beside.empty()) text += chinese ? "（" + beside + "）" : " (" + beside + ")";
  if (peak.step) text += fmt::format(fmt::runtime(chinese ? "，第 {} 步" : ", step {}"), *peak.step);
  if (peak.where) text += (chinese ? "，" : ", ") + location_text(*peak.where);
  if (!peak.categories) return text;
  std::vector<std::pair<std::int64_t, std::string>> parts;
  MemoryCategories::fields(*peak.categories, [&](std::string_view name, const MemoryCategory& part, std::string_view) {
    if (part.bytes > 0)
      parts.emplace_back(part.bytes, fmt::format("{} {}", label_named(name, language), bytes(part.bytes)));
  });
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string list;
  for (const auto& [size, part] : parts) list += (list.empty() ? "" : chinese ? "，" : ", ") + part;
  return text + (chinese ? "；" : "; ") + list;
}

PartTable part_table(const Document& document, Language language) {
  PartTable table;
  if (!document.time_breakdown || !document.time_breakdown_undisturbed) return table;
  const TimeParts& measured = *document.time_breakdown;
  const TimeParts& undisturbed = *document.time_breakdown_undisturbed;
  const Scale scale = scale_for(std::max(measured.window_ms, undisturbed.window_ms));
  const Column left = column_of(undisturbed, scale);
  const Column right = column_of(measured, scale);
  table.unit = scale.unit;
  table.of = document.breakdown.size() == 1
                 ? fmt::format("{} {}", label(Label::device, language), document.breakdown.front().device)
                 : named(Label::mean_of_devices, language, std::to_string(document.breakdown.size()));
  const auto undisturbed_ns = parts_ns(undisturbed);
  const auto measured_ns = parts_ns(measured);
  for (std::size_t i = 0; i < kGlyphs.size(); ++i) {
    const bool always = kGlyphs[i] == '#' || kGlyphs[i] == '.';
    if (!always && undisturbed_ns[i] == 0 && measured_ns[i] == 0) continue;
    table.rows.push_back({std::string(label(kPartLabels[i], language)), kGlyphs[i], false, left.parts[i],
                          left.part_shares[i], right.parts[i], right.part_shares[i]});
  }
  std::vector<std::string_view> names;
  IdleCauses::fields(measured.idle_causes,
                     [&](std::string_view name, double, std::string_view) { names.push_back(name); });
  const auto left_ns = causes_ns(undisturbed.idle_causes);
  const auto right_ns = causes_ns(measured.idle_causes);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < names.size(); ++i) {
    // A row of nothing but zeros as printed adds nothing to the sum.
    const bool nothing = left.causes[i] == scaled(0, scale) && right.causes[i] == scaled(0, scale);
    if (!nothing) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return left_ns[a] != left_ns[b] ? left_ns[a] > left_ns[b] : right_ns[a] > right_ns[b];
  });
  for (const std::size_t i : order) {
    table.rows.push_back({std::string(label_named(names[i], language)), ' ', true, left.causes[i], left.cause_shares[i],
                          right.causes[i], right.cause_shares[i]});
  }
  table.whole = {std::string(label(Label::whole, language)), ' ', false, left.whole, "100 %", right.whole, "100 %"};
  return table;
}

std::string bar_of(const TimeParts& parts, std::size_t columns) {
  const auto ns = parts_ns(parts);
  const std::int64_t whole = std::llround(parts.window_ms * 1e6);
  if (whole <= 0 || columns == 0) return "";
  // In units of one column: part * columns / whole, rounded so that the columns add up.
  std::array<std::int64_t, 4> scaled_parts{};
  for (std::size_t i = 0; i < ns.size(); ++i) {
    scaled_parts[i] = static_cast<std::int64_t>(static_cast<double>(ns[i]) * static_cast<double>(columns) * 1e6 /
                                                static_cast<double>(whole));
  }
  const auto widths = apportion(scaled_parts, 1'000'000, static_cast<std::int64_t>(columns));
  std::string bar;
  for (std::size_t i = 0; i < widths.size(); ++i)
    bar.append(static_cast<std::size_t>(std::max<std::int64_t>(widths[i], 0)), kGlyphs[i]);
  return bar;
}

}  // namespace accel::report
