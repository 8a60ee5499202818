// How near the work comes to what the device can do: the roofline of op calls and their table; and the steps one by one.
import { Dot, StepMark, roofline, stepChart } from "./chart";
import { h } from "./dom";
import { duration, percent, shortened, threeDigits, visible } from "./format";
import { say } from "./strings";
import type { Page } from "./page";
import type { Report } from "./types";

export interface Group {
  device: number;
  op: string;
  dims: string | null;
  dtype: string | null;
  kind: string;
  kernel: string | null;
  calls_per_step: number;
  ms_per_step: number;
  flops: number | null;
  bytes: number | null;
  tflops: number | null;
  tbps: number | null;
  bound: string | null;
  roof_share: number | null;
  occupancy: number | null;
  sm_efficiency: number | null;
}
interface Peaks {
  device: number;
  product: string | null;
  memory_tbps: number | null;
  source: string | null;
  [peak: string]: unknown;
}

export function groupsOf(report: Report): Group[] {
  return ((report.efficiency as { groups?: Group[] } | undefined)?.groups ?? []) as Group[];
}

function peaksOf(report: Report): Peaks[] {
  return ((report.efficiency as { devices?: Peaks[] } | undefined)?.devices ?? []) as Peaks[];
}

function rateOf(group: Group): string {
  const rates = [group.tflops !== null && group.flops ? `${threeDigits(group.tflops)} TFLOP/s` : "", group.tbps !== null ? `${threeDigits(group.tbps)} TB/s` : ""];
  return rates.filter(Boolean).join(", ");
}

// The chart of some groups; null when nothing of them does arithmetic on a known device.
export function rooflineOf(report: Report, groups: Group[], pick: (dot: Dot) => void): HTMLElement | null {
  const device = peaksOf(report).find((one) => one.memory_tbps !== null);
  if (!device) return null;
  const dots: Dot[] = [];
  for (const group of groups) {
    if (group.device !== device.device || !group.flops || !group.bytes || group.tflops === null || group.tflops <= 0) continue;
    const label = `${visible(group.op)} ${visible(group.dims)} ${group.dtype ?? ""}\n${duration(group.ms_per_step)} ${say("per_step_short")}, ${rateOf(group)}`;
    dots.push({ key: group.op, label, intensity: group.flops / group.bytes, tflops: group.tflops, ms: group.ms_per_step, bound: group.bound ?? "" });
  }
  if (dots.length === 0) return null;
  const types = new Set(groups.map((group) => group.dtype));
  const peaks: { name: string; tflops: number }[] = [];
  for (const [key, name, type] of [
    ["fp8_tflops", "fp8", "fp8"],
    ["bf16_tflops", "bf16", "bf16"],
    ["fp16_tflops", "fp16", "f16"],
    ["tf32_tflops", "tf32", "f32"],
    ["fp32_tflops", "fp32", "f32"],
    ["fp64_tflops", "fp64", "f64"],
  ]) {
    const value = device[key];
    if (typeof value === "number" && (types.has(type) || key === "fp32_tflops")) peaks.push({ name, tflops: value });
  }
  if (peaks.length === 0) return null;
  return roofline(dots, peaks, device.memory_tbps as number, say("roofline"), pick);
}

export function efficiencyCard(page: Page): HTMLElement | null {
  const groups = groupsOf(page.report);
  if (groups.length === 0) return null;
  const device = peaksOf(page.report)[0];
  const chart = rooflineOf(page.report, groups, (dot) => dot.key && page.openDetails?.("op", dot.key));
  const share = (value: number | null) => {
    if (value === null) return h("span", { class: "quiet" }, "–");
    const fill = h("div", { class: "rung-fill" });
    fill.style.width = `${Math.min(100, 100 * value)}%`;
    return h("div", { class: "share" }, h("div", { class: "rung-axis" }, fill), h("span", {}, percent(value)));
  };
  const heads: [string, boolean][] = [["name", false], ["types", false], ["per_step", true], ["rate", true], ["bound", false], ["roof_share", false], ["occupancy", true]];
  const rows = groups.slice(0, 15).map((group) =>
    h(
      "tr",
      {},
      h("td", {}, h("button", { type: "button", class: "link", title: `${visible(group.kernel)}`, click: () => page.openDetails?.("op", group.op) }, visible(group.op)), h("div", { class: "quiet small" }, shortened(visible(group.dims), 60))),
      h("td", { class: "unbroken" }, visible(group.dtype ?? "–")),
      h("td", { class: "n" }, duration(group.ms_per_step)),
      h("td", { class: "n" }, rateOf(group) || "–"),
      h("td", { class: "unbroken" }, group.bound ? say("limit_" + group.bound) : "–"),
      h("td", {}, share(group.roof_share)),
      h("td", { class: "n" }, group.occupancy === null ? "–" : percent(group.occupancy)),
    ),
  );
  return h(
    "section",
    { class: "card" },
    h("h2", {}, say("efficiency")),
    device?.source ? h("p", { class: "quiet small" }, `${visible(device.product ?? "")}: ${visible(device.source)}`) : null,
    h(
      "div",
      { class: "roof-and-table" },
      chart && h("div", {}, chart, h("p", { class: "quiet small" }, say("roofline_hint"))),
      h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, heads.map(([id, figure]) => h("th", { class: figure ? "n" : "" }, say(id))))), h("tbody", {}, rows))),
    ),
  );
}

export function stepsCard(report: Report): HTMLElement | null {
  const outliers = new Set(report.step_time.outliers.map((step) => step.index));
  const changes = new Set(report.step_time.change_points.map((step) => step.index));
  const marks: StepMark[] = report.steps
    .filter((step) => step.duration_ms !== null)
    .map((step) => ({ index: step.index, ms: step.duration_ms as number, counted: step.complete, outlier: outliers.has(step.index), change: changes.has(step.index) }));
  if (marks.length < 2) return null;
  const undisturbed = report.distortion.cost_ms === null ? null : report.step_time.undisturbed_ms;
  return h(
    "section",
    { class: "card" },
    h("h2", {}, say("over_steps"), " ", h("span", { class: "quiet" }, say("measured"))),
    stepChart(marks, undisturbed, say("over_steps")),
    h("p", { class: "quiet small" }, undisturbed !== null && `${say("chart_undisturbed")} `, outliers.size > 0 && `${say("chart_outliers")} `, changes.size > 0 && say("chart_changes")),
  );
}
