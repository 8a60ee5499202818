// Transformation: one change to a step that can be tried on its dependency graph before anybody makes it: "remove the
// synchronisations", "data arrives in time", "these kernels take 40 % of their time". Transformations compose: a list
// is applied in order and the step is replayed once. Plain values; parsed from the command line by
// parse_transformations().
//
// How a rule uses them: it sets Finding::remedies to what its action means, for example
//   finding.remedies = {remedy(TransformationKind::data_ready)};
//   finding.remedies = {remedy(TransformationKind::no_host, {"record.py(180): extra"})};
//   finding.remedies = {scale({"sgemm", "ampere_sgemm"}, {.expected = 0.15, .best = 0.08, .worst = 0.30})};
// and the engine replays the undisturbed step with them and fills the gain (basis: replay), its band and the plan. The
// rule's own model of the gain stays where no replay is possible. `share` is what is left of the time of everything
// that the transformation acts on: 0 removes it, 1 changes nothing; best and worst make the band. A rule that knows how
// good the replacement is (another kernel, a fused one) says so in it; the defaults below are for the rest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace accel {

enum class TransformationKind : std::uint8_t {
  no_sync,       // calls that wait for the device return at once
  data_ready,    // fetching a batch takes no time
  pin_overlap,   // copies from and to the host no longer block the host, run at the speed of pinned memory, beside
                 // kernels
  graph,         // the launches of a step become one call
  fuse,          // runs of element-wise kernels become one kernel each
  roofline,      // kernels take the time of the roofline at an efficiency that others of this capture reach
  no_alloc,      // calls that allocate and free device memory take no time and do not wait
  no_host,       // host time of what matches goes away
  overlap_comm,  // communication runs beside the kernels that follow it
  scale,         // host and device time of what matches is multiplied by a factor
  checkpoint,    // the forward of what matches runs again in the backward
};
inline constexpr std::size_t kTransformationKinds = 11;

// What is left of the time that a transformation acts on.
struct RemainingShare {
  double expected = 0;
  double best = 0;
  double worst = 0;
};

struct Transformation {
  TransformationKind kind = TransformationKind::no_sync;
  // Parts of names: of a kernel, or of an op, range, frame or call that launched it or encloses it. Any of them is
  // enough; none at all = everything that the kind acts on.
  std::vector<std::string> patterns;
  RemainingShare share;
  // fuse: shorter runs stay as they are. From a run of so many kernels of one formula the host time between its
  // launches goes away too; with the usual 2, that of the ops alone.
  std::uint32_t shortest_run = 2;
};

struct TransformationDescriptor {
  TransformationKind kind;
  std::string_view name;
  enum class Arguments : std::uint8_t { none, pattern_optional, pattern, pattern_and_factor } arguments;
  std::string_view meaning;
  std::string_view example;
  RemainingShare share;  // where nobody says otherwise
};

// In the order of TransformationKind.
std::span<const TransformationDescriptor> transformation_kinds();
const TransformationDescriptor& describe(TransformationKind kind);

// With the usual share of its kind.
Transformation remedy(TransformationKind kind, std::vector<std::string> patterns = {});
Transformation scale(std::vector<std::string> patterns, RemainingShare share);

// "no_sync;scale(aten::mm, 0.5);no_host(collate)". Blanks around parts do not count; a pattern may hold commas and
// brackets; alternatives are separated by |. An error names the part and lists what there is.
Result<std::vector<Transformation>> parse_transformations(std::string_view text);

// The text that parse_transformations() reads.
std::string to_string(const Transformation& transformation);
std::string to_string(std::span<const Transformation> transformations);

}  // namespace accel
