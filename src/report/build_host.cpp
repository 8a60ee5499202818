// What the host does, per complete step.
#include "analysis/host_activity.h"
#include "report/build_parts.h"

namespace accel::report {
namespace {

constexpr std::size_t kThreads = 50;

}  // namespace

void build_host(Build& build) {
  build.reasons["host"] = "the capture holds no complete step with host records";
  build.reasons["host.launch_latency_us"] = "no kernel was launched to an idle device in a complete step";
  build.reasons["host.launch_latency_p95_us"] = build.reasons["host.launch_latency_us"];
  build.reasons["host.threads[].tid"] = "the input does not state it as a number";
  for (const char* part : {"garbage_collection_ms", "data_loading_ms", "checkpoint_ms", "compilation_ms"})
    build.reasons[std::string("host.") + part] =
        "no range says so and no Python frames were recorded (with_stack=True)";
  build.reasons["host.garbage_collection_ms"] =
      "Python's own collections leave no record; make them ranges: import gc, torch; r = []; "
      "gc.callbacks.append(lambda phase, info: r.append(torch.profiler.record_function('gc: collect').__enter__()) if "
      "phase == 'start' else r.pop().__exit__(None, None, None))";
  build.reasons["host.threads[].name"] = "the input does not state it";
  if (!build.results.host_activity || build.results.host_activity->steps == 0) return;
  const HostActivity& activity = *build.results.host_activity;
  if (activity.threads.empty()) return;
  Host& host = build.document.host;
  const double steps = activity.steps;
  const auto per_step = [&](std::int64_t ns) { return ms_of(static_cast<double>(ns) / steps); };
  std::uint64_t launches = 0;
  for (const accel::HostThread& thread : activity.threads) {
    launches += thread.launches;
    HostThread entry;
    const std::int64_t tid = build.store.threads.tid[thread.thread.value];
    if (tid != kNotRecorded) entry.tid = tid;
    const std::string name = build.text(build.store.threads.name[thread.thread.value]);
    if (!name.empty()) entry.name = name;
    entry.role = std::string(to_string(thread.role));
    entry.ops_ms = per_step(thread.ops_ns);
    entry.calls_ms = per_step(thread.calls_ns);
    entry.waits_ms = per_step(thread.waits_ns);
    entry.launches = number_or(static_cast<double>(thread.launches) / steps, 0);
    host.threads.push_back(std::move(entry));
  }
  build.cap(host.threads, kThreads, "host.threads");
  host.launches_per_step = number(static_cast<double>(launches) / steps);
  if (activity.launch_latency_median_ns)
    host.launch_latency_us = us_of(static_cast<double>(*activity.launch_latency_median_ns));
  if (activity.launch_latency_p95_ns)
    host.launch_latency_p95_us = us_of(static_cast<double>(*activity.launch_latency_p95_ns));
  host.queue_depth = number(activity.queue_depth_mean);
  host.queue_empty_share = number(activity.queue_empty_share);
  host.outside_ops_ms = per_step(activity.main_outside_ns);
  // Without Python frames these show only where somebody put a range around them: none found is not none.
  const bool frames = !build.store.frame_details.empty();
  const auto where_seen = [&](const HostPart& part) {
    return frames || part.count > 0 ? Number(per_step(part.ns)) : std::nullopt;
  };
  // Python's own collections have no frame either: frames without one do not say that there was none.
  if (activity.garbage_collection.count > 0) host.garbage_collection_ms = per_step(activity.garbage_collection.ns);
  host.data_loading_ms = where_seen(activity.data_loading);
  host.checkpoint_ms = where_seen(activity.checkpoint);
  host.compilation_ms = where_seen(activity.compilation);
}

}  // namespace accel::report
