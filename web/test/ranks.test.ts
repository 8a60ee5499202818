import assert from "node:assert/strict";
import { test } from "node:test";
import { firstRankNamed } from "../src/rank_trees";
import { Collective, axisOf, hasSeveral, heatMap, kinds, oddRanks, ranges, ranksOf, shades, shortList, tellingMeasure, waitOf } from "../src/ranks_model";
import type { Report, TimeParts } from "../src/types";

const parts = (compute_ms: number, host: number): TimeParts => ({ window_ms: compute_ms + host, compute_ms, memcpy_ms: 0, communication_exposed_ms: 0, communication_overlapped_ms: 0, idle_ms: host, idle_causes: { host_compute: host, unknown: 0 } });
const collective = (more: Partial<Collective>): Collective => ({
  name: "all_reduce", group: "default_pg", seq: 1, bytes: 1e6, ranks: [0, 1], first_rank: 0, last_rank: 1, arrival_spread_us: 900, wait_ms: 0.9, transfer_ms: 0.1, global_ms: 1, local_ms: { "0": 1, "1": 0.1 }, busbw_gbps: 10, exposed_ms: 1, path: "NV18", ...more,
});
const job = (collectives: Collective[]): Report =>
  ({
    job: { ranks: [{ rank: 1, host: "b", devices: [] }, { rank: 0, host: "a", devices: [] }] },
    steps: [0, 1].flatMap((rank) => [0, 1].map((index) => ({ index, rank, start_ns: 0, duration_ms: 10 + rank, complete: true, class: "train" }))),
    breakdown: [{ rank: 0, device: 0, measured: parts(9, 1), undisturbed: parts(9, 0) }, { rank: 1, device: 0, measured: parts(5, 6), undisturbed: parts(5, 5) }],
    communication: { collectives, groups: [] },
  }) as unknown as Report;

test("the heat map has a row of values for each measure that is not zero everywhere", () => {
  const map = heatMap(job([collective({}), collective({ seq: 2 })]), false);
  assert.deepEqual(map.ranks, [0, 1]);
  assert.deepEqual(map.hosts, ["a", "b"]);
  const of = (id: string) => map.measures.find((measure) => measure.id === id)?.values;
  assert.deepEqual(of("step"), [10, 11]);
  assert.deepEqual(of("compute"), [9, 5]);
  assert.deepEqual(of("host_compute"), [1, 6]);
  assert.deepEqual(of("collective_wait"), [0.9, 0]); // two waits of 0.9 ms in two steps
  assert.equal(of("unknown"), undefined);
  assert.deepEqual(heatMap(job([]), true).measures.find((measure) => measure.id === "step")?.values, [9, 10]);
});

test("a small spread gets no colour of its own", () => {
  assert.deepEqual(shades([0, 5, 10]), [0, 0.5, 1]);
  assert.ok((shades([100, 101])[1] as number) < 0.1 + 1e-9);
  assert.deepEqual(shades([null, 3]), [null, 0]);
});

test("ranks that differ from the middle one are found", () => {
  assert.deepEqual(oddRanks({ id: "step", idle: false, values: [10, 10, 10, 20] }, 0.1).map((one) => one.at), [3]);
  assert.deepEqual(oddRanks({ id: "step", idle: false, values: [0, 0, 0, 20] }, 0.1), []);
});

test("ranks in a row are a range", () => {
  assert.equal(ranges([0, 1, 2, 3, 8, 10, 11]), "0–3, 8, 10, 11");
  assert.equal(ranges([]), "");
});

test("of many ranks the measure in which one stands out is shown first", () => {
  const measures = [{ id: "step", idle: false, values: [10, 10, 10] }, { id: "compute", idle: false, values: [3, 3, 9] }, { id: "idle", idle: false, values: [2, 2, 1] }];
  assert.equal(tellingMeasure({ ranks: [0, 1, 2], hosts: [], measures }).id, "compute");
});

test("waiting is the own duration beyond the transfer", () => {
  assert.equal(waitOf(collective({}), 0), 0.9);
  assert.equal(waitOf(collective({}), 1), 0);
  assert.equal(waitOf(collective({ transfer_ms: null }), 0), null);
  assert.equal(waitOf(collective({}), 7), null);
});

test("collectives of one name, group and size are one kind; the heaviest comes first", () => {
  const list = kinds([collective({}), collective({ bytes: 5, wait_ms: null, transfer_ms: 0.01, last_rank: null }), collective({ seq: 2, busbw_gbps: 30 })]);
  assert.deepEqual(list.map((kind) => kind.rows), [[0, 2], [1]]);
  assert.equal(list[0].wait_ms, 1.8);
  assert.equal(list[0].busbw_gbps, 10);
  assert.deepEqual(list[0].last, { rank: 1, times: 2 });
  assert.equal(list[1].wait_ms, null);
  assert.equal(list[1].last, null);
});

test("on the common axis ranks stand by arrival, and all end together unless arrivals are recorded", () => {
  const axis = axisOf(collective({}), [{ host: "a", ranks: [0], offset_us: 0, drift_ppm: null, residual_us: 3, method: "" }, { host: "b", ranks: [1], offset_us: 1, drift_ppm: null, residual_us: 8, method: "" }]);
  assert.deepEqual(axis?.bars.map((bar) => [bar.rank, bar.arrival_us]), [[0, 0], [1, 900]]);
  assert.equal(axis?.measured, false);
  assert.equal(axis?.whole_us, 1000);
  assert.equal(axis?.error_us, 8);
  const recorded = axisOf(collective({ arrival_us: { "0": 40, "1": 0 }, local_ms: { "0": 0.2, "1": 0.25 } }), []);
  assert.deepEqual(recorded?.bars.map((bar) => bar.rank), [1, 0]);
  assert.equal(recorded?.measured, true);
  assert.equal(recorded?.error_us, null);
  assert.equal(axisOf(collective({ local_ms: {} }), []), null);
});

test("an unknown error of one clock makes the error unknown", () => {
  assert.equal(axisOf(collective({}), [{ host: "a", ranks: [0, 1], offset_us: null, drift_ppm: null, residual_us: null, method: "" }])?.error_us, null);
});

test("of many bars the first and last to arrive stay", () => {
  const bars = Array.from({ length: 100 }, (_, rank) => ({ rank, arrival_us: rank, wait_us: 0, transfer_us: 1 }));
  const list = shortList(bars, 30);
  assert.equal(list.bars.length, 30);
  assert.equal(list.left_out, 70);
  assert.equal(list.bars[0].rank, 0);
  assert.equal(list.bars[29].rank, 99);
  assert.equal(shortList(bars.slice(0, 5), 30).left_out, 0);
});

test("one rank without collectives is no job of several ranks", () => {
  const one = { job: { ranks: [{ rank: null, host: null, devices: [] }] }, communication: {} } as unknown as Report;
  assert.equal(hasSeveral(one), false);
  assert.deepEqual(ranksOf(one), []);
  assert.equal(hasSeveral(job([])), true);
});

test("the flame graph of a job opens with the rank that a finding names first", () => {
  const where = (rank: number | null) => ({ kind: "op", name: "x", file: null, line: null, rank, host: null, device: null });
  const report = { findings: [{ where: [where(null), where(9)] }, { where: [where(2)] }] } as unknown as Report;
  assert.equal(firstRankNamed(report, [0, 1, 2, 3]), 2);
  assert.equal(firstRankNamed(report, [0, 9, 2]), 1);
  assert.equal(firstRankNamed({ findings: [] } as unknown as Report, [4, 5]), 0);
});
