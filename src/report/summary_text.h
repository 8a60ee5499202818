// What the readable reports (terminal, Markdown) say in words: figures with units, how sure a claim is, what an action
// promises, the parts of a step. Both take these texts from here, so that they cannot disagree. Texts may hold strings
// of the trace: the writer escapes them. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/document.h"
#include "report/labels.h"

namespace accel::report {

std::string duration_text(double ms);                 // 17.9 ms, 753 us, 12.3 s
std::string percent_text(double share);               // 88 %, 0.4 %
std::string speedup_text(double speedup);             // 8.1x
std::string count_text(std::uint64_t count);          // 1,204
std::string bytes_text(double bytes);                 // 805 MB
std::string evidence_text(const Evidence& evidence);  // launches per step: 741
std::string location_text(const Location& location);  // op aten::item, train.py:33, rank 2
std::string_view sureness(double confidence, Language language);

// One line about the step: undisturbed, as recorded, over how many, who sets the pace. Empty without a step time.
std::string step_text(const Document& document, Language language);
// 17.9 -> 2.2 ms a step (2.1 to 4.0), 8.1x (4.5x to 8.5x), estimated from a model
std::string gain_text(const Gain& gain, const StepTime& step_time, Language language);
// Likewise for a plan step: the step after it and everything before it.
std::string plan_text(const PlanStep& step, const Document& document, Language language);
// The shares that meet their bounds, or those that do not: kernels 12 % (at least 85 %), ... Empty when there are none.
std::string health_text(const Document& document, bool ok, Language language);
std::string input_text(const Document& document);
// The peak of a device's memory and what was alive at it, in one line. Empty when it was not measured.
std::string memory_text(const MemoryDevice& device, Language language);

// The rows of "where the time goes": parts of a step, then the causes of its idle time (indented), in both forms.
// Printed figures of the parts add up to the whole, and those of the causes to the idle row.
struct PartRow {
  std::string name;
  char glyph = ' ';  // in the bar; a blank for a cause
  bool is_cause = false;
  std::string undisturbed, undisturbed_share;
  std::string measured, measured_share;
};
struct PartTable {
  std::vector<PartRow> rows;
  PartRow whole;
  std::string unit;
  std::string of;  // "device 0", "mean of 2 devices"
};
PartTable part_table(const Document& document, Language language);

// `columns` glyphs that show the parts of a window; the parts' widths add up to it.
std::string bar_of(const TimeParts& parts, std::size_t columns);

// What the times are of: a training step, an iteration of something else, or the whole window.
enum class Unit { step, iteration, window };
Unit unit_of(const Document& document);
Label unit_heading(const Document& document);
std::string per_unit(const Document& document, Language language);  // "a step"
Label time_heading(const Document& document);

}  // namespace accel::report
