#include "analysis/transformation.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace accel {
namespace {

using Arguments = TransformationDescriptor::Arguments;

// A graph by hand leaves next to nothing of the launching; compiling the model alone, or a graph of a part of the step,
// about a twentieth. A chain of element-wise kernels that is fused reads and writes memory once or, where others need
// the values between, twice.
constexpr TransformationDescriptor kKinds[] = {
    {TransformationKind::no_sync,
     "no_sync",
     Arguments::pattern_optional,
     "calls that wait for the device return at once",
     "no_sync(aten::item)",
     {0, 0, 0}},
    {TransformationKind::data_ready,
     "data_ready",
     Arguments::none,
     "the next batch is always there",
     "data_ready",
     {0, 0, 0}},
    {TransformationKind::pin_overlap,
     "pin_overlap",
     Arguments::none,
     "copies between host and device come from pinned memory and run beside the kernels",
     "pin_overlap",
     {0, 0, 0}},
    {TransformationKind::graph,
     "graph",
     Arguments::pattern_optional,
     "all launches become one call of a CUDA graph",
     "graph(forward)",
     {0, 0, 0.05}},
    {TransformationKind::fuse,
     "fuse",
     Arguments::pattern_optional,
     "each run of element-wise kernels becomes one kernel",
     "fuse(optimizer)",
     {0, 0, 0.5}},
    {TransformationKind::roofline,
     "roofline",
     Arguments::pattern,
     "these kernels reach the efficiency that the better ones of the capture reach",
     "roofline(aten::mm)",
     {0, 0, 0}},
    {TransformationKind::no_alloc,
     "no_alloc",
     Arguments::none,
     "device memory is never allocated or freed by the driver",
     "no_alloc",
     {0, 0, 0}},
    {TransformationKind::no_host,
     "no_host",
     Arguments::pattern,
     "host time of what matches goes away",
     "no_host(collate)",
     {0, 0, 0}},
    {TransformationKind::overlap_comm,
     "overlap_comm",
     Arguments::pattern_optional,
     "communication runs beside the kernels that follow it",
     "overlap_comm",
     {0, 0, 0}},
    {TransformationKind::scale,
     "scale",
     Arguments::pattern_and_factor,
     "host and device time of what matches is multiplied",
     "scale(attention, 0.4)",
     {1, 1, 1}},
    {TransformationKind::checkpoint,
     "checkpoint",
     Arguments::pattern,
     "what matches runs again in the backward instead of keeping its activations",
     "checkpoint(layer)",
     {0, 0, 0}},
};
static_assert(std::size(kKinds) == kTransformationKinds);

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto at = text.find(separator);
    const std::string_view part = trimmed(text.substr(0, at));
    if (!part.empty()) parts.emplace_back(part);
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// Splits at semicolons outside of brackets: names of kernels hold brackets, and some hold semicolons.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') depth = std::max(0, depth - 1);
    if (i < text.size() && (text[i] != ';' || depth > 0)) continue;
    if (const auto part = trimmed(text.substr(from, i - from)); !part.empty()) parts.push_back(part);
    from = i + 1;
  }
  return parts;
}

std::string form_of(const TransformationDescriptor& kind) {
  switch (kind.arguments) {
    case Arguments::none:
      return std::string(kind.name);
    case Arguments::pattern_optional:
      return fmt::format("{0} or {0}(NAME)", kind.name);
    case Arguments::pattern:
      return fmt::format("{}(NAME)", kind.name);
    case Arguments::pattern_and_factor:
      return fmt::format("{}(NAME, FACTOR)", kind.name);
  }
  return std::string(kind.name);
}

Error wrong(std::string_view part, std::string_view why) {
  std::string known;
  for (const TransformationDescriptor& kind : kKinds) known += (known.empty() ? "" : ", ") + form_of(kind);
  return {ErrorCode::invalid_argument, fmt::format("'{}' {}; there are: {}", part, why, known), "--what-if"};
}

// The largest factor that is read: beyond it a step is no longer one.
constexpr double kLargestFactor = 1000;

Result<Transformation> parse_one(std::string_view part) {
  const auto open = part.find('(');
  const std::string_view name = trimmed(part.substr(0, open));
  const auto kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& known) { return known.name == name; });
  if (kind == std::end(kKinds)) return wrong(part, "is no transformation");
  std::string_view arguments;
  if (open != std::string_view::npos) {
    if (part.back() != ')') return wrong(part, "lacks its closing bracket");
    arguments = trimmed(part.substr(open + 1, part.size() - open - 2));
  }
  Transformation made = remedy(kind->kind);
  if (kind->arguments == Arguments::pattern_and_factor) {
    const auto comma = arguments.rfind(',');
    const std::string_view number = comma == std::string_view::npos ? "" : trimmed(arguments.substr(comma + 1));
    double factor = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), factor);
    if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(factor))
      return wrong(part, "needs a name and a factor");
    if (factor < 0 || factor > kLargestFactor) return wrong(part, "has a factor that is not between 0 and 1000");
    made.share = {factor, factor, factor};
    arguments = arguments.substr(0, comma);
  }
  made.patterns = split(arguments, '|');
  if (kind->arguments == Arguments::none && !made.patterns.empty()) return wrong(part, "takes no name");
  if (kind->arguments >= Arguments::pattern && made.patterns.empty()) return wrong(part, "needs a name");
  return made;
}

}  // namespace

std::span<const TransformationDescriptor> transformation_kinds() { return kKinds; }

const TransformationDescriptor& describe(TransformationKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

Transformation remedy(TransformationKind kind, std::vector<std::string> patterns) {
  return {kind, std::move(patterns), describe(kind).share};
}

Transformation scale(std::vector<std::string> patterns, RemainingShare share) {
  return {TransformationKind::scale, std::move(patterns), share};
}

Result<std::vector<Transformation>> parse_transformations(std::string_view text) {
  std::vector<Transformation> all;
  for (const std::string_view part : parts_of(text)) {
    auto one = parse_one(part);
    if (!one) return one.error();
    all.push_back(std::move(*one));
  }
  if (all.empty()) return wrong(text, "names no transformation");
  return all;
}

std::string to_string(const Transformation& transformation) {
  const TransformationDescriptor& kind = describe(transformation.kind);
  if (transformation.patterns.empty()) return std::string(kind.name);
  const std::string patterns = fmt::format("{}", fmt::join(transformation.patterns, "|"));
  if (kind.arguments != Arguments::pattern_and_factor) return fmt::format("{}({})", kind.name, patterns);
  return fmt::format("{}({}, {:.4g})", kind.name, patterns, transformation.share.expected);
}

std::string to_string(std::span<const Transformation> transformations) {
  std::string text;
  for (const Transformation& one : transformations) text += (text.empty() ? "" : ";") + to_string(one);
  return text;
}

}  // namespace accel
