// A small report with every kind of content and hostile strings, for the tests of the writers.
#pragma once

#include "report/document.h"
#include "report/not_measured.h"

namespace accel::report {

inline TimeParts sample_parts(double compute, double memcpy, double idle_host, double idle_launch) {
  TimeParts parts;
  parts.compute_ms = compute;
  parts.memcpy_ms = memcpy;
  parts.idle_causes.host_compute = idle_host;
  parts.idle_causes.launch_latency = idle_launch;
  parts.idle_ms = idle_host + idle_launch;
  parts.window_ms = compute + memcpy + parts.idle_ms;
  return parts;
}

inline Document sample_document() {
  Document document;
  document.schema_version = kSchemaVersion;
  document.tool = {"accel-profiler", "0.0.0"};
  document.time_origin_ns = "1795961890195731979";
  document.inputs.push_back({"small.json", "kineto_json", 3, 1000, 1234});
  document.job.kind = std::string_view("training");
  document.job.ranks_present = {3};
  document.job.ranks.push_back({3, {}, {{0, "NVIDIA H200", {}}}});
  document.verdict = {std::string_view("host"), "The host sets the pace.", 0.95};
  document.health = {{"kernel_share", 0.25, 0.85, true, false}, {"copy_share", 0.0, 0.15, false, true}};
  document.steps = {{3, 3, 0, 10.25, true, std::string_view("train")},
                    {4, 3, 10'250'000, 9.75, true, std::string_view("train")}};
  StepTime& step = document.step_time;
  step.mean_ms = 10.0;
  step.p50_ms = 10.0;
  step.cv = 0.035355;
  step.count = 2;
  step.source = std::string_view("profiler_step");
  step.host_ms = 10.0;
  step.paced_by = std::string_view("host");
  step.undisturbed_ms = 8.0;
  step.undisturbed_low_ms = 7.5;
  step.undisturbed_high_ms = 9.0;
  document.breakdown.push_back(
      {3, 0, std::string_view("host"), sample_parts(2.0, 0.004, 6.0, 1.996), sample_parts(2.0, 0.004, 5.0, 0.996)});
  document.time_breakdown = document.breakdown[0].measured;
  document.time_breakdown_undisturbed = document.breakdown[0].undisturbed;
  document.utilisation.device_busy = 0.2505;
  document.distortion.model = "a cost per record";
  document.distortion.cost_ms = 2.0;
  document.distortion.by_kind = {{"records", 2.0}};

  Finding finding;
  finding.id = "launch_bound";
  finding.rule = std::string_view("launch_bound");
  finding.title = "The device waits 5.0 ms a step for launches";
  finding.severity = std::string_view("critical");
  finding.confidence = 0.8;
  finding.cost_ms_per_step = 5.0;
  finding.share_of_step = 0.625;
  finding.evidence = {{"launches per step", 741, "count", {"slices:7"}}, {"mean kernel duration", 2.72, "us", {}}};
  finding.where = {{"op", "</script><img src=x onerror=alert(1)>", "train.py", 33, {}, {}, {}},
                   {"call", "\x1b[2Jcuda", {}, {}, {}, {}, 0}};
  finding.action = {"Capture the step into a CUDA graph", "One call replays all launches.",
                    "model = torch.compile(model)\n\n# by hand\ngraph = 1", "shapes are fixed", "shapes change"};
  finding.gain.step_ms = 2.004;
  finding.gain.step_low_ms = 2.0;
  finding.gain.step_high_ms = 5.0;
  finding.gain.speedup = 3.992;
  finding.gain.speedup_low = 1.6;
  finding.gain.speedup_high = 4.0;
  finding.gain.basis = std::string_view("model");
  document.findings.push_back(finding);
  document.plan.push_back(
      {1, "launch_bound", std::string_view("launch_bound"), finding.action.title, 2.004, 2.0, 5.0, 3.992});

  Operator op;
  op.name = "aten::add|mm";
  op.dtype = "float";
  op.count = 10;
  op.self_cpu_ms = 1.5;
  op.cpu_ms = 2.5;
  op.self_device_ms = 0.5;
  op.device_ms = 0.75;
  op.shapes = {{"[[2,3]]", 10, 1.5, 2.5, 0.5, 0.75, "float"}};
  document.operators.push_back(op);
  document.kernels.push_back({"void gemm<float, `x`>(float*)", "gemm", 20, 4.0, 200.0, 1.0, 300.0, 1.0, true, "f32",
                              0.25, "registers", 1.5, 0.75, 45.5, "compute", 0.7});
  document.kernel_summary = {10.0, 200.0, 0.1};
  document.notes = {{std::string_view("truncated"), std::string_view("data_loss"), 1, "byte 99", "the file ends early",
                     "record again"},
                    {std::string_view("repaired_utf8"), std::string_view("info"), 2, "byte 5",
                     "strings are not valid UTF-8", "nothing to do"}};
  document.not_measured = explain_unmeasured(document, {{"operators[].flops", "this version does not compute it"}});
  return document;
}

}  // namespace accel::report
