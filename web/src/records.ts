// The single records of the trace: decoding of the packed columns, rows of a track, levels of detail, search, sums over
// steps. Pure but for the decompression. Times are ns from the start of the recording.
import type { Step } from "./types";

export interface Track {
  type: "thread" | "stream" | "idle";
  first: number;
  count: number;
  id?: string;
  name?: string;
  main?: boolean;
  device?: number;
}
export interface Series {
  type: "allocated" | "reserved" | "counter";
  first: number;
  count: number;
  every: number;
  unit: string;
  device?: number;
  name?: string;
}
export interface TimelineAbout {
  records: number;
  length_ns: number;
  tracks: Track[];
  series: Series[];
  idle_causes: string[];
  left_out: { records: number; shorter_than_ns: number } | null;
  columns: Record<string, [number, number]>;
}
export type Detail = Record<string, unknown>;

const kSliceKinds = ["op", "annotation", "frame", "call", "call", "overhead", "overhead"];
const kDeviceKinds = ["kernel", "copy", "set"];
export const kFrame = 2;

export class Records {
  constructor(
    readonly about: TimelineAbout,
    readonly start: Float64Array,
    readonly duration: Float64Array,
    readonly name: Uint32Array,
    readonly kind: Uint8Array,
    readonly detail: Uint32Array,
    readonly link: Uint32Array, // number of the launching record and one; 0 = none
    readonly names: string[],
    readonly details: Detail[],
    readonly sampleTime: Float64Array,
    readonly sampleValue: Float64Array,
  ) {}

  kindName(record: number): string {
    const kind = this.kind[record];
    if (kind >= 32) return "idle";
    if (kind >= 16) return kDeviceKinds[kind - 16];
    if (kind === kFrame && this.names[this.name[record]].startsWith("nn.Module: ")) return "module";
    return kSliceKinds[kind];
  }
  // Of an idle stretch its cause.
  label(record: number): string {
    const kind = this.kind[record];
    return kind >= 32 ? this.about.idle_causes[kind - 32] : this.names[this.name[record]];
  }
  end(record: number): number {
    return this.start[record] + this.duration[record];
  }
  launched(record: number): number[] {
    const list: number[] = [];
    for (let i = 0; i < this.link.length; ++i) if (this.link[i] === record + 1) list.push(i);
    return list;
  }
  trackOf(record: number): Track | undefined {
    return this.about.tracks.find((track) => record >= track.first && record < track.first + track.count);
  }
}

export function bytesOf(base64: string): Uint8Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

export async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as unknown as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function decode(about: TimelineAbout, base64: string): Promise<Records> {
  return decodeColumns(about, await inflate(bytesOf(base64)));
}

export function decodeColumns(about: TimelineAbout, all: Uint8Array): Records {
  const column = (key: string) => all.subarray(about.columns[key][0], about.columns[key][0] + about.columns[key][1]);
  const reader = (key: string) => {
    const bytes = column(key);
    let at = 0;
    // Times may need more than the 32 bits of shifts.
    return () => {
      let byte = bytes[at++];
      if (byte < 128) return byte;
      let value = byte & 127;
      let scale = 128;
      do {
        byte = bytes[at++];
        value += (byte & 127) * scale;
        scale *= 128;
      } while (byte >= 128 && at < bytes.length);
      return value;
    };
  };
  const count = about.records;
  const start = new Float64Array(count);
  const duration = new Float64Array(count);
  const name = new Uint32Array(count);
  const detail = new Uint32Array(count);
  const link = new Uint32Array(count);
  const starts = reader("start");
  const durations = reader("duration");
  const names = reader("name");
  const details = reader("detail");
  const links = reader("link");
  for (const track of about.tracks) {
    let time = 0;
    for (let i = track.first; i < track.first + track.count; ++i) start[i] = time += starts();
  }
  let linked = 0;
  for (let i = 0; i < count; ++i) {
    duration[i] = durations();
    name[i] = names();
    detail[i] = details();
    const step = links();
    if (step !== 0) {
      const zigzag = step - 1;
      linked += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
      link[i] = linked;
    }
  }
  const samples = about.series.reduce((sum, series) => sum + series.count, 0);
  const sampleTime = new Float64Array(samples);
  const times = reader("sample_time");
  for (const series of about.series) {
    let time = 0;
    for (let i = series.first; i < series.first + series.count; ++i) sampleTime[i] = time += times();
  }
  const values = column("sample_value");
  const sampleValue = new Float64Array(values.slice().buffer, 0, samples);
  const text = new TextDecoder();
  return new Records(about, start, duration, name, column("kind"), detail, link, JSON.parse(text.decode(column("names"))), JSON.parse(text.decode(column("details"))), sampleTime, sampleValue);
}

// Records of a track by depth: what lies within what. Without frames their children move up.
export function rowsOf(records: Records, track: Track, frames: boolean): Uint32Array[] {
  const rows: number[][] = [];
  const ends: number[] = [];
  for (let i = track.first; i < track.first + track.count; ++i) {
    if (!frames && records.kind[i] === kFrame && records.kindName(i) !== "module") continue;
    const start = records.start[i];
    const end = records.end(i);
    while (ends.length > 0 && (ends[ends.length - 1] <= start || (track.type !== "thread" && ends.length > 0))) ends.pop();
    const depth = Math.min(ends.length, 120);
    (rows[depth] ??= []).push(i);
    ends.push(end);
  }
  return rows.map((row) => Uint32Array.from(row));
}

// The first place in `row` whose record starts after `time`.
export function firstAfter(records: Records, row: Uint32Array, time: number): number {
  let low = 0;
  let high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (records.start[row[middle]] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

export interface Box {
  record: number; // the longest of those that share a pixel
  from: number; // ns
  to: number;
  merged: number; // how many share it
}

// What to draw of one row between two times: records narrower than `pixel` ns are taken together.
export function boxes(records: Records, row: Uint32Array, from: number, to: number, pixel: number): Box[] {
  const list: Box[] = [];
  let at = firstAfter(records, row, from);
  // Crossing records may be out of order by a few.
  at = Math.max(0, at - 4);
  while (at < row.length) {
    const record = row[at];
    const start = records.start[record];
    if (start > to) break;
    const end = records.end(record);
    if (end < from) {
      ++at;
      continue;
    }
    if (end - start >= pixel) {
      list.push({ record, from: start, to: end, merged: 1 });
      ++at;
      continue;
    }
    // Everything that starts within this pixel, found by halving; the first few tell what it looks like.
    const next = firstAfter(records, row, start + pixel);
    let longest = record;
    let last = record;
    for (let i = at; i < Math.min(next, at + 64); ++i) if (records.duration[row[i]] > records.duration[longest]) longest = row[i];
    if (next > at) last = row[next - 1];
    if (records.duration[longest] >= pixel) {
      const place = row.indexOf(longest, at);
      if (place > at) list.push({ record: row[at], from: start, to: start + pixel, merged: place - at });
      list.push({ record: longest, from: records.start[longest], to: records.end(longest), merged: 1 });
      at = place + 1;
      continue;
    }
    list.push({ record: longest, from: start, to: Math.max(records.end(last), start + pixel), merged: Math.max(1, next - at) });
    at = Math.max(next, at + 1);
  }
  return list;
}

export function namesThatHold(records: Records, query: string): Uint8Array {
  const found = new Uint8Array(records.names.length);
  const wanted = query.toLowerCase();
  if (wanted === "") return found;
  records.names.forEach((name, i) => {
    if (name.toLowerCase().includes(wanted)) found[i] = 1;
  });
  return found;
}

// Time of one name in each step, by where its records start; ms.
export function overSteps(records: Records, steps: Step[], kind: string, name: string): { index: number; ms: number; count: number }[] {
  const id = records.names.indexOf(name);
  const timed = steps.filter((step) => step.duration_ms !== null);
  const result = timed.map((step) => ({ index: step.index, ms: 0, count: 0 }));
  if (id < 0) return [];
  for (let i = 0; i < records.name.length; ++i) {
    if (records.name[i] !== id || records.kind[i] >= 32 || records.kindName(i) !== kind) continue;
    const time = records.start[i];
    let low = 0;
    let high = timed.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (timed[middle].start_ns > time) high = middle;
      else low = middle + 1;
    }
    const step = low - 1;
    if (step < 0 || time >= timed[step].start_ns + (timed[step].duration_ms as number) * 1e6) continue;
    result[step].ms += records.duration[i] / 1e6;
    ++result[step].count;
  }
  return result;
}
