import assert from "node:assert/strict";
import test from "node:test";
import { deflateRawSync } from "node:zlib";
import { Records, TimelineAbout, boxes, decode, overSteps, rowsOf } from "../src/records";

function varint(value: number): number[] {
  const out: number[] = [];
  while (value >= 128) {
    out.push((value % 128) + 128);
    value = Math.floor(value / 128);
  }
  return [...out, value];
}

type Row = [start: number, duration: number, name: number, kind: number, link?: number];

async function records(tracks: { type: "thread" | "stream" | "idle"; rows: Row[] }[], names: string[]): Promise<Records> {
  const columns: Record<string, number[]> = { start: [], duration: [], name: [], kind: [], detail: [], link: [], sample_time: [], sample_value: [] };
  const about: TimelineAbout = { records: 0, length_ns: 1e6, tracks: [], series: [], idle_causes: [], left_out: null, columns: {} };
  let linked = 0;
  for (const track of tracks) {
    let last = 0;
    about.tracks.push({ type: track.type, first: about.records, count: track.rows.length });
    for (const [start, duration, name, kind, link = 0] of track.rows) {
      columns.start.push(...varint(start - last));
      last = start;
      columns.duration.push(...varint(duration));
      columns.name.push(...varint(name));
      columns.kind.push(kind);
      columns.detail.push(0);
      const step = link - linked;
      columns.link.push(...(link === 0 ? [0] : varint((step >= 0 ? step * 2 : -step * 2 - 1) + 1)));
      if (link !== 0) linked = link;
      about.records += 1;
    }
  }
  let all = Buffer.alloc(0);
  const put = (key: string, bytes: Buffer) => {
    about.columns[key] = [all.length, bytes.length];
    all = Buffer.concat([all, bytes]);
  };
  for (const [key, bytes] of Object.entries(columns)) put(key, Buffer.from(bytes));
  put("names", Buffer.from(JSON.stringify(names)));
  put("details", Buffer.from("[{}]"));
  return decode(about, deflateRawSync(all).toString("base64"));
}

test("columns come back as they went in, times beyond 32 bits too", async () => {
  const big = 3 * 2 ** 40 + 5;
  const back = await records([{ type: "thread", rows: [[big, 7, 0, 0], [big + 2, 3, 1, 3]] }, { type: "stream", rows: [[5, 1, 0, 16, 2], [6, 1, 0, 16, 1]] }], ["a", "b"]);
  assert.deepEqual([...back.start], [big, big + 2, 5, 6]);
  assert.deepEqual([...back.link], [0, 0, 2, 1]);
  assert.deepEqual(back.launched(0), [3]);
  assert.equal(back.kindName(1), "call");
});

test("rows nest, and without frames their children move up", async () => {
  const back = await records([{ type: "thread", rows: [[0, 100, 0, 2], [10, 50, 1, 0], [20, 10, 1, 0], [70, 10, 1, 0]] }], ["a.py(1): f", "op"]);
  assert.deepEqual(rowsOf(back, back.about.tracks[0], true).map((row) => [...row]), [[0], [1, 3], [2]]);
  assert.deepEqual(rowsOf(back, back.about.tracks[0], false).map((row) => [...row]), [[1, 3], [2]]);
});

test("records narrower than a pixel are one box, wide ones stand for themselves", async () => {
  const rows: Row[] = [];
  for (let i = 0; i < 10000; ++i) rows.push([i * 10, 5, 0, 0]);
  rows.push([200000, 50000, 1, 0]);
  const back = await records([{ type: "thread", rows }], ["short", "long"]);
  const row = rowsOf(back, back.about.tracks[0], true)[0];
  const drawn = boxes(back, row, 0, 300000, 1000);
  assert.ok(drawn.length < 120, String(drawn.length));
  assert.equal(drawn.reduce((sum, box) => sum + box.merged, 0), 10001);
  assert.deepEqual(drawn[drawn.length - 1], { record: 10000, from: 200000, to: 250000, merged: 1 });
  assert.equal(boxes(back, row, 0, 100, 1).length, 11);
});

test("time over the steps counts records by where they start", async () => {
  const back = await records([{ type: "thread", rows: [[0, 1e6, 0, 0], [2e6, 1e6, 0, 0], [3e6, 2e6, 0, 0], [9e6, 1, 0, 0]] }], ["op"]);
  const step = (index: number, start: number) => ({ index, rank: null, start_ns: start, duration_ms: 2, complete: true, class: "train" });
  assert.deepEqual(overSteps(back, [step(1, 0), step(2, 2e6)], "op", "op"), [{ index: 1, ms: 1, count: 1 }, { index: 2, ms: 3, count: 2 }]);
});
