// The page in compare mode: two runs side by side, and what the difference is made of.
import { barParts } from "./bar";
import { Compare, ComparedPart, ComparedStep, ComparedWork, answerOf, bar, below, figure, largest, reasons, signed } from "./compare_model";
import { treesCard } from "./compare_trees";
import { choice, fold, guarded, h, replace } from "./dom";
import { count, duration, percent, shortened, visible } from "./format";
import { shown } from "./rest";
import { currentLanguage, pick, say } from "./strings";
import type { Page } from "./page";
import type { TimeParts } from "./types";

const kRows = 12;
const kKnown = new Set(["before", "after", "measured", "undisturbed", "busy_delta_ms", "work", "ops", "modules", "annotations", "implementations", "numbers", "findings", "environment", "not_comparable"]);

const zh = () => currentLanguage() === "zh";
export function compareOf(page: Page): Compare | null {
  return (page.report.compare as Compare | null | undefined) ?? null;
}

function partName(name: string): string {
  if (name === "copies") return say("copies");
  if (name === "communication") return say("communication_exposed");
  if (name.startsWith("idle.")) return `${say("idle")}: ${say(name.slice(5))}`;
  return say(name);
}

function interval(step: ComparedStep): string {
  if (step.delta_low_ms === null || step.delta_high_ms === null) return "";
  return say("compare_interval", signed(step.delta_low_ms), signed(step.delta_high_ms));
}

function headline(compare: Compare): HTMLElement {
  const section = h("section", { class: "verdict" });
  const answer = answerOf(compare);
  if (!answer) {
    section.append(h("h1", {}, say("compare_no_step")));
    return section;
  }
  const { step, verdict } = answer;
  const share = step.before_ms > 0 ? percent(Math.abs(step.delta_ms) / step.before_ms) : "";
  const sentence = say("compare_" + verdict, duration(step.before_ms), duration(step.after_ms), duration(Math.abs(step.delta_ms)), share);
  const why = reasons(step).map((part) => `${partName(part.name)} ${signed(part.delta_ms)}`);
  section.append(h("h1", {}, sentence, why.length > 0 && verdict !== "same" && say("compare_because", why.join(zh() ? "、" : ", "))));
  section.append(h("div", { class: "chips" }, h("span", { class: "chip strong" }, say("compare_verdict_" + verdict)), h("span", { class: "chip" }, say(answer.undisturbed ? "undisturbed" : "measured"))));
  const lines = [interval(step)];
  if (answer.other)
    lines.push(`${say("measured")}: ${duration(answer.other.before_ms)} → ${duration(answer.other.after_ms)}, ${signed(answer.other.delta_ms)}, ${say("compare_verdict_" + answer.other.verdict)}`);
  section.append(h("p", { class: "step-line" }, lines.filter(Boolean).join("; ")));
  return section;
}

// One run as the parts that the page draws elsewhere.
function partsOf(step: ComparedStep, side: "before_ms" | "after_ms"): TimeParts {
  const of = (name: string) => step.parts.find((part) => part.name === name)?.[side] ?? 0;
  const causes: Record<string, number> = {};
  for (const part of step.parts) if (part.name.startsWith("idle.")) causes[part.name.slice(5)] = part[side];
  return { window_ms: step[side], compute_ms: of("compute"), memcpy_ms: of("copies"), communication_exposed_ms: of("communication"), communication_overlapped_ms: 0, idle_ms: 0, idle_causes: causes };
}

function stripe(step: ComparedStep, side: "before_ms" | "after_ms"): HTMLElement {
  const parts = barParts(partsOf(step, side));
  const strip = h("div", { class: "bar", role: "img", "aria-label": parts.map((part) => `${say(part.id)} ${duration(part.ms)}`).join(", ") });
  strip.style.width = `${(100 * step[side]) / Math.max(step.before_ms, step.after_ms)}%`;
  for (const part of parts) {
    const piece = h("div", { class: part.idle ? "piece idle" : "piece", title: `${part.idle ? say("idle") + ": " : ""}${say(part.id)} ${duration(part.ms)} (${percent(part.share)})` });
    piece.style.flexGrow = String(part.ms);
    piece.style.background = `var(${part.colour})`;
    if (part.ms > 0.14 * Math.max(step.before_ms, step.after_ms)) piece.append(h("span", {}, `${say(part.id)} ${duration(part.ms)}`));
    strip.append(piece);
  }
  return h("div", { class: "run" }, h("span", { class: "run-name" }, say(side === "before_ms" ? "compare_before" : "compare_after")), h("div", { class: "run-bar" }, strip), h("b", { "data-figure": side }, duration(step[side])));
}

function difference(delta: number, most: number): HTMLElement {
  const { left, width } = bar(delta, most);
  const piece = h("div", { class: delta < 0 ? "less" : "more" });
  piece.style.left = `${100 * left}%`;
  piece.style.width = `${100 * width}%`;
  return h("div", { class: "difference" }, h("div", { class: "difference-axis", "aria-hidden": "true" }, piece), h("span", {}, signed(delta)));
}

function head(labels: string[]): HTMLElement {
  return h("thead", {}, h("tr", {}, labels.map((label, i) => h("th", { class: i > 0 ? "n" : "", scope: "col" }, say(label)))));
}

function stepTable(step: ComparedStep): HTMLElement {
  const rows = step.parts.filter((part) => part.before_ms !== 0 || part.after_ms !== 0);
  const most = Math.max(largest(rows), Math.abs(step.delta_ms));
  const row = (name: string, part: { before_ms: number; after_ms: number; delta_ms: number }, className = "") =>
    h("tr", { class: className }, h("td", {}, name), h("td", { class: "n" }, duration(part.before_ms)), h("td", { class: "n" }, duration(part.after_ms)), h("td", { class: "n" }, difference(part.delta_ms, most)));
  return h("table", { class: "parts" }, head(["name", "compare_before", "compare_after", "compare_delta"]), h("tbody", {}, rows.map((part) => row(partName(part.name), part)), row(say("whole"), step, "sum")));
}

function stepCard(compare: Compare): HTMLElement {
  const section = h("section", { class: "card" });
  const { measured, undisturbed } = compare;
  const body = h("div");
  const show = (which: string) => {
    const step = which === "measured" ? measured : undisturbed;
    if (!step) replace(body, h("p", { class: "quiet" }, say("compare_not_both")));
    else replace(body, stripe(step, "before_ms"), stripe(step, "after_ms"), h("div", { class: "scroll" }, stepTable(step)));
  };
  const first = undisturbed ? "undisturbed" : "measured";
  section.append(
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, say("compare_where")),
      choice<string>(
        say("compare_where"),
        [
          ["undisturbed", say("undisturbed")],
          ["measured", say("measured")],
        ],
        first,
        show,
      ),
    ),
    body,
  );
  show(first);
  return section;
}

function state(status: string): string {
  return status === "appeared" ? say("compare_new") : status === "vanished" ? say("compare_gone") : "";
}

function workTable(page: Page, work: ComparedWork, busy: number, kind: string): HTMLElement {
  const most = largest(work.rows);
  const launches = (value: number | null) => (value === null ? "" : count(value) === "0" && value > 0 ? value.toFixed(2) : count(value));
  const row = (part: ComparedPart) =>
    h(
      "tr",
      {},
      h("td", { title: visible(part.name) }, page.openDetails ? h("button", { type: "button", class: "link", click: () => page.openDetails?.(kind, part.name) }, shortened(visible(part.name) || say("compare_no_op"), 80)) : shortened(visible(part.name) || say("compare_no_op"), 80), state(part.status) && h("span", { class: "quiet" }, ` ${state(part.status)}`)),
      h("td", { class: "n" }, launches(part.before_count)),
      h("td", { class: "n" }, launches(part.after_count)),
      h("td", { class: "n" }, duration(part.before_ms)),
      h("td", { class: "n" }, duration(part.after_ms)),
      h("td", { class: "n" }, difference(part.delta_ms, most)),
    );
  const body = h("tbody");
  const fill = (all: boolean) => {
    const rows = all ? work.rows.length : Math.min(kRows, work.rows.length);
    const sums = (label: string, ms: number, className = "") => ms !== 0 && h("tr", { class: className }, h("td", { colspan: 5 }, say(label)), h("td", { class: "n" }, difference(ms, most)));
    replace(
      body,
      work.rows.slice(0, rows).map(row),
      sums("compare_others", below(work, rows)),
      sums("compare_rest", work.rest_ms),
      h("tr", { class: "sum" }, h("td", { colspan: 5 }, say("compare_busy")), h("td", { class: "n" }, difference(busy, Math.max(most, Math.abs(busy))))),
    );
  };
  fill(false);
  const more = h("button", { type: "button", class: "link", click: () => ((more.hidden = true), fill(true)) }, say("show_all", count(work.rows.length)));
  more.hidden = work.rows.length <= kRows;
  return h("div", { class: "scroll" }, h("table", {}, head(["name", "compare_launches_before", "compare_launches_after", "compare_before", "compare_after", "compare_delta"]), body), more);
}

function workCard(page: Page, compare: Compare): HTMLElement | null {
  // Each adds up to the same difference: by op, by kernel, by module of the model, by the user's ranges.
  const divisions = ([["ops", compare.ops, "op", "operators"], ["work", compare.work, "kernel", "kernels"], ["modules", compare.modules, "module", "modules"], ["annotations", compare.annotations, "annotation", "annotations"]] as [string, ComparedWork | undefined, string, string][]).flatMap(([id, work, kind, words]) => (work && work.rows.length > 0 ? [{ id, work, kind, words }] : []));
  if (divisions.length === 0) return null;
  const body = h("div");
  const show = (which: string) => {
    const chosen = divisions.find((one) => one.id === which) ?? divisions[0];
    replace(body, workTable(page, chosen.work, compare.busy_delta_ms, chosen.kind));
  };
  const first = divisions[0].id;
  show(first);
  return h(
    "section",
    { class: "card" },
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, say("compare_work")),
      choice<string>(
        say("compare_work"),
        divisions.map((one) => [one.id, say(one.words)] as [string, string]),
        first,
        show,
      ),
    ),
    body,
  );
}

function findingsCard(page: Page, compare: Compare): HTMLElement {
  const section = h("section", { class: "card" }, h("h2", {}, say("compare_findings")));
  if (compare.findings.length === 0) section.append(h("p", { class: "quiet" }, say("nothing_found")));
  for (const finding of compare.findings) {
    const rule = page.about.rules[finding.rule];
    const mark = finding.status === "vanished" ? "✓" : finding.status === "appeared" ? "+" : "•";
    const cost = [finding.before_ms !== null && `${say("compare_before")} ${duration(finding.before_ms)}`, finding.after_ms !== null && `${say("compare_after")} ${duration(finding.after_ms)}`];
    section.append(
      h(
        "p",
        { class: "note", "data-rule": finding.rule },
        h("span", { class: "mark " + (finding.status === "vanished" ? "ok" : finding.status === "appeared" ? "bad" : "") }, mark),
        " ",
        h("b", {}, rule ? pick(rule.title) : visible(finding.rule)),
        ` ${say(finding.status === "vanished" ? "compare_gone" : finding.status === "appeared" ? "compare_new" : "compare_still")}`,
        h("span", { class: "quiet" }, ` ${cost.filter(Boolean).join(", ")}`),
      ),
    );
  }
  section.append(h("p", { class: "quiet small" }, say("compare_after_report")));
  return section;
}

function surroundings(compare: Compare): HTMLElement {
  const section = h("section", { class: "card" }, h("h2", {}, say("compare_environment")));
  if (compare.environment.length === 0) section.append(h("p", { class: "quiet" }, say("compare_environment_same")));
  else
    section.append(
      h(
        "table",
        {},
        head(["name", "compare_before", "compare_after"]),
        h("tbody", {}, compare.environment.map((change) => h("tr", {}, h("td", {}, visible(change.key), change.may_explain && h("div", { class: "quiet small" }, `${say("compare_may_explain")} ${visible(change.may_explain)}`)), h("td", { class: "n" }, visible(change.before ?? "–")), h("td", { class: "n" }, visible(change.after ?? "–"))))),
      ),
    );
  if (compare.not_comparable.length > 0) section.append(h("h3", {}, say("compare_limits")), ...compare.not_comparable.map((text) => h("p", { class: "note" }, visible(text))));
  return section;
}

function figuresCard(compare: Compare): HTMLElement | null {
  if (compare.numbers.length === 0) return null;
  return h(
    "section",
    { class: "card" },
    h("h2", {}, say("compare_figures")),
    h(
      "table",
      {},
      head(["name", "compare_before", "compare_after", "compare_ratio"]),
      h("tbody", {}, compare.numbers.map((number) => h("tr", {}, h("td", { title: visible(number.path) }, visible(say(number.path))), h("td", { class: "n" }, figure(number.path, number.before) || say("not_measured")), h("td", { class: "n" }, figure(number.path, number.after) || say("not_measured")), h("td", { class: "n" }, number.ratio === null ? "–" : `${number.ratio.toFixed(2)}x`)))),
    ),
  );
}

function implementations(compare: Compare): HTMLElement | null {
  if (compare.implementations.length === 0) return null;
  const list = (kernels: string[]) => kernels.map((kernel) => h("div", { title: visible(kernel) }, shortened(visible(kernel), 70)));
  return h(
    "section",
    { class: "card" },
    h("h2", {}, say("compare_implementations")),
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        {},
        head(["name", "compare_before", "compare_after", "compare_delta"]),
        h(
          "tbody",
          {},
          compare.implementations.slice(0, 30).map((row) =>
            h("tr", {}, h("td", {}, visible(row.op), h("div", { class: "quiet small" }, shortened(visible(row.dims), 60), row.before_types !== row.after_types && ` ${visible(row.before_types)} → ${visible(row.after_types)}`)), h("td", {}, list(row.before)), h("td", {}, list(row.after)), h("td", { class: "n" }, signed(row.delta_ms))),
          ),
        ),
      ),
    ),
  );
}

// Keys that this page does not know yet, as they stand in report.json.
function others(compare: Compare): HTMLElement | null {
  const more = Object.entries(compare).filter(([key, value]) => !kKnown.has(key) && value !== null && !(Array.isArray(value) && value.length === 0));
  if (more.length === 0) return null;
  return h("section", { class: "card" }, h("h2", {}, say("other_parts")), more.map(([key, value]) => fold({ class: "rest deep" }, [key.replaceAll("_", " ")], () => [shown(value, 0)])));
}

function runs(compare: Compare): HTMLElement {
  const line = (label: string, run: Compare["before"]) =>
    h("p", { class: "step-line" }, h("b", {}, say(label)), " ", h("code", { class: "path" }, visible(run.file ?? "–")), h("span", { class: "quiet" }, ` ${[...run.devices.map(visible), `${count(run.steps)} ${say("steps_recorded")}`].join(", ")}`));
  return h("section", {}, line("compare_before", compare.before), line("compare_after", compare.after));
}

export function comparison(page: Page, compare: Compare): HTMLElement {
  // First, since rows of the tables open what it shows.
  page.openDetails = undefined;
  const trees = guarded(() => treesCard(page));
  return h(
    "main",
    { class: "compare" },
    guarded(() => headline(compare)),
    guarded(() => runs(compare)),
    h("div", { class: "columns" }, h("div", {}, guarded(() => stepCard(compare))), h("div", {}, guarded(() => findingsCard(page, compare)), guarded(() => surroundings(compare)))),
    trees,
    guarded(() => workCard(page, compare)),
    guarded(() => implementations(compare)),
    guarded(() => figuresCard(compare)),
    guarded(() => others(compare)),
  );
}
