// The summary: the sentence, the bar, the plan, the flame graph with its details, the ladder, tables and the trust box.
import { barParts } from "./bar";
import { choice, copyButton, fold, guarded, h, replace } from "./dom";
import { flameCard } from "./flame_card";
import { count, duration, evidenceFigure, percent, shortened, span, speedup, visible } from "./format";
import { efficiencyCard, stepsCard } from "./efficiency";
import { memoryCard } from "./memory";
import { currentLanguage, pick, said, say } from "./strings";
import type { Page } from "./page";
import type { Evidence, Finding, Gain, PlanStep, Report, TimeParts } from "./types";

const zh = () => currentLanguage() === "zh";
const comma = () => (zh() ? "，" : ", ");

export function sureness(confidence: number): string {
  return say(confidence >= 0.9 ? "sure" : confidence >= 0.7 ? "quite_sure" : confidence >= 0.5 ? "likely" : confidence >= 0.25 ? "unsure" : "guess");
}

function band(low: number | null, high: number | null): string {
  if (low === null || high === null) return "";
  const text = span(low, high, zh() ? "至" : "to");
  return zh() ? `（${text}）` : ` (${text})`;
}

export function unit(report: Report): "step" | "iteration" | "window" {
  if (report.step_time.source === "whole_window") return "window";
  return report.job.kind === "inference" ? "iteration" : "step";
}

function stepLine(report: Report): string {
  const step = report.step_time;
  if (step.mean_ms === null) return "";
  const parts: string[] = [];
  const estimated = step.undisturbed_ms !== null && report.distortion.cost_ms !== null;
  if (estimated) parts.push(say("undisturbed_about", duration(step.undisturbed_ms as number), band(step.undisturbed_low_ms, step.undisturbed_high_ms)));
  let recorded = say("measured_value", duration(step.mean_ms));
  if (unit(report) !== "window") {
    const inner = [say(step.count === 1 ? "of_one" : unit(report) === "step" ? "mean_of_steps" : "mean_of_iterations", count(step.count))];
    if (step.paced_by !== "unknown") inner.push(say(step.paced_by === "device" ? "paced_by_device" : "paced_by_host"));
    recorded += zh() ? `（${inner.join("，")}）` : ` (${inner.join(", ")})`;
  }
  parts.push(recorded);
  if (!estimated) parts.push(say("cost_unknown"));
  return parts.join(zh() ? "；" : "; ");
}

function headline(report: Report): HTMLElement {
  const verdict = report.verdict;
  const section = h("section", { class: "verdict" });
  const chips = h("div", { class: "chips" });
  if (verdict.bound_by !== "unknown") {
    chips.append(h("span", { class: "chip strong" }, `${say("limited_by")} ${say("bound_" + verdict.bound_by)}`), h("span", { class: "chip" }, sureness(verdict.confidence)));
  }
  section.append(h("h1", {}, said(verdict.sentence)));
  section.append(chips);
  const line = stepLine(report);
  if (line) section.append(h("p", { class: "step-line" }, h("b", {}, say(unit(report)) + " "), line));
  return section;
}

function bar(parts: TimeParts, scaleTo: number, showDetails: (text: string) => void): HTMLElement {
  const list = barParts(parts);
  const strip = h("div", { class: "bar", role: "img", "aria-label": list.map((part) => `${say(part.id)} ${duration(part.ms)}`).join(", ") });
  strip.style.width = `${(100 * parts.window_ms) / scaleTo}%`;
  for (const part of list) {
    const piece = h("div", { class: part.idle ? "piece idle" : "piece", title: `${say(part.id)} ${duration(part.ms)} (${percent(part.share)})` });
    piece.style.flexGrow = String(part.ms);
    piece.style.background = `var(${part.colour})`;
    if (part.share > 0.06) piece.append(h("span", {}, part.share > 0.16 ? `${say(part.id)} ${duration(part.ms)}` : percent(part.share)));
    piece.addEventListener("click", () => showDetails(part.id));
    strip.append(piece);
  }
  return strip;
}

function timeBar(report: Report): HTMLElement {
  const measured = report.time_breakdown;
  const undisturbed = report.time_breakdown_undisturbed;
  const section = h("section", { class: "card time" });
  const heading = unit(report) === "step" ? "where_step_goes" : unit(report) === "iteration" ? "where_iteration_goes" : "where_window_goes";
  if (!measured || !undisturbed) {
    section.append(h("h2", {}, say(heading)), h("p", { class: "quiet" }, reason(report, "time_breakdown")));
    return section;
  }
  const body = h("div");
  const show = (which: "undisturbed" | "measured") => {
    const parts = which === "measured" ? measured : undisturbed;
    const table = h("div", { class: "legend" });
    for (const part of barParts(parts)) {
      const swatch = h("span", { class: part.idle ? "swatch idle" : "swatch" });
      swatch.style.background = `var(${part.colour})`;
      table.append(
        h("div", { class: "legend-item" }, swatch, h("span", { class: "legend-name" }, part.idle ? `${say("idle")}: ${say(part.id)}` : say(part.id)), h("b", {}, duration(part.ms)), h("span", { class: "quiet" }, percent(part.share))),
      );
    }
    const total = h("div", { class: "legend-item whole" }, h("span", { class: "legend-name" }, say("whole")), h("b", { "data-figure": "window_ms" }, duration(parts.window_ms)));
    table.append(total);
    if (parts.communication_overlapped_ms > 0) table.append(h("p", { class: "quiet" }, say("overlapped", duration(parts.communication_overlapped_ms))));
    replace(body, bar(parts, Math.max(measured.window_ms, undisturbed.window_ms), () => undefined), table);
  };
  section.append(
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, say(heading)),
      choice<"undisturbed" | "measured">(
        say(heading),
        [
          ["undisturbed", say("undisturbed")],
          ["measured", say("measured")],
        ],
        "undisturbed",
        show,
      ),
    ),
    body,
  );
  show("undisturbed");
  return section;
}

export function reason(report: Report, path: string): string {
  const entry = report.not_measured.find((item) => item.path === path) ?? report.not_measured.find((item) => item.path.startsWith(path));
  return say("not_measured") + (entry ? `${zh() ? "：" : ": "}${said(entry.reason)}` : "");
}

// The step before and after on one axis, the band as a lighter stretch.
function gainGraphic(report: Report, step: number | null, low: number | null, high: number | null): HTMLElement | null {
  const now = report.step_time.undisturbed_ms;
  if (now === null || step === null || now <= 0) return null;
  const most = Math.max(now, high ?? 0, step);
  const graphic = h("div", { class: "gain", "aria-hidden": "true" });
  const stroke = (className: string, from: number, to: number) => {
    const piece = h("div", { class: className });
    piece.style.left = `${(100 * from) / most}%`;
    piece.style.width = `${(100 * Math.max(to - from, 0)) / most}%`;
    return piece;
  };
  const row = (text: string, ...pieces: HTMLElement[]) => h("div", { class: "gain-row" }, h("span", {}, text), h("div", { class: "gain-axis" }, ...pieces));
  graphic.append(row(say("now"), stroke("gain-now", 0, now)));
  const after = [stroke("gain-after", 0, step)];
  if (low !== null && high !== null) after.push(stroke("gain-band", low, high));
  graphic.append(row(say("after"), ...after));
  return graphic;
}

export function gainText(gain: Gain, report: Report): string {
  const now = report.step_time.undisturbed_ms;
  if (gain.step_ms === null || now === null) {
    return gain.max_possible_speedup !== null && gain.max_possible_speedup > 1 ? say("upper_bound", speedup(gain.max_possible_speedup)) : say("gain_unknown");
  }
  let text = `${duration(now)} → ${duration(gain.step_ms)}${band(gain.step_low_ms, gain.step_high_ms)}`;
  if (gain.speedup !== null) text += comma() + speedup(gain.speedup);
  return text + comma() + say("basis_" + gain.basis);
}

function planText(step: PlanStep, finding: Finding | undefined, report: Report): string {
  if (step.expected_step_ms === null) return finding ? gainText(finding.gain, report) : say("gain_unknown");
  let text = `${duration(step.expected_step_ms)} ${say("per_" + unit(report))}${band(step.expected_step_low_ms, step.expected_step_high_ms)}`;
  if (step.cumulative_speedup !== null) text += comma() + speedup(step.cumulative_speedup);
  if (finding) text += [say("basis_" + finding.gain.basis), sureness(finding.confidence)].map((word) => comma() + word).join("");
  return text;
}

function evidenceItem(evidence: Evidence): HTMLElement {
  const figure = evidenceFigure(evidence.value, evidence.unit);
  return h("li", {}, said(evidence.text), figure && (zh() ? "：" : ": "), figure && h("b", {}, figure));
}

function placeText(finding: Finding): string[] {
  return finding.where.map((place) => {
    let text = `${place.kind} ${place.name}`;
    if (place.file && !place.name.includes(place.file)) text += `, ${place.file}${place.line === null ? "" : ":" + place.line}`;
    if (place.rank !== null) text += `, rank ${place.rank}`;
    return shortened(visible(text), 140);
  });
}

function command(text: string): HTMLElement | null {
  if (!text) return null;
  return h("div", { class: "command" }, h("pre", {}, text.split("\n").map(visible).join("\n")), copyButton(text, say("copy"), say("copied")));
}

function findingDetails(finding: Finding, page: Page): HTMLElement {
  const rule = page.about.rules[finding.rule];
  const action = finding.action;
  const item = (label: string, text: string) => text !== "" && h("p", {}, h("b", {}, `${say(label)}: `), said(text));
  return h(
    "div",
    { class: "finding-body" },
    h("ul", {}, finding.evidence.map(evidenceItem)),
    placeText(finding).map((text) => h("p", {}, h("b", {}, `${say("where")}: `), h("code", {}, text))),
    h("p", {}, h("b", {}, `${say("action")}: `), said(action.title), action.detail && `${zh() ? "。" : ". "}${said(action.detail)}`),
    h("p", {}, h("b", {}, `${say("gain")}: `), gainText(finding.gain, page.report)),
    item("side_effects", action.side_effects),
    item("not_when", action.not_when),
    rule && h("p", { class: "quiet" }, h("b", {}, `${say("what_means")}: `), pick(rule.meaning)),
    rule && h("p", { class: "quiet" }, h("b", {}, `${say("how_known")}: `), pick(rule.how_we_know)),
    rule && h("p", { class: "quiet" }, h("b", {}, `${say("when_wrong")}: `), pick(rule.when_wrong)),
  );
}

function plan(report: Report, page: Page): HTMLElement {
  const section = h("section", { class: "card plan" }, h("h2", {}, say("next_steps")));
  const findings = new Map(report.findings.map((finding) => [finding.id, finding]));
  const planned = new Set(report.plan.map((step) => step.finding_id));
  const list = h("ol", { class: "plan-list" });
  for (const step of report.plan) {
    const finding = findings.get(step.finding_id);
    list.append(
      h(
        "li",
        { "data-rule": step.rule },
        h("h3", {}, said(step.title)),
        finding && h("p", { class: "evidence" }, said(finding.title)),
        h("p", { class: "expected" }, h("b", {}, `${say("expected_step")}: `), planText(step, finding, report)),
        gainGraphic(report, step.expected_step_ms, step.expected_step_low_ms, step.expected_step_high_ms),
        finding && command(finding.action.command),
        finding && fold({}, [say("all_evidence")], () => [findingDetails(finding, page)]),
      ),
    );
  }
  if (report.plan.length > 0) section.append(list);
  const others = report.findings.filter((finding) => !planned.has(finding.id));
  if (report.findings.length === 0) section.append(h("p", {}, say(report.verdict.bound_by === "unknown" ? "no_conclusion" : "nothing_found")));
  for (const finding of others) {
    section.append(
      fold({ class: "other-finding", "data-rule": finding.rule }, [h("span", { class: "severity " + finding.severity }, say("severity_" + finding.severity)), " ", said(finding.title)], () => [
        findingDetails(finding, page),
        command(finding.action.command),
      ]),
    );
  }
  return section;
}

function ladder(report: Report): HTMLElement {
  const section = h("section", { class: "card" }, h("h2", {}, say("ladder")));
  const reasons = new Set<string>();
  const sentence = report.utilisation.sentence;
  if (typeof sentence === "string") section.append(h("p", {}, said(sentence)));
  for (const rung of ["nvml", "device_busy", "sm_active", "sm_active_estimate", "tensor_active", "tensor_time", "roof_share", "mfu"]) {
    const value = report.utilisation[rung];
    if (value === undefined || typeof value === "string") continue;
    const line = h("div", { class: "rung" }, h("span", { class: "rung-name" }, say(rung)));
    if (value === null) {
      const text = reason(report, "utilisation." + rung);
      reasons.add(text);
      line.append(h("div", { class: "rung-axis none", title: text }), h("span", { class: "quiet" }, say("not_measured")));
    } else {
      const fill = h("div", { class: "rung-fill" });
      fill.style.width = `${Math.min(100, 100 * value)}%`;
      line.append(h("div", { class: "rung-axis" }, fill), h("b", {}, percent(value)));
    }
    section.append(line);
  }
  for (const text of reasons) section.append(h("p", { class: "quiet small" }, text));
  if (report.health.length > 0) {
    section.append(h("h3", {}, say("health")));
    for (const measure of report.health) {
      if (measure.value === null) continue;
      section.append(
        h(
          "div",
          { class: "health" },
          h("span", { class: measure.ok ? "mark ok" : "mark bad" }, measure.ok ? "✓" : "✗"),
          h("span", { class: "rung-name" }, say(measure.measure)),
          h("b", {}, percent(measure.value)),
          h("span", { class: "quiet" }, `${say(measure.at_least ? "at_least" : "at_most")} ${percent(measure.bound)}`),
        ),
      );
    }
  }
  return section;
}

function trust(report: Report): HTMLElement {
  const section = h("section", { class: "card trust" }, h("h2", {}, say("trust")));
  section.append(h("h3", {}, say("trust_lost")));
  if (report.notes.length === 0) section.append(h("p", {}, say("no_notes")));
  for (const note of report.notes) {
    section.append(
      h(
        "p",
        { class: "note" },
        h("span", { class: "severity " + note.severity }, note.severity),
        " ",
        said(note.message),
        note.count > 1 && `, ${count(note.count)} ${say("times")}`,
        note.where && h("span", { class: "quiet" }, ", ", visible(note.where)),
        h("br"),
        h("span", { class: "quiet" }, "→ ", said(note.remedy)),
      ),
    );
  }
  section.append(h("h3", {}, say("trust_distortion")));
  if (report.distortion.cost_ms === null) section.append(h("p", {}, say("cost_unknown")));
  else {
    section.append(h("p", {}, h("b", {}, duration(report.distortion.cost_ms)), ` ${say("per_" + unit(report))}`, report.distortion.model && h("span", { class: "quiet" }, `${zh() ? "：" : ": "}${said(report.distortion.model as string)}`)));
    const kinds = Object.entries(report.distortion.by_kind).filter(([, ms]) => ms > 0);
    if (kinds.length > 0) section.append(h("p", { class: "quiet" }, kinds.map(([kind, ms]) => `${visible(kind)} ${duration(ms)}`).join(", ")));
  }
  if (report.replay.error !== null) section.append(h("p", {}, `${say("replay_error")} ${percent(Math.abs(report.replay.error))}`));
  const reasons = new Map<string, string[]>();
  for (const entry of report.not_measured) reasons.set(entry.reason, [...(reasons.get(entry.reason) ?? []), entry.path]);
  section.append(
    fold({}, [`${say("trust_missing")} (${report.not_measured.length})`], () => [
      h("dl", {}, [...reasons].flatMap(([text, paths]) => [h("dt", {}, said(text)), h("dd", {}, paths.map((path) => h("code", {}, path)))])),
    ]),
  );
  return section;
}

export function summary(page: Page): HTMLElement {
  const report = page.report;
  return h(
    "main",
    { class: "summary" },
    guarded(() => headline(report)),
    h("div", { class: "columns" }, h("div", {}, guarded(() => timeBar(report)), guarded(() => flameCard(page))), h("div", {}, guarded(() => plan(report, page)))),
    h("div", { class: "columns even" }, guarded(() => ladder(report)), guarded(() => trust(report))),
    guarded(() => stepsCard(report)),
    guarded(() => efficiencyCard(page)),
    guarded(() => memoryCard(page)),
    guarded(() => page.tables()),
  );
}
