// What the report holds and no card shows: keys and values as they stand in report.json, folded away.
import { fold, h } from "./dom";
import { shortened, visible } from "./format";
import { say } from "./strings";
import type { Report } from "./types";

const kShown = new Set([
  "schema_version", "tool", "time_origin_ns", "inputs", "job", "verdict", "health", "utilisation", "steps", "time_breakdown", "time_breakdown_undisturbed",
  "distortion", "findings", "plan", "operators", "kernels", "kernel_summary", "memory", "efficiency", "step_time", "breakdown", "notes", "not_measured", "compare", "communication", "clock", "modules", "annotations", "frames",
]);
const kRows = 50;

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === "object" && Object.values(value).every(isEmpty);
}

function scalar(value: unknown): string {
  if (value === null) return say("not_measured");
  return shortened(visible(typeof value === "string" ? value : JSON.stringify(value)), 160);
}

// A list of equal objects is a table; other things are nested lists of keys.
export function shown(value: unknown, depth: number): HTMLElement {
  if (value === null || typeof value !== "object" || depth > 5) return h("span", {}, scalar(value));
  if (Array.isArray(value)) {
    const rows = value.slice(0, kRows);
    const more = value.length > kRows && h("p", { class: "quiet" }, `+ ${value.length - kRows}`);
    if (rows.every((row) => row !== null && typeof row === "object" && !Array.isArray(row))) {
      const keys = [...new Set(rows.flatMap((row) => Object.keys(row as object)))];
      return h(
        "div",
        { class: "scroll" },
        h("table", {}, h("thead", {}, h("tr", {}, keys.map((key) => h("th", {}, visible(key))))), h("tbody", {}, rows.map((row) => h("tr", {}, keys.map((key) => h("td", {}, scalar((row as Record<string, unknown>)[key] ?? null))))))),
        more,
      );
    }
    return h("span", {}, rows.map(scalar).join(", "), more);
  }
  const entries = Object.entries(value).filter(([, inner]) => !isEmpty(inner));
  return h("table", {}, h("tbody", {}, entries.map(([key, inner]) => h("tr", {}, h("td", {}, visible(key)), h("td", {}, shown(inner, depth + 1))))));
}

export function rest(report: Report): HTMLElement[] {
  return Object.entries(report)
    .filter(([key, value]) => !kShown.has(key) && !isEmpty(value))
    .map(([key, value]) => fold({ class: "rest deep" }, [key.replaceAll("_", " ")], () => [shown(value, 0)]));
}
