import assert from "node:assert/strict";
import { test } from "node:test";
import { RunPoint, epochsOf, outliersOf, runOf, shiftsOf } from "../src/run_model";
import type { Report } from "../src/types";

const points = (times: number[], more: (i: number) => Partial<RunPoint> = () => ({})): RunPoint[] => {
  let at = 0;
  return times.map((step_ms, i) => {
    const point = { step: i, steps: 1, start_s: at, step_ms, longest_ms: step_ms, loader_wait_ms: null, loss: null, samples_s: null, epoch: null, ...more(i) };
    at += step_ms / 1e3;
    return point;
  });
};
const wobble = (i: number) => 100 + 2 * Math.sin(1.7 * i);

test("a level that changes for good is one shift, at its first step", () => {
  const shifts = shiftsOf(points(Array.from({ length: 120 }, (_, i) => wobble(i) + (i >= 60 ? 40 : 0))));
  assert.equal(shifts.length, 1);
  assert.equal(shifts[0].at, 60);
  assert.ok(Math.abs(shifts[0].after_ms - 140) < 3);
});

test("noise, a single slow step and a short run have no shift", () => {
  assert.deepEqual(shiftsOf(points(Array.from({ length: 200 }, (_, i) => wobble(i)))), []);
  assert.deepEqual(shiftsOf(points(Array.from({ length: 200 }, (_, i) => (i % 50 === 20 ? 400 : wobble(i))))), []);
  assert.deepEqual(shiftsOf(points([100, 300, 100])), []);
});

test("up and down again are two shifts", () => {
  const shifts = shiftsOf(points(Array.from({ length: 150 }, (_, i) => wobble(i) + (i >= 50 && i < 100 ? 60 : 0))));
  assert.deepEqual(shifts.map((shift) => Math.round(shift.at / 10)), [5, 10]);
});

test("slow steps are told from their own level", () => {
  const list = points(Array.from({ length: 120 }, (_, i) => wobble(i) + (i >= 60 ? 100 : 0)), (i) => (i === 30 || i === 90 ? { longest_ms: 420 } : {}));
  assert.deepEqual(outliersOf(list, shiftsOf(list)), [30, 90]);
});

test("an epoch is the mean over its steps, and a run without epochs is one piece", () => {
  const list = points([10, 20, 30, 40], (i) => ({ epoch: i >> 1, steps: i === 0 ? 3 : 1 }));
  assert.deepEqual(epochsOf(list).map((epoch) => [epoch.number, epoch.mean_ms]), [[0, 12.5], [1, 35]]);
  assert.equal(epochsOf(points([1, 2, 3])).length, 1);
});

test("a report without a run shows none", () => {
  assert.equal(runOf({} as Report), null);
  assert.equal(runOf({ run: null } as unknown as Report), null);
  assert.equal(runOf({ run: { points: points([1]) } } as unknown as Report), null);
});
