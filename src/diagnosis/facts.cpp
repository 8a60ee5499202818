#include "diagnosis/facts.h"

#include "analysis/host_activity.h"

namespace accel {

Facts gather_facts(const TraceStore& store, const AnalysisResults& results) {
  Facts facts;
  facts.view = make_step_view(store, results);
  if (!facts.view.usable) return facts;
  facts.copies = measure_copies(store, facts.view);
  const HostActivity& activity = *results.host_activity;
  const bool contention = activity.stalls.places >= kStallPlaces;
  facts.host_work =
      find_host_work(store, results, facts.view,
                     contention ? activity.compilation.time.united(activity.stalls.time) : activity.compilation.time);
  facts.allocator_calls = find_allocator_calls(store, facts.view);
  facts.host_idle = measure_host_idle(store, results, facts.view);
  return facts;
}

}  // namespace accel
