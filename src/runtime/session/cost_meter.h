// CostMeter: what the recorder costs while a window is open, measured by itself, and what to do when that is more than
// the level promises. Two parts: the records of the busiest thread at the cost of one record (two clock reads as they
// are here, and the 20 ns that a scope may take beside them), and the processor time of the recorder's own threads
// spread over the cores that the process may use. Beside them, for the reader, steps in the window against steps before
// it, where both are steady. Control thread only; plain data.
#pragma once

#include <cstdint>

#include "runtime/session/window_plan.h"

namespace accel::runtime {

class CostMeter {
 public:
  enum class Advice : std::uint8_t {
    go_on,
    fewer_samples,  // the recorder's own threads are the larger part
    fewer_records,  // the records are
  };
  struct Figures {
    double percent;
    double record_percent;
    double background_percent;
    double step_percent;   // NaN: the steps were not steady, or too few
    double limit_percent;  // NaN: nothing is promised (level 3)
  };

  // `usual_step` in ticks: the median before the window, 0 = not steady.
  void begin(std::uint32_t level, double record_ns, double cores, std::uint64_t usual_step, std::int64_t now_ns,
             std::int64_t own_cpu_ns);
  bool begun() const { return begun_ns_ != 0; }
  // True about four times a second: time to call look().
  bool due(std::int64_t now_ns) const { return begun() && now_ns >= next_look_ns_; }
  // `busiest_records`: of the busiest thread since the last look; `own_cpu_ns`: of the recorder's threads so far.
  Advice look(std::int64_t now_ns, std::int64_t own_cpu_ns, std::uint64_t busiest_records);
  void step_in_window(std::uint64_t duration_ticks) { steps_.add(duration_ticks); }
  Figures figures() const;

  // One record, with the clock as it is here and now. About 10 us.
  static double measure_record_ns();
  static std::int64_t thread_cpu_ns();
  static double usable_cores();

 private:
  std::int64_t begun_ns_ = 0;
  std::int64_t looked_ns_ = 0;
  std::int64_t next_look_ns_ = 0;
  std::int64_t first_cpu_ns_ = 0;
  std::int64_t looked_cpu_ns_ = 0;
  std::uint64_t records_ = 0;
  double record_ns_ = 0;
  double cores_ = 1;
  double limit_percent_ = 0;
  std::uint64_t usual_step_ = 0;
  std::uint32_t looks_above_ = 0;
  StepHistory steps_;
};

}  // namespace accel::runtime
