// The controls that every flame graph has: which of the two times it shows, and the field that searches it.
import { choice, h } from "./dom";
import { say } from "./strings";
import type { Metric } from "./tree";

export function metricChoice(chosen: Metric, change: (metric: Metric) => void): HTMLElement {
  const both: [Metric, string][] = [
    ["host", say("flame_host")],
    ["device", say("flame_device")],
  ];
  return choice<Metric>(say("flame"), both, chosen, change);
}

export function searchField(search: (text: string) => void): HTMLElement {
  const field = h("input", { type: "search", placeholder: say("search"), "aria-label": say("search") }) as HTMLInputElement;
  field.addEventListener("input", () => search(field.value));
  return field;
}
