// Step history on series whose truth is known: how often it says what is not so, and how often it finds what is.
#include <cmath>
#include <functional>
#include <random>

#include "analysis/analysis.h"
#include "analysis/step_history.h"
#include "analysis/step_segmentation.h"
#include "unit/analysis/small_trace.h"

namespace accel {
namespace {

constexpr int kSeeds = 100;

// Reproducible everywhere: the standard leaves the distributions to the library.
class Noise {
 public:
  explicit Noise(std::uint32_t seed) : bits_(seed) {}
  double normal() {
    double sum = 0;
    for (int k = 0; k < 12; ++k) sum += static_cast<double>(bits_()) / 4294967296.0;
    return sum - 6;
  }

 private:
  std::mt19937 bits_;
};

StepHistory history_of(const std::vector<double>& durations_us) {
  SmallTrace trace;
  std::int64_t start = 0;
  for (std::size_t k = 0; k < durations_us.size(); ++k) {
    const auto duration = static_cast<std::int64_t>(std::llround(std::max(100.0, durations_us[k])));
    trace.step(static_cast<int>(k), start, duration);
    trace.launched("kernel", start + 10, start + 20, 50, static_cast<std::int64_t>(k) + 1);
    start += duration;
  }
  const TraceStore store = trace.store();
  return *analyse(store).step_history;
}

using Series = std::function<double(int step, Noise& noise)>;

// Share of seeds for which `holds`.
double share(int steps, const Series& series, const std::function<bool(const StepHistory&)>& holds) {
  int count = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    Noise noise(static_cast<std::uint32_t>(seed) * 7919 + 17);
    std::vector<double> durations;
    durations.reserve(static_cast<std::size_t>(steps));
    for (int k = 0; k < steps; ++k) durations.push_back(series(k, noise));
    count += holds(history_of(durations)) ? 1 : 0;
  }
  return static_cast<double>(count) / kSeeds;
}

bool moves(const StepHistory& history) { return !history.changes.empty() || history.drift.has_value(); }

TEST(StepHistorySeeds, IndependentNoiseSeldomMakesASlowStepAndNoChangeOfPace) {
  for (const int steps : {6, 12, 30, 100}) {
    for (const double width : {0.01, 0.05, 0.10}) {
      const Series series = [&](int, Noise& noise) { return 10'000 * (1 + width * noise.normal()); };
      EXPECT_LE(share(steps, series, moves), 0.01) << steps << " steps, width " << width;
      const double slow = share(steps, series, [](const StepHistory& history) { return !history.slow.empty(); });
      EXPECT_LE(slow, width < 0.10 ? 0.01 : 0.05) << steps << " steps, width " << width;
    }
  }
}

TEST(StepHistorySeeds, NoiseThatLingersFromStepToStepMakesNoChangeAndNoDrift) {
  for (const int steps : {12, 30, 100}) {
    double state = 0;
    const double alarms = share(
        steps,
        [&](int step, Noise& noise) {
          state = (step == 0 ? 0 : 0.5 * state) + 0.05 * noise.normal();
          return 10'000 * (1 + state);
        },
        moves);
    EXPECT_LE(alarms, 0.02) << steps;
  }
}

TEST(StepHistorySeeds, ALongTailIsSlowStepsNotAChangeOfPace) {
  const double alarms = share(40, [](int, Noise& noise) { return 10'000 * std::exp(0.15 * noise.normal()); }, moves);
  EXPECT_LE(alarms, 0.02);
}

TEST(StepHistorySeeds, AShiftOfAFifthIsFoundAtItsStep) {
  const double found = share(
      40, [](int step, Noise& noise) { return (step < 25 ? 10'000 : 12'000) * (1 + 0.03 * noise.normal()); },
      [](const StepHistory& history) {
        return history.changes.size() == 1 && history.changes[0].step >= 24 && history.changes[0].step <= 26;
      });
  EXPECT_GE(found, 0.95);
}

TEST(StepHistorySeeds, AStretchBetweenTwoChangesIsFoundWithBoth) {
  const double found = share(
      60,
      [](int step, Noise& noise) { return (step >= 20 && step < 30 ? 13'000 : 10'000) * (1 + 0.03 * noise.normal()); },
      [](const StepHistory& history) { return history.changes.size() == 2 && !history.drift; });
  EXPECT_GE(found, 0.95);
}

TEST(StepHistorySeeds, ADriftOfAFifthIsFoundAsOne) {
  const double found = share(
      40, [](int step, Noise& noise) { return (10'000 + 50 * step) * (1 + 0.02 * noise.normal()); },
      [](const StepHistory& history) {
        return history.changes.empty() && history.drift && history.drift->ns_per_step > 35'000;
      });
  EXPECT_GE(found, 0.9);
}

TEST(StepHistorySeeds, EveryFifthStepSlowIsFoundWithItsDistance) {
  const double found = share(
      40, [](int step, Noise& noise) { return (step % 5 == 2 ? 16'000 : 10'000) * (1 + 0.03 * noise.normal()); },
      [](const StepHistory& history) {
        return history.slow.size() == 8 && history.pattern && history.pattern->every == 5 && history.changes.empty();
      });
  EXPECT_GE(found, 0.98);
}

}  // namespace
}  // namespace accel
