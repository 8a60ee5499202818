#include "analysis/step_graph/host_pace.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

namespace accel {
namespace {

// Fewer steps do not tell a slow one from quick ones.
constexpr std::size_t kFewestSteps = 3;
// Places that other steps have too hold at least this share of a step's short stretches, or nothing is said of it.
constexpr double kSameShare = 0.5;
// Without a recorder a step is usually as quick as the quicker ones of those recorded.
constexpr double kUsualQuantile = 0.25;

// A short stretch, and where: nodes of one thread inside slices of one name, in the order of time.
struct Stretch {
  std::uint32_t lane, name, step, node;
  double ns;
};

struct Sums {
  double own = 0;    // short stretches at places that most steps have
  double usual = 0;  // what the steps take there, in the mean
  double all = 0;
};

std::vector<Stretch> short_stretches(const TraceStore& store, const StepGraph& graph, std::vector<Sums>& sums) {
  std::vector<Stretch> stretches;
  stretches.reserve(graph.nodes.size());
  for (std::uint32_t s = 0; s < graph.steps.size(); ++s) {
    for (std::uint32_t i = graph.steps[s].first; i < graph.steps[s].last; ++i) {
      const HostNode& node = graph.nodes[i];
      const std::uint32_t name = node.slice.valid() ? store.slices.name[node.slice.value].value : HostNode::kNone;
      const auto ns = static_cast<double>(std::min(node.work_ns, kShortStretchNs));
      stretches.push_back({node.lane, name, s, i, ns});
      sums[s].all += ns;
    }
  }
  std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) {
    return std::tie(a.lane, a.name, a.step, a.node) < std::tie(b.lane, b.name, b.step, b.node);
  });
  return stretches;
}

// Of one thread and name: the n-th of a step is at the same place as the n-th of another.
void add_places(const std::vector<Stretch>& stretches, std::size_t first, std::size_t last, std::vector<Sums>& sums) {
  std::vector<std::pair<std::size_t, std::size_t>> of_step;
  for (std::size_t i = first; i < last;) {
    const std::size_t begin = i;
    while (i < last && stretches[i].step == stretches[begin].step) ++i;
    of_step.emplace_back(begin, i);
  }
  for (std::size_t n = 0;; ++n) {
    std::erase_if(of_step, [n](const auto& range) { return range.second - range.first <= n; });
    if (2 * of_step.size() <= sums.size()) return;
    double mean = 0;
    for (const auto& range : of_step) mean += stretches[range.first + n].ns;
    mean /= static_cast<double>(of_step.size());
    for (const auto& range : of_step) {
      Sums& sum = sums[stretches[range.first].step];
      sum.own += stretches[range.first + n].ns;
      sum.usual += mean;
    }
  }
}

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

void measure_host_pace(const TraceStore& store, StepGraph& graph) {
  if (graph.steps.size() < kFewestSteps) return;
  std::vector<Sums> sums(graph.steps.size());
  const std::vector<Stretch> stretches = short_stretches(store, graph, sums);
  for (std::size_t i = 0; i < stretches.size();) {
    const std::size_t first = i;
    while (i < stretches.size() && stretches[i].lane == stretches[first].lane &&
           stretches[i].name == stretches[first].name)
      ++i;
    add_places(stretches, first, i, sums);
  }
  const auto told = [](const Sums& sum) { return sum.usual > 0 && sum.own >= kSameShare * sum.all; };
  std::vector<double> slowness;
  for (const Sums& sum : sums)
    if (told(sum)) slowness.push_back(sum.own / sum.usual);
  if (slowness.size() < kFewestSteps) return;
  std::sort(slowness.begin(), slowness.end());
  const double usual = quantile(slowness, kUsualQuantile);
  for (std::size_t s = 0; s < sums.size(); ++s)
    if (told(sums[s])) graph.steps[s].pace = std::min(1.0, usual * sums[s].usual / sums[s].own);
}

}  // namespace accel
