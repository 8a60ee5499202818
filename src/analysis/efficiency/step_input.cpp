#include "analysis/efficiency/step_input.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/event_index.h"
#include "analysis/step_segmentation.h"

namespace accel {
namespace {

using Shape = std::vector<std::int64_t>;

// Ops whose inputs say what a dimension means; bits of what an argument list was used for.
constexpr std::uint8_t kEmbedding = 1;    // reads numbers of tokens: weight, indices
constexpr std::uint8_t kConvolution = 2;  // batch first by definition
constexpr std::uint8_t kOther = 4;

// The first `most` tensors of a recorded list of dimensions: `[[64, 3], [], [64]]`. A list of tensors inside the list
// counts as no tensor.
std::vector<Shape> shapes_in(std::string_view text, std::size_t most) {
  std::vector<Shape> shapes;
  std::size_t at = text.find('[');
  if (at == std::string_view::npos) return shapes;
  for (++at; at < text.size() && shapes.size() < most;) {
    if (text[at] != '[') {
      if (text[at] == ']') break;
      ++at;
      continue;
    }
    const std::size_t end = text.find(']', at);
    if (end == std::string_view::npos) break;
    Shape shape;
    for (std::size_t k = at + 1; k < end;) {
      std::int64_t value = 0;
      const auto [stopped, error] = std::from_chars(text.data() + k, text.data() + end, value);
      if (error == std::errc() && value >= 0) {
        shape.push_back(value);
        k = static_cast<std::size_t>(stopped - text.data());
      } else {
        ++k;
      }
    }
    shapes.push_back(std::move(shape));
    at = end + 1;
  }
  return shapes;
}

std::uint8_t use_of(std::string_view name) {
  if (name == "aten::embedding") return kEmbedding;
  if (name.starts_with("aten::conv") && name.find("backward") == std::string_view::npos) return kConvolution;
  return kOther;
}

std::string text_of(const Shape& shape) {
  std::string text = "[";
  for (std::size_t k = 0; k < shape.size(); ++k) text += (k == 0 ? "" : ", ") + std::to_string(shape[k]);
  return text + "]";
}

// One time that a step reads its input.
struct Reading {
  std::uint32_t step;
  std::int64_t time_ns;
  Shape shape;
  SliceId op;
};

class Finder {
 public:
  Finder(const TraceStore& store, const AnalysisResults& results)
      : store_(store), index_(*results.event_index), segmentation_(*results.step_segmentation) {}

  StepInput find() {
    if (segmentation_.complete_count == 0 || segmentation_.source == StepSource::whole_window)
      return unknown("the capture holds no complete step");
    look_at_ops();
    look_at_shapes();
    if (!any_shapes_) return unknown("shapes were not recorded; record with record_shapes=True, or state the number");
    std::vector<Reading> readings = copies();
    const bool copied = !readings.empty();
    if (!copied) readings = first_ops();
    if (readings.empty()) return unknown("no op shows the input of the step; state the number");
    return judge(readings, copied);
  }

 private:
  static StepInput unknown(const std::string& reason) {
    StepInput input;
    input.samples_basis = input.tokens_basis = reason;
    return input;
  }

  std::optional<ArgsId> args_of(SliceId op) const {
    if (!op.valid() || store_.slices.kind[op.value] != SliceKind::op) return std::nullopt;
    const DetailId detail = store_.slices.detail[op.value];
    if (!detail.valid() || !store_.op_details.args[detail.value].valid()) return std::nullopt;
    const ArgsId args = store_.op_details.args[detail.value];
    const StringId dims = store_.op_args.dims[args.value];
    return dims.valid() && dims.value != 0 ? std::optional<ArgsId>(args) : std::nullopt;
  }

  std::int32_t complete_step_at(std::int64_t time_ns) const {
    const std::int32_t step = segmentation_.step_at(time_ns);
    return step >= 0 && segmentation_.steps[static_cast<std::size_t>(step)].complete ? step : -1;
  }

  // What the argument lists of the steps' ops were used for, the first reader of each step, and backward nodes.
  void look_at_ops() {
    use_.assign(store_.op_args.size(), 0);
    std::vector<std::uint8_t> use_of_name(store_.strings.size(), 0);
    for (std::uint32_t i = 0; i < store_.slices.size(); ++i) {
      if (store_.slices.kind[i] != SliceKind::op) continue;
      const NameClass name_class = index_.class_of(store_, i);
      const std::int64_t start = store_.slices.start_ns[i];
      if (name_class == NameClass::backward) {
        backward_.push_back(start);
        continue;
      }
      const std::optional<ArgsId> args = args_of(SliceId(i));
      if (!args) continue;
      const std::int32_t step = complete_step_at(start);
      if (step < 0) continue;
      any_shapes_ = true;
      std::uint8_t& use = use_of_name[store_.slices.name[i].value];
      if (use == 0) use = use_of(store_.text(store_.slices.name[i]));
      use_[args->value] |= use;
      if (use != kOther && store_.slices.thread[i] == index_.main_thread)
        readers_.emplace_back(static_cast<std::uint32_t>(step), SliceId(i));
    }
    std::sort(backward_.begin(), backward_.end());
  }

  // What the argument lists say of shapes, each list once.
  void look_at_shapes() {
    for (std::uint32_t a = 0; a < use_.size(); ++a) {
      if (use_[a] == 0) continue;
      const std::vector<Shape> shapes = shapes_in(store_.text(store_.op_args.dims[a]), 4);
      if ((use_[a] & kEmbedding) != 0 && shapes.size() > 1) indices_.insert(shapes[1]);
      if ((use_[a] & kConvolution) != 0 && !shapes.empty()) images_.insert(shapes[0]);
      for (const Shape& shape : shapes) {
        if (shape.size() == 4) first_and_third_.emplace(shape[0], shape[2]);
      }
    }
  }

  // Copies to the device whose op names a shape with dimensions, in the order of their launches.
  std::vector<Reading> copies() const {
    std::vector<Reading> list;
    for (std::size_t e = 0; e < store_.device_events.size(); ++e) {
      if (store_.device_events.kind[e] != DeviceEventKind::memcpy) continue;
      const DetailId detail = store_.device_events.detail[e];
      if (!detail.valid() || store_.copy_details.direction[detail.value] != CopyDirection::host_to_device) continue;
      const std::int32_t step = segmentation_.step_of_device_event[e];
      const SliceId launch = store_.device_events.launch[e];
      if (step < 0 || !launch.valid() || !segmentation_.steps[static_cast<std::size_t>(step)].complete) continue;
      const SliceId op = store_.enclosing_op(launch);
      const std::optional<ArgsId> args = args_of(op);
      if (!args) continue;
      std::vector<Shape> shapes = shapes_in(store_.text(store_.op_args.dims[args->value]), 1);
      if (shapes.empty() || shapes[0].empty()) continue;
      list.push_back(
          {static_cast<std::uint32_t>(step), store_.slices.start_ns[launch.value], std::move(shapes[0]), op});
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const Reading& a, const Reading& b) { return a.time_ns < b.time_ns; });
    return list;
  }

  std::vector<Reading> first_ops() const {
    std::vector<Reading> list;
    std::optional<ArgsId> first;
    for (const auto& [step, op] : readers_) {
      const std::optional<ArgsId> args = args_of(op);
      if (list.empty() || list.back().step != step) first = args;
      if (!args || args->value != first->value) continue;
      const std::uint8_t use = use_of(store_.text(store_.slices.name[op.value]));
      const std::vector<Shape> shapes = shapes_in(store_.text(store_.op_args.dims[args->value]), 2);
      const std::size_t input = use == kEmbedding ? 1 : 0;
      if (shapes.size() <= input || shapes[input].empty()) continue;
      list.push_back({step, store_.slices.start_ns[op.value], shapes[input], op});
    }
    return list;
  }

  bool backward_between(std::int64_t from_ns, std::int64_t to_ns) const {
    const auto at = std::upper_bound(backward_.begin(), backward_.end(), from_ns);
    return at != backward_.end() && *at < to_ns;
  }

  // What the ops of the steps say of an input of this shape.
  struct Meaning {
    bool indices = false;       // an embedding reads it
    bool image = false;         // a convolution reads it
    bool first_leads = false;   // its first dimension is the batch of attention
    bool second_leads = false;  // its second one
  };
  Meaning meaning_of(const Shape& shape) const {
    Meaning meaning;
    meaning.indices = indices_.count(shape) != 0;
    meaning.image = images_.count(shape) != 0;
    if (shape.size() != 2) return meaning;
    // Attention: batch, heads, sequence, width.
    meaning.first_leads = first_and_third_.count({shape[0], shape[1]}) != 0;
    meaning.second_leads = first_and_third_.count({shape[1], shape[0]}) != 0;
    return meaning;
  }

  StepInput judge(const std::vector<Reading>& readings, bool copied) const {
    struct Sum {
      std::uint32_t step;
      Shape shape;
      std::int64_t last_ns;
      ThreadIndex thread;
      int parts;
      bool label;  // a copy of the leading dimension alone comes with it
    };
    std::vector<Sum> sums;
    for (const Reading& reading : readings) {
      const ThreadIndex thread = store_.slices.thread[reading.op.value];
      if (sums.empty() || sums.back().step != reading.step) {
        sums.push_back({reading.step, reading.shape, reading.time_ns, thread, 1, false});
        continue;
      }
      Sum& sum = sums.back();
      sum.label |= reading.shape.size() == 1 && reading.shape[0] == sum.shape[0];
      // What another thread copies back in backward (offloaded activations) is no further part.
      if (reading.shape != sum.shape || thread != sum.thread) continue;
      sum.parts += backward_between(sum.last_ns, reading.time_ns) ? 1 : 0;
      sum.last_ns = reading.time_ns;
    }
    if (sums.size() != segmentation_.complete_count)
      return unknown("not every step reads an input that the recording shows; state the number");

    StepInput input;
    input.example = readings.front().op;
    double samples = 0, tokens = 0;
    bool samples_known = true, tokens_known = true;
    Meaning meaning;
    for (std::size_t k = 0; k < sums.size(); ++k) {
      const Sum& sum = sums[k];
      if (k == 0 || sum.shape != sums[k - 1].shape) meaning = meaning_of(sum.shape);
      double elements = 1;
      for (const std::int64_t size : sum.shape) elements *= static_cast<double>(size);
      const bool sequences = meaning.indices && sum.shape.size() == 2 && (meaning.first_leads || meaning.second_leads);
      const bool image = meaning.image && sum.shape.size() >= 3;
      const bool labelled = copied && sum.label && sum.shape.size() > 1;
      if (image || labelled || (sequences && meaning.first_leads)) {
        samples += sum.parts * static_cast<double>(sum.shape[0]);
      } else if (sequences) {
        samples += sum.parts * static_cast<double>(sum.shape[1]);
      } else {
        samples_known = false;
      }
      if (sequences) tokens += sum.parts * elements;
      tokens_known &= sequences;
    }
    const auto steps = static_cast<double>(sums.size());
    const std::string shape = text_of(sums.front().shape);
    const std::string where =
        copied ? "the first copy to the device in a step, " + shape : "what the first op of a step reads, " + shape;
    if (samples_known) input.samples = samples / steps;
    if (tokens_known) input.tokens = tokens / steps;
    input.samples_basis = samples_known
                              ? "batch dimension of " + where
                              : "no op confirms which dimension of " + where + ", counts samples; state the number";
    input.tokens_basis = tokens_known ? "elements of " + where + ", which an embedding reads"
                                      : where + ", is not shown to be a batch of sequences; state the number";
    return input;
  }

  const TraceStore& store_;
  const EventIndex& index_;
  const StepSegmentation& segmentation_;
  std::vector<std::uint8_t> use_;                           // by ArgsId
  std::vector<std::pair<std::uint32_t, SliceId>> readers_;  // by step, in order
  std::set<Shape> indices_;
  std::set<Shape> images_;
  std::set<std::pair<std::int64_t, std::int64_t>> first_and_third_;
  std::vector<std::int64_t> backward_;
  bool any_shapes_ = false;
};

}  // namespace

StepInput find_step_input(const TraceStore& store, const AnalysisResults& results) {
  return Finder(store, results).find();
}

}  // namespace accel
