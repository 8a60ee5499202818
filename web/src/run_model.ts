// View model of a whole run as a recorder that watches keeps it: epochs, outliers, level shifts. Pure.
import type { Report } from "./types";

export interface RunPoint {
  step: number;
  steps: number;
  start_s: number;
  step_ms: number;
  longest_ms: number;
  loader_wait_ms: number | null;
  loss: number | null;
  samples_s: number | null;
  epoch: number | null;
}
export interface Run {
  first_step: number;
  last_step: number;
  steps: number;
  missing: number;
  seconds: number;
  window_s: number | null;
  points: RunPoint[];
}
export interface Shift {
  at: number; // first point of the new level
  before_ms: number;
  after_ms: number;
}
export interface Epoch {
  number: number | null;
  first: number; // point
  last: number;
  mean_ms: number;
}

// A step that is half as long again as a usual one, and further away from it than six times the usual distance.
export const kOutlier = 1.5;
const kDistances = 6;
// A level holds for this many points at least, and differs by a tenth from the one before.
export const kLevelPoints = 8;
export const kLevelShare = 0.1;

export function runOf(report: Report): Run | null {
  const run = report.run as Run | null | undefined;
  return run && run.points.length > 1 ? run : null;
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length === 0 ? 0 : sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

function spread(values: number[], middle: number): number {
  return median(values.map((value) => Math.abs(value - middle)));
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

export function epochsOf(points: RunPoint[]): Epoch[] {
  const epochs: Epoch[] = [];
  points.forEach((point, i) => {
    const last = epochs[epochs.length - 1];
    if (!last || last.number !== point.epoch) epochs.push({ number: point.epoch, first: i, last: i, mean_ms: 0 });
    else last.last = i;
  });
  for (const epoch of epochs) {
    const own = points.slice(epoch.first, epoch.last + 1);
    const steps = own.reduce((sum, point) => sum + point.steps, 0);
    epoch.mean_ms = own.reduce((sum, point) => sum + point.step_ms * point.steps, 0) / Math.max(1, steps);
  }
  return epochs;
}

// Where the level changes for good: the medians of the points before and after differ by more than their own spread.
export function shiftsOf(points: RunPoint[]): Shift[] {
  const times = points.map((point) => point.step_ms);
  const shifts: Shift[] = [];
  let level = 0; // first point of the present level
  let best: (Shift & { size: number }) | null = null;
  for (let i = kLevelPoints; i + kLevelPoints <= times.length; ++i) {
    if (i - level < kLevelPoints) continue;
    const before = times.slice(Math.max(level, i - 4 * kLevelPoints), i);
    const after = times.slice(i, i + kLevelPoints);
    const [from, to] = [median(before), median(after)];
    const size = Math.abs(to - from);
    const noise = spread(before, from) + spread(after, to);
    const is = size > kLevelShare * from && size > 3 * noise;
    // Medians say whether, means say where: they differ most at the edge itself.
    const step = Math.abs(mean(before.slice(-kLevelPoints)) - mean(after));
    if (is && (!best || step > best.size)) best = { at: i, before_ms: from, after_ms: to, size: step };
    // The edge is where the two sides differ most; it is settled once the window has passed it.
    if (best && (!is || i - best.at >= kLevelPoints)) {
      shifts.push({ at: best.at, before_ms: best.before_ms, after_ms: best.after_ms });
      level = best.at;
      best = null;
    }
  }
  if (best) shifts.push({ at: best.at, before_ms: best.before_ms, after_ms: best.after_ms });
  return shifts;
}

// Points that hold a step far above the level they stand on.
export function outliersOf(points: RunPoint[], shifts: Shift[]): number[] {
  const edges = [0, ...shifts.map((shift) => shift.at), points.length];
  const list: number[] = [];
  for (let e = 0; e + 1 < edges.length; ++e) {
    const own = points.slice(edges[e], edges[e + 1]).map((point) => point.step_ms);
    const middle = median(own);
    const far = Math.max(kOutlier * middle, middle + kDistances * spread(own, middle));
    for (let i = edges[e]; i < edges[e + 1]; ++i) if (points[i].longest_ms > far) list.push(i);
  }
  return list;
}
