// View models of the comparison of two runs: its sentence, the parts that make the difference, rows with their bars. Pure.
import { bytes, count, duration, percent, threeDigits } from "./format";

export interface ComparedPart {
  name: string;
  status: string;
  before_ms: number;
  after_ms: number;
  delta_ms: number;
  before_count: number | null;
  after_count: number | null;
}
export interface ComparedStep {
  before_ms: number;
  after_ms: number;
  delta_ms: number;
  ratio: number | null;
  delta_low_ms: number | null;
  delta_high_ms: number | null;
  verdict: string;
  parts: ComparedPart[];
}
export interface ComparedWork {
  rows: ComparedPart[];
  others_ms: number;
  rest_ms: number;
}
export interface ComparedRun {
  file: string | null;
  steps: number;
  devices: string[];
}
export interface Compare {
  before: ComparedRun;
  after: ComparedRun;
  measured: ComparedStep | null;
  undisturbed: ComparedStep | null;
  busy_delta_ms: number;
  work: ComparedWork;
  ops: ComparedWork;
  modules?: ComparedWork; // older reports have neither
  annotations?: ComparedWork;
  implementations: { op: string; dims: string; before_types: string; after_types: string; before: string[]; after: string[]; before_ms: number; after_ms: number; delta_ms: number }[];
  numbers: { path: string; before: number | null; after: number | null; delta: number | null; ratio: number | null }[];
  findings: { rule: string; status: string; before_ms: number | null; after_ms: number | null }[];
  environment: { key: string; before: string | null; after: string | null; may_explain: string | null }[];
  not_comparable: string[];
  [later: string]: unknown;
}

export type Sure = "faster" | "slower" | "same" | "unknown";

// What the two runs are judged by: the undisturbed step, or the recorded one where only that decides.
export interface Answer {
  step: ComparedStep;
  undisturbed: boolean;
  verdict: Sure;
  other: ComparedStep | null; // the other figure, said beside it
}

export function answerOf(compare: Compare): Answer | null {
  const { measured, undisturbed } = compare;
  const main = undisturbed ?? measured;
  if (!main) return null;
  return { step: main, undisturbed: main === undisturbed, verdict: main.verdict as Sure, other: main === undisturbed ? measured : null };
}

// The parts that explain the difference, those of its own sign first, down to a tenth of it; at most three.
export function reasons(step: ComparedStep): ComparedPart[] {
  const sign = Math.sign(step.delta_ms);
  const least = Math.abs(step.delta_ms) / 10;
  return step.parts
    .filter((part) => Math.sign(part.delta_ms) === sign && Math.abs(part.delta_ms) >= least && Math.abs(part.delta_ms) > 0)
    .sort((a, b) => Math.abs(b.delta_ms) - Math.abs(a.delta_ms))
    .slice(0, 3);
}

export function signed(ms: number): string {
  if (ms === 0) return "0 ms";
  return (ms > 0 ? "+" : "−") + duration(Math.abs(ms));
}

// A bar to the left of the middle for less time, to the right for more; shares of half the width.
export function bar(delta: number, most: number): { left: number; width: number } {
  const share = most > 0 ? Math.min(1, Math.abs(delta) / most) : 0;
  return { left: delta < 0 ? 0.5 - share / 2 : 0.5, width: share / 2 };
}

export function largest(rows: ComparedPart[]): number {
  return rows.reduce((most, row) => Math.max(most, Math.abs(row.delta_ms)), 0);
}

// What stands below the first `most` rows: they, the rest and the rows add up to the difference of the working time.
export function below(work: ComparedWork, most: number): number {
  return work.rows.slice(most).reduce((sum, row) => sum + row.delta_ms, work.others_ms);
}

export function figure(path: string, value: number | null): string {
  if (value === null) return "";
  if (path.endsWith("_ms")) return duration(value);
  if (path.endsWith("_us")) return duration(value / 1e3);
  if (path.endsWith("_bytes")) return bytes(value);
  if (path.startsWith("utilisation.")) return percent(value);
  return Math.abs(value) >= 1000 ? count(value) : Number.isInteger(value) ? String(value) : threeDigits(value);
}
