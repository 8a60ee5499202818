// Small charts as SVG: the steps one after another, and the roofline. Text stands in text nodes.
import { h } from "./dom";
import { duration, threeDigits } from "./format";

const kSpace = "http://www.w3.org/2000/svg";

export function s(tag: string, attributes: Record<string, string | number>, ...children: (Element | string)[]): SVGElement {
  const element = document.createElementNS(kSpace, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

export interface StepMark {
  index: number;
  ms: number;
  counted: boolean; // complete steps make the mean
  outlier: boolean;
  change: boolean;
}

export function stepChart(steps: StepMark[], undisturbed: number | null, label: string): HTMLElement {
  const w = Math.max(0.8, Math.min(44, 1350 / steps.length));
  const width = 50 + w * steps.length;
  const height = 120;
  const most = Math.max(...steps.map((step) => step.ms), undisturbed ?? 0) * 1.06;
  const y = (ms: number) => height - 16 - (ms / most) * (height - 26);
  const chart = s("svg", { viewBox: `0 0 ${width} ${height}`, width, class: "chart steps", role: "img", "aria-label": label });
  steps.forEach((step, i) => {
    const x = 50 + i * w;
    const bar = s("rect", { x, y: y(step.ms), width: Math.max(0.6, w - (w > 4 ? 1 : 0)), height: Math.max(1, height - 16 - y(step.ms)), class: step.outlier ? "mark-outlier" : step.counted ? "mark-step" : "mark-cut" });
    bar.append(s("title", {}, `${step.index}: ${duration(step.ms)}`));
    chart.append(bar);
    if (step.change) chart.append(s("line", { x1: x, x2: x, y1: 4, y2: height - 16, class: "mark-change" }));
    if (steps.length <= 40 || i % Math.ceil(steps.length / 20) === 0) chart.append(s("text", { x: x + w / 2, y: height - 3, class: "tick middle" }, String(step.index)));
  });
  for (const ms of [most * 0.47, most * 0.94]) chart.append(s("text", { x: 46, y: y(ms) + 4, class: "tick end" }, duration(ms)), s("line", { x1: 50, x2: width, y1: y(ms), y2: y(ms), class: "grid" }));
  if (undisturbed !== null) chart.append(s("line", { x1: 50, x2: width, y1: y(undisturbed), y2: y(undisturbed), class: "mark-undisturbed" }));
  return h("div", {}, chart as unknown as HTMLElement);
}

export interface Dot {
  key: string | null;
  label: string;
  intensity: number; // operations a byte
  tflops: number;
  ms: number;
  bound: string;
}

function decade(power: number): string {
  return power >= 0 ? String(Math.pow(10, power)) : Math.pow(10, power).toPrecision(1);
}

// Both axes are logarithmic; the roof is the lower of the memory line and the peak.
export function roofline(dots: Dot[], peaks: { name: string; tflops: number }[], tbps: number, label: string, pick: (dot: Dot) => void): HTMLElement {
  const width = 620;
  const height = 330;
  const left = 54;
  const bottom = 30;
  const xs = dots.map((dot) => dot.intensity);
  const ys = dots.map((dot) => dot.tflops);
  const top = Math.max(...peaks.map((peak) => peak.tflops), ...ys) * 2;
  const low = Math.min(...ys, top / 1e4) / 2;
  const x0 = Math.min(...xs, 0.1) / 2;
  const x1 = Math.max(...xs, (4 * top) / tbps) * 2;
  const x = (value: number) => left + ((Math.log(value) - Math.log(x0)) / (Math.log(x1) - Math.log(x0))) * (width - left - 6);
  const y = (value: number) => height - bottom - ((Math.log(value) - Math.log(low)) / (Math.log(top) - Math.log(low))) * (height - bottom - 8);
  const chart = s("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart roofline", role: "img", "aria-label": label });
  for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(top); ++power) {
    const at = y(Math.pow(10, power));
    chart.append(s("line", { x1: left, x2: width, y1: at, y2: at, class: "grid" }), s("text", { x: left - 5, y: at + 4, class: "tick end" }, decade(power)));
  }
  for (let power = Math.ceil(Math.log10(x0)); power <= Math.log10(x1); ++power) {
    const at = x(Math.pow(10, power));
    chart.append(s("line", { x1: at, x2: at, y1: 8, y2: height - bottom, class: "grid" }), s("text", { x: at, y: height - bottom + 13, class: "tick middle" }, decade(power)));
  }
  chart.append(s("text", { x: width - 4, y: height - 3, class: "tick end" }, "FLOP / byte"), s("text", { x: 2, y: 8, class: "tick" }, "TFLOP/s"));
  const highest = Math.max(...peaks.map((peak) => peak.tflops));
  const ridge = (tflops: number) => tflops / tbps;
  chart.append(s("line", { x1: x(Math.max(x0, low / tbps)), y1: y(Math.max(low, x0 * tbps)), x2: x(ridge(highest)), y2: y(highest), class: "roof" }));
  for (const peak of peaks) {
    chart.append(s("line", { x1: x(ridge(peak.tflops)), x2: width, y1: y(peak.tflops), y2: y(peak.tflops), class: "roof" }), s("text", { x: width - 4, y: y(peak.tflops) - 3, class: "tick end" }, `${peak.name} ${threeDigits(peak.tflops)}`));
  }
  const heaviest = Math.max(...dots.map((dot) => dot.ms));
  for (const dot of [...dots].sort((a, b) => b.ms - a.ms)) {
    const mark = s("circle", { cx: x(dot.intensity), cy: y(dot.tflops), r: 3 + 9 * Math.sqrt(dot.ms / heaviest), class: "dot " + (dot.bound === "compute" ? "dot-compute" : "dot-memory"), tabindex: 0 });
    mark.append(s("title", {}, dot.label));
    mark.addEventListener("click", () => pick(dot));
    mark.addEventListener("keydown", (event) => (event as KeyboardEvent).key === "Enter" && pick(dot));
    chart.append(mark);
  }
  return h("div", {}, chart as unknown as HTMLElement);
}
