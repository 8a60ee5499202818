// The curve of a whole run: the time of a step over the run, by epoch, with the window that was recorded in detail, slow
// steps and level shifts marked; waits for data, loss and throughput beneath.
import { s } from "./chart";
import { h } from "./dom";
import { count, duration, percent, threeDigits } from "./format";
import { Run, RunPoint, epochsOf, kLevelPoints, kLevelShare, kOutlier, outliersOf, runOf, shiftsOf } from "./run_model";
import { say } from "./strings";
import type { Page } from "./page";

const kWidth = 1200;
const kLeft = 60;
const kMarks = 60; // slow steps named one by one
const kLabels = 24;

function line(points: RunPoint[], value: (point: RunPoint) => number | null, x: (point: RunPoint) => number, y: (value: number) => number): string {
  let path = "";
  let pen = false;
  for (const point of points) {
    const at = value(point);
    if (at === null) {
      pen = false;
      continue;
    }
    path += `${pen ? "L" : "M"}${x(point).toFixed(1)} ${y(at).toFixed(1)}`;
    pen = true;
  }
  return path;
}

// One figure of the run as a strip on the axis of the curve above it.
function strip(run: Run, x: (point: RunPoint) => number, label: string, value: (point: RunPoint) => number | null, text: (value: number) => string): HTMLElement | null {
  const values = run.points.map(value).filter((one): one is number => one !== null);
  if (values.length < 2) return null;
  const low = Math.min(0, ...values);
  const high = Math.max(...values);
  const height = 62;
  const y = (at: number) => height - 6 - (high > low ? ((at - low) / (high - low)) * (height - 26) : 0);
  const chart = s("svg", { viewBox: `0 0 ${kWidth} ${height}`, class: "chart run", role: "img", "aria-label": `${label}: ${text(values[0])} – ${text(values[values.length - 1])}` });
  chart.append(
    s("line", { x1: kLeft, x2: kWidth, y1: y(low), y2: y(low), class: "grid" }),
    s("path", { d: line(run.points, value, x, y), class: "run-line" }),
    s("text", { x: kLeft - 5, y: y(high) + 4, class: "tick end" }, text(high)),
    s("text", { x: kLeft - 5, y: y(low), class: "tick end" }, text(low)),
    s("text", { x: kLeft + 4, y: 12, class: "tick" }, label),
  );
  return h("div", {}, chart as unknown as HTMLElement);
}

function curve(run: Run, window_s: number | null, length_s: number, x: (seconds: number) => number): HTMLElement {
  const points = run.points;
  const shifts = shiftsOf(points);
  const slow = outliersOf(points, shifts);
  const epochs = epochsOf(points);
  // A few slow steps must not flatten the rest.
  const usual = [...points].map((point) => point.step_ms).sort((a, b) => a - b)[Math.floor(0.98 * (points.length - 1))];
  const most = 1.15 * Math.max(usual, ...shifts.map((shift) => Math.max(shift.before_ms, shift.after_ms)));
  const height = 190;
  const y = (ms: number) => height - 22 - (Math.min(ms, most) / most) * (height - 46);
  const at = (point: RunPoint) => x(point.start_s);
  const chart = s("svg", { viewBox: `0 0 ${kWidth} ${height}`, class: "chart run", role: "img", "aria-label": say("run_label", count(run.steps), duration(1e3 * run.seconds)) });
  for (const share of [0, 0.5, 1]) {
    const ms = share * (most / 1.15);
    chart.append(s("line", { x1: kLeft, x2: kWidth, y1: y(ms), y2: y(ms), class: "grid" }), s("text", { x: kLeft - 5, y: y(ms) + 4, class: "tick end" }, duration(ms)));
  }
  if (window_s !== null) {
    const from = x(window_s);
    const band = s("rect", { x: from, y: 14, width: Math.max(3, x(window_s + length_s) - from), height: height - 36, class: "run-window" });
    band.append(s("title", {}, say("run_window")));
    chart.append(band);
  }
  const every = Math.ceil(epochs.length / kLabels);
  epochs.forEach((epoch, i) => {
    if (epoch.number === null) return;
    const start = at(points[epoch.first]);
    if (i > 0) chart.append(s("line", { x1: start, x2: start, y1: 14, y2: height - 22, class: "run-epoch" }));
    if (i % every === 0) {
      const name = s("text", { x: start + 3, y: 11, class: "tick" }, `${say("run_epoch")} ${epoch.number}`);
      name.append(s("title", {}, `${say("run_epoch")} ${epoch.number}: ${duration(epoch.mean_ms)}`));
      chart.append(name);
    }
  });
  chart.append(s("path", { d: line(points, (point) => point.step_ms, at, y), class: "run-line" }));
  for (const i of slow.slice(0, 2000)) {
    const mark = s("circle", { cx: at(points[i]), cy: y(points[i].longest_ms), r: 2.6, class: "mark-outlier" });
    mark.append(s("title", {}, say("run_slow_step", points[i].step, duration(points[i].longest_ms))));
    chart.append(mark);
  }
  for (const shift of shifts) {
    const place = at(points[shift.at]);
    const mark = s("line", { x1: place, x2: place, y1: 14, y2: height - 22, class: "mark-change" });
    mark.append(s("title", {}, say("run_shift", points[shift.at].step, duration(shift.before_ms), duration(shift.after_ms))));
    chart.append(mark);
  }
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const seconds = share * run.seconds;
    const point = points.find((one) => one.start_s >= seconds) ?? points[points.length - 1];
    chart.append(s("text", { x: x(seconds), y: height - 6, class: `tick ${share === 0 ? "" : share === 1 ? "end" : "middle"}` }, say("run_tick", count(point.step), duration(1e3 * seconds))));
  }
  const facts = [
    ...shifts.slice(0, kMarks).map((shift) => say("run_shift", count(points[shift.at].step), duration(shift.before_ms), duration(shift.after_ms))),
    ...(slow.length > 0 ? [say("run_slow", count(slow.length), count(points[slow[0]].step), duration(Math.max(...slow.map((i) => points[i].longest_ms))))] : []),
  ];
  return h("div", {}, chart as unknown as HTMLElement, h("ul", { class: "run-facts" }, facts.map((fact) => h("li", {}, fact))));
}

export function runCard(page: Page): HTMLElement | null {
  const run = runOf(page.report);
  if (!run) return null;
  const whole = Math.max(run.seconds, 1e-9);
  const x = (seconds: number) => kLeft + (Math.max(0, Math.min(seconds, whole)) / whole) * (kWidth - kLeft - 4);
  const at = (point: RunPoint) => x(point.start_s);
  const recorded = page.report.steps.reduce((sum, step) => sum + (step.duration_ms ?? 0), 0) / 1e3;
  const per = Math.max(...run.points.map((point) => point.steps));
  return h(
    "section",
    { class: "card run-card" },
    h("h2", {}, say("run_title"), " ", h("span", { class: "quiet" }, say("run_steps", count(run.first_step), count(run.last_step)))),
    h("div", { class: "scroll" }, curve(run, run.window_s, recorded, x), strip(run, at, say("run_loader"), (point) => point.loader_wait_ms, duration), strip(run, at, say("run_loss"), (point) => point.loss, threeDigits), strip(run, at, say("run_samples"), (point) => point.samples_s, threeDigits)),
    h(
      "p",
      { class: "quiet small" },
      run.window_s !== null ? `${say("run_window_hint")} ` : "",
      per > 1 ? `${say("run_points", count(run.points.length), count(per))} ` : "",
      run.missing > 0 ? `${say("run_missing", count(run.missing))} ` : "",
      say("run_rules", percent(kOutlier - 1), percent(kLevelShare), count(kLevelPoints)),
    ),
  );
}
