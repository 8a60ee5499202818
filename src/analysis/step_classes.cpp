#include "analysis/step_classes.h"

#include <algorithm>
#include <vector>

#include "trace/processor.h"

namespace accel {
namespace {

// A first step is warm-up when it takes this much longer than the median of those that follow ...
constexpr double kSlowStart = 1.5;
// ... and shows work that is done once: this many more of its marks than those steps show on average.
constexpr std::uint32_t kOneTimeMarks = 3;
constexpr std::uint32_t kOneTimeKernels = 8;
// At least these many steps are left, and at most half of all are set aside: a job is what it does most of the time.
constexpr std::size_t kStepsLeft = 2;
// A slow step that copies this many tensors and this many bytes to the host, and far more than others, saves a state.
constexpr std::uint32_t kSavedTensors = 16;
constexpr std::int64_t kSavedBytes = 1 << 20;
constexpr double kSavedRatio = 8;

struct Shown {
  std::uint32_t one_time = 0;     // module loads, compilations, allocations by the driver
  std::uint32_t own_kernels = 0;  // names that no later step has
  std::uint32_t backward = 0;
  std::uint32_t optimizer = 0;
  std::uint32_t host_work = 0;  // of a job whose processor is the device: it launches nothing
  std::uint32_t checkpoint = 0;
  std::uint32_t copies_back = 0;
  std::int64_t bytes_back = 0;
};

void count_slices(const TraceStore& store, const EventIndex& index, const StepSegmentation& segmentation,
                  std::vector<Shown>& shown) {
  for (std::uint32_t row = 0; row < store.slices.size(); ++row) {
    const NameClass c = index.class_of(store, row);
    const bool one_time = c == NameClass::module_load || c == NameClass::compilation || c == NameClass::device_memory;
    if (!one_time && c != NameClass::backward && c != NameClass::optimizer_step && c != NameClass::checkpoint) continue;
    const std::int32_t step = segmentation.step_at(store.slices.start_ns[row]);
    if (step < 0) continue;
    Shown& own = shown[static_cast<std::size_t>(step)];
    if (one_time) ++own.one_time;
    if (c == NameClass::backward) ++own.backward;
    if (c == NameClass::optimizer_step) ++own.optimizer;
    if (c == NameClass::checkpoint) ++own.checkpoint;
  }
}

void count_device_events(const TraceStore& store, const StepSegmentation& segmentation, std::vector<Shown>& shown) {
  const DeviceEventTable& events = store.device_events;
  std::vector<std::int32_t> last_step(store.strings.size(), -1);
  std::vector<std::int32_t> steps(events.size(), -1);
  for (std::uint32_t row = 0; row < events.size(); ++row) {
    const SliceId launch = events.launch[row];
    if (!launch.valid()) continue;
    steps[row] = segmentation.step_at(store.slices.start_ns[launch.value]);
    if (steps[row] < 0) continue;
    std::int32_t& last = last_step[events.name[row].value];
    last = std::max(last, steps[row]);
  }
  const bool on_processor = runs_on_processor(store);
  std::vector<std::uint8_t> counted(store.strings.size(), 0);
  for (std::uint32_t row = 0; row < events.size(); ++row) {
    if (steps[row] < 0) continue;
    Shown& own = shown[static_cast<std::size_t>(steps[row])];
    if (on_processor) ++own.host_work;
    const std::uint32_t name = events.name[row].value;
    if (events.kind[row] == DeviceEventKind::kernel && last_step[name] == steps[row] && counted[name] == 0) {
      counted[name] = 1;
      ++own.own_kernels;
    }
    if (events.kind[row] != DeviceEventKind::memcpy || !events.detail[row].valid()) continue;
    const std::uint32_t detail = events.detail[row].value;
    if (store.copy_details.direction[detail] != CopyDirection::device_to_host) continue;
    ++own.copies_back;
    own.bytes_back += std::max<std::int64_t>(0, store.copy_details.bytes[detail]);
  }
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double median_duration(const StepSegmentation& segmentation, std::size_t from) {
  std::vector<double> durations;
  for (std::size_t k = from; k < segmentation.steps.size(); ++k)
    durations.push_back(static_cast<double>(segmentation.steps[k].host.length_ns()));
  return median_of(std::move(durations));
}

// The head of the capture whose steps are slow and show work that later steps do not.
void find_warm_up(const std::vector<Shown>& shown, StepSegmentation& segmentation) {
  const std::size_t count = segmentation.steps.size();
  if (count < kStepsLeft + 1) return;
  const std::size_t most = std::min(count - kStepsLeft, std::max<std::size_t>(1, count / 2));
  // The second half is what the first is compared with: one pass, however long the head is.
  const std::size_t half = std::min(count - 1, std::max<std::size_t>(most, count / 2));
  const double usual = median_duration(segmentation, half);
  double marks = 0;
  for (std::size_t k = half; k < count; ++k) marks += shown[k].one_time;
  marks /= static_cast<double>(count - half);
  for (std::size_t k = 0; k < most; ++k) {
    Step& step = segmentation.steps[k];
    if (!step.complete) continue;  // cut: how long it took is not known
    const bool slow = static_cast<double>(step.host.length_ns()) >= kSlowStart * usual;
    const bool once = shown[k].one_time >= 2 * marks + kOneTimeMarks || shown[k].own_kernels >= kOneTimeKernels;
    if (!slow || !once) return;
    step.step_class = StepClass::warmup;
  }
}

bool saves_state(const Shown& own, const Shown& usual, bool slow) {
  if (own.checkpoint > 0 && usual.checkpoint == 0) return true;
  return slow && own.copies_back >= usual.copies_back + kSavedTensors && own.bytes_back >= kSavedBytes &&
         static_cast<double>(own.bytes_back) >= kSavedRatio * static_cast<double>(usual.bytes_back);
}

}  // namespace

void classify_steps(const TraceStore& store, const EventIndex& index, StepSegmentation& segmentation) {
  const bool whole = segmentation.source == StepSource::whole_window;
  if (whole || segmentation.steps.size() < 2) return;
  std::vector<Shown> shown(segmentation.steps.size());
  count_slices(store, index, segmentation, shown);
  count_device_events(store, segmentation, shown);
  find_warm_up(shown, segmentation);

  // What most steps do: medians over the steps that do not warm up.
  std::vector<double> backward, checkpoint, copies, bytes, durations;
  bool any_optimizer = false;
  for (std::size_t k = 0; k < shown.size(); ++k) {
    if (segmentation.steps[k].step_class == StepClass::warmup) continue;
    backward.push_back(shown[k].backward);
    checkpoint.push_back(shown[k].checkpoint);
    copies.push_back(shown[k].copies_back);
    bytes.push_back(static_cast<double>(shown[k].bytes_back));
    durations.push_back(static_cast<double>(segmentation.steps[k].host.length_ns()));
    any_optimizer |= shown[k].optimizer > 0;
  }
  Shown usual;
  const double usual_backward = median_of(backward);
  usual.checkpoint = static_cast<std::uint32_t>(median_of(checkpoint));
  usual.copies_back = static_cast<std::uint32_t>(median_of(copies));
  usual.bytes_back = static_cast<std::int64_t>(median_of(bytes));
  const double usual_duration = median_of(durations);
  const bool optimizer_marks_steps = segmentation.source == StepSource::optimizer_step;
  for (std::size_t k = 0; k < shown.size(); ++k) {
    Step& step = segmentation.steps[k];
    if (step.step_class == StepClass::warmup) continue;
    const bool slow = static_cast<double>(step.host.length_ns()) >= kSlowStart * usual_duration;
    if (saves_state(shown[k], usual, slow)) {
      step.step_class = StepClass::checkpoint;
    } else if (shown[k].backward == 0 && usual_backward > 0 && (step.kernel_launches > 0 || shown[k].host_work > 0)) {
      step.step_class = StepClass::evaluation;
    } else if (any_optimizer && !optimizer_marks_steps && shown[k].backward > 0 && shown[k].optimizer == 0) {
      step.step_class = StepClass::accumulation;
    }
  }
}

}  // namespace accel
