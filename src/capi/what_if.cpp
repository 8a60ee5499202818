// The public face of the replay: the changes as text, parsed by the parser of the command line.
#include "accel/profiler/what_if.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/distortion.h"
#include "analysis/step_segmentation.h"
#include "analysis/transformation.h"
#include "analysis/what_if/predictor.h"
#include "analysis/what_if/what_if.h"
#include "ingest/importer.h"

namespace accel::profiler::what_if {
namespace {

Change named(std::string_view kind, std::string_view name) {
  return Change(name.empty() ? std::string(kind) : fmt::format("{}({})", kind, name));
}

std::string sentence(const Error& error) {
  return error.where.empty() ? error.message : fmt::format("{}: {}", error.where, error.message);
}

}  // namespace

Change no_sync(std::string_view name) { return named("no_sync", name); }
Change data_ready() { return named("data_ready", {}); }
Change pin_overlap() { return named("pin_overlap", {}); }
Change graph(std::string_view name) { return named("graph", name); }
Change fuse(std::string_view name) { return named("fuse", name); }
Change roofline(std::string_view name) { return named("roofline", name); }
Change no_alloc() { return named("no_alloc", {}); }
Change no_host(std::string_view name) { return named("no_host", name); }
Change overlap_comm(std::string_view name) { return named("overlap_comm", name); }
Change scale(std::string_view name, double factor) { return Change(fmt::format("scale({}, {})", name, factor)); }
Change checkpoint(std::string_view name) { return named("checkpoint", name); }

struct Capture::State {
  std::string error;
  TraceStore store;
  AnalysisResults results;
  std::optional<Predictor> predictor;
};

Capture::Capture(std::unique_ptr<State> state) : state_(std::move(state)) {}
Capture::Capture(Capture&&) noexcept = default;
Capture& Capture::operator=(Capture&&) noexcept = default;
Capture::~Capture() = default;

Capture Capture::open(const std::string& path, unsigned threads) {
  auto state = std::make_unique<State>();
  ImportOptions import;
  import.threads = threads;
  auto store = import_trace(path, import);
  if (!store) {
    state->error = sentence(store.error());
    return Capture(std::move(state));
  }
  state->store = std::move(*store);
  AnalysisOptions options;
  options.threads = threads;
  auto results = run_analyses(state->store, options);
  if (!results) {
    state->error = sentence(results.error());
    return Capture(std::move(state));
  }
  state->results = std::move(*results);
  state->predictor.emplace(state->store, state->results);
  if (!state->predictor->usable()) state->error = path + ": there is no complete step to replay";
  return Capture(std::move(state));
}

const std::string& Capture::error() const { return state_->error; }

double Capture::recorded_step_ms() const {
  return state_->results.step_segmentation ? state_->results.step_segmentation->step_mean_ns / 1e6 : 0;
}

Step Capture::undisturbed_step() const {
  if (!state_->results.distortion) return {};
  const Distortion& distortion = *state_->results.distortion;
  return {distortion.undisturbed_step_ns / 1e6, distortion.undisturbed_low_ns / 1e6,
          distortion.undisturbed_high_ns / 1e6};
}

double Capture::replay_error() const { return state_->results.what_if ? state_->results.what_if->replay_error : 0; }

double Capture::unexplained_share() const {
  return state_->results.what_if ? state_->results.what_if->unexplained_share : 0;
}

Answer Capture::ask(std::span<const Change> changes) const {
  Answer answer;
  answer.error = error();
  if (!answer.ok()) return answer;
  std::vector<Transformation> all;
  for (const Change& change : changes) {
    auto parsed = parse_transformations(change.text());
    if (!parsed) {
      answer.error = sentence(parsed.error());
      return answer;
    }
    all.insert(all.end(), std::make_move_iterator(parsed->begin()), std::make_move_iterator(parsed->end()));
  }
  const Prediction prediction = state_->predictor->predict(all);
  answer.step = {prediction.step_ns / 1e6, prediction.low_ns / 1e6, prediction.high_ns / 1e6};
  if (prediction.step_ns > 0) answer.speedup = state_->predictor->base_ns() / prediction.step_ns;
  return answer;
}

}  // namespace accel::profiler::what_if
