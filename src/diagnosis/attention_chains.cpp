#include "diagnosis/attention_chains.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/efficiency/efficiency.h"
#include "analysis/step_segmentation.h"
#include "base/ascii.h"
#include "diagnosis/facts.h"

namespace accel {
namespace {

// Kernels between a product and the softmax: scale, mask, casts, dropout, copies.
constexpr std::size_t kFarthest = 16;
// A second product of the backward pass follows at once, or after a copy.
constexpr std::size_t kNext = 3;
// Fused kernels compute the scores again in the backward pass: five products where written-out code has four.
constexpr double kBackwardWork = 1.25;

enum class Part : std::uint8_t { other, product, softmax, softmax_backward, mask, barrier };

struct Item {
  Part part = Part::other;
  std::uint32_t event = 0;
  SliceId owner;
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Part part_of(std::string_view name) {
  const std::string text = ascii_lower(name.substr(0, 300));
  if (has(text, "log_softmax") || has(text, "logsoftmax")) return Part::barrier;
  if (has(text, "softmax")) return has(text, "backward") ? Part::softmax_backward : Part::softmax;
  if (has(text, "bmm")) return Part::product;
  if (has(text, "masked_fill") || has(text, "where") || has(text, "tril") || has(text, "triu")) return Part::mask;
  for (const std::string_view barrier :
       {"aten::mm", "addmm", "_attention", "convolution", "aten::linear", "_scaled_mm"}) {
    if (has(text, barrier)) return Part::barrier;
  }
  return Part::other;
}

// By the op that a kernel works for; by its own name where no op is known.
class Parts {
 public:
  explicit Parts(const TraceStore& store) : store_(store), of_name_(store.strings.size()) {}

  Part of(SliceId owner, StringId kernel) {
    const StringId name = owner.valid() ? store_.slices.name[owner.value] : kernel;
    std::optional<Part>& known = of_name_[name.value];
    if (!known) known = part_of(store_.text(name));
    return *known;
  }

 private:
  const TraceStore& store_;
  std::vector<std::optional<Part>> of_name_;
};

std::vector<Item> kernels_in_order(const DiagnosisInput& input) {
  const TraceStore& store = input.store;
  const StepSegmentation& segmentation = *input.results.step_segmentation;
  Parts parts(store);
  std::vector<Item> items;
  for (const TraceStore::DeviceRange& range : store.device_ranges) {
    if (range.device != input.facts.view.device) continue;
    for (std::uint32_t i = range.first; i < range.last; ++i) {
      const std::int32_t step = segmentation.step_of_device_event[i];
      if (step < 0 || !segmentation.steps[static_cast<std::size_t>(step)].complete) continue;
      if (store.device_events.dur_ns[i] <= 0) continue;
      if (store.device_events.kind[i] != DeviceEventKind::kernel) {
        items.push_back({Part::other, i, {}});
        continue;
      }
      const SliceId owner = input.results.efficiency->owner_of_event[i];
      items.push_back({parts.of(owner, store.device_events.name[i]), i, owner});
    }
  }
  return items;
}

// Index of the next product in one direction, with no dense layer before it.
std::optional<std::size_t> nearest_product(const std::vector<Item>& items, std::size_t from, int direction,
                                           std::size_t farthest) {
  std::size_t at = from;
  for (std::size_t distance = 0; distance < farthest; ++distance) {
    if (direction < 0 ? at == 0 : at + 1 >= items.size()) return std::nullopt;
    at = direction < 0 ? at - 1 : at + 1;
    const Part part = items[at].part;
    if (part == Part::product) return at;
    if (part == Part::barrier || part == Part::softmax || part == Part::softmax_backward) return std::nullopt;
  }
  return std::nullopt;
}

class Sum {
 public:
  Sum(const DiagnosisInput& input, const std::vector<Item>& items) : input_(input), items_(items) {}

  void add(std::size_t first, std::size_t last, std::size_t softmax) {
    const TraceStore& store = input_.store;
    const bool backward = items_[softmax].part == Part::softmax_backward;
    (backward ? chains_.backward_count : chains_.forward_count) += 1;
    SliceId counted;
    for (std::size_t i = first; i <= last; ++i) {
      const Item& item = items_[i];
      const double ns = static_cast<double>(store.device_events.dur_ns[item.event]);
      if (store.device_events.kind[item.event] != DeviceEventKind::kernel) {
        chains_.copy_ns += ns;
        continue;
      }
      chains_.ns += ns;
      chains_.kernels += 1;
      chains_.masked = chains_.masked || item.part == Part::mask;
      if (item.part != Part::product) continue;
      chains_.product_ns += ns;
      if (item.owner == counted) continue;  // a second kernel of the same product
      counted = item.owner;
      const OpWork work = work_of_call(item.owner);
      if (chains_.type == TensorType::unknown) chains_.type = work.type;
      if (work.flops) {
        chains_.fused_flops += *work.flops * (backward ? kBackwardWork : 1);
      } else {
        unknown_ = true;
      }
    }
    if (chains_.example.valid() || backward) return;
    chains_.example = DeviceEventId(items_[softmax].event);
    chains_.softmax = items_[softmax].owner;
    chains_.product = items_[first].owner;
    const OpWork work = work_of_call(items_[first].owner);
    chains_.score_bytes = work.batch * work.m * work.n * bytes_of(work.type);
  }

  AttentionChains per_step(double steps) {
    if (unknown_) chains_.fused_flops = 0;
    for (double* value : {&chains_.forward_count, &chains_.backward_count, &chains_.ns, &chains_.copy_ns,
                          &chains_.product_ns, &chains_.kernels, &chains_.fused_flops})
      *value /= steps;
    return chains_;
  }

 private:
  OpWork work_of_call(SliceId call) {
    if (!call.valid() || !input_.store.slices.detail[call.value].valid()) return {};
    const ArgsId args = input_.store.op_details.args[input_.store.slices.detail[call.value].value];
    if (!args.valid()) return {};
    const StringId name = input_.store.slices.name[call.value];
    const auto [at, added] = known_.try_emplace({name, args});
    if (added) at->second = work_of(input_.store.text(name), read_inputs(input_.store, args));
    return at->second;
  }

  const DiagnosisInput& input_;
  const std::vector<Item>& items_;
  std::map<std::pair<StringId, ArgsId>, OpWork> known_;
  AttentionChains chains_;
  bool unknown_ = false;
};

}  // namespace

AttentionChains find_attention_chains(const DiagnosisInput& input) {
  if (!input.results.efficiency || !input.results.step_segmentation) return {};
  const double steps = input.results.step_segmentation->complete_count;
  if (steps <= 0) return {};
  const std::vector<Item> items = kernels_in_order(input);
  Sum sum(input, items);
  std::size_t free_from = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool backward = items[i].part == Part::softmax_backward;
    if ((items[i].part != Part::softmax && !backward) || i < free_from) continue;
    auto first = nearest_product(items, i, -1, kFarthest);
    auto last = nearest_product(items, i, +1, kFarthest);
    if (!first || !last || *first < free_from) continue;
    if (backward) {
      const auto earlier = nearest_product(items, *first, -1, kNext);
      if (earlier && *earlier >= free_from) first = earlier;
      const auto later = nearest_product(items, *last, +1, kNext);
      if (later) last = later;
    }
    sum.add(*first, *last, i);
    free_from = *last + 1;
  }
  return sum.per_step(steps);
}

}  // namespace accel
