// View models of a job of several ranks: the heat map, collectives by kind, one collective on the common axis. Pure.
import type { Report, TimeParts } from "./types";

export interface Collective {
  name: string;
  group: string;
  seq: number | null;
  bytes: number | null;
  ranks: number[];
  first_rank: number | null;
  last_rank: number | null;
  arrival_spread_us: number | null;
  end_spread_us?: number | null;
  wait_ms: number | null;
  transfer_ms: number | null;
  global_ms: number | null;
  local_ms: Record<string, number>;
  busbw_gbps: number | null;
  exposed_ms: number | null;
  path: string | null;
  step?: number | null;
  start_ns?: number | null;
  arrival_us?: Record<string, number>;
  path_gbps?: number | null;
}
export interface ClockOfHost {
  host: string;
  ranks: number[];
  offset_us: number | null;
  drift_ppm: number | null;
  residual_us: number | null;
  method: string;
}
export interface GroupOfRanks {
  name: string;
  ranks: number[];
}

export function collectivesOf(report: Report): Collective[] {
  return (report.communication as { collectives?: Collective[] } | undefined)?.collectives ?? [];
}
export function groupsOfRanks(report: Report): GroupOfRanks[] {
  return (report.communication as { groups?: GroupOfRanks[] } | undefined)?.groups ?? [];
}
export function clocksOf(report: Report): ClockOfHost[] {
  return (report.clock as ClockOfHost[] | undefined) ?? [];
}
export function ranksOf(report: Report): number[] {
  const named = report.job.ranks.map((rank) => rank.rank).filter((rank): rank is number => rank !== null);
  return [...new Set(named)].sort((a, b) => a - b);
}
export function hasSeveral(report: Report): boolean {
  return ranksOf(report).length > 1 || collectivesOf(report).length > 0;
}

// "0–3, 8".
export function ranges(ranks: number[]): string {
  const list: string[] = [];
  for (let i = 0; i < ranks.length; ) {
    let last = i;
    while (last + 1 < ranks.length && ranks[last + 1] === ranks[last] + 1) ++last;
    list.push(last === i ? String(ranks[i]) : `${ranks[i]}${last === i + 1 ? ", " : "–"}${ranks[last]}`);
    i = last + 1;
  }
  return list.join(", ");
}

// Waiting is what a rank's own duration holds beyond the transfer: negative rests are errors of the alignment.
export function waitOf(collective: Collective, rank: number): number | null {
  const local = collective.local_ms[rank];
  if (local === undefined || collective.transfer_ms === null) return null;
  return Math.max(0, local - collective.transfer_ms);
}

export interface Measure {
  id: string; // "step", "collective_wait", a key of the parts or a cause of idle
  idle: boolean;
  values: (number | null)[]; // ms a step, in the order of the ranks
}
export interface HeatMap {
  ranks: number[];
  hosts: (string | null)[];
  measures: Measure[];
}

function mean(values: number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

// Of a rank with several devices the mean over them, as in time_breakdown.
export function heatMap(report: Report, undisturbed: boolean): HeatMap {
  const ranks = ranksOf(report);
  const hosts = ranks.map((rank) => report.job.ranks.find((one) => one.rank === rank)?.host ?? null);
  const measures: Measure[] = [];
  const steps = ranks.map((rank) => report.steps.filter((step) => step.rank === rank && step.complete && step.duration_ms !== null));
  const add = (id: string, idle: boolean, values: (number | null)[]) => {
    if (values.some((value) => value !== null && value > 0)) measures.push({ id, idle, values });
  };
  const parts = ranks.map((rank) => report.breakdown.filter((row) => row.rank === rank).map((row) => (undisturbed ? row.undisturbed : row.measured)));
  const of = (value: (row: TimeParts) => number) => parts.map((rows) => mean(rows.map(value)));
  // The report of a job lists the steps of the rank that sets the pace alone.
  const listed = !undisturbed && steps.every((list) => list.length > 0);
  add("step", false, listed ? steps.map((list) => mean(list.map((step) => step.duration_ms as number))) : of((row) => row.window_ms));
  add("compute", false, of((row) => row.compute_ms));
  add("copies", false, of((row) => row.memcpy_ms));
  add("communication_exposed", false, of((row) => row.communication_exposed_ms));
  const collectives = collectivesOf(report);
  if (collectives.length > 0 && !undisturbed) {
    const count = Math.max(1, ...steps.map((list) => list.length));
    add(
      "collective_wait",
      false,
      ranks.map((rank) => {
        const waits = collectives.map((collective) => waitOf(collective, rank)).filter((wait): wait is number => wait !== null);
        return waits.length === 0 ? null : waits.reduce((sum, wait) => sum + wait, 0) / count;
      }),
    );
  }
  add("idle", false, of((row) => row.idle_ms));
  const causes = new Set(parts.flat().flatMap((row) => Object.keys(row.idle_causes)));
  for (const cause of causes) add(cause, true, of((row) => row.idle_causes[cause] ?? 0));
  return { ranks, hosts, measures };
}

// 0 to 1 between the least and the most; a spread below a tenth of the most is no difference to colour.
export function shades(values: (number | null)[]): (number | null)[] {
  const known = values.filter((value): value is number => value !== null);
  const most = Math.max(...known, 0);
  const least = Math.min(...known, most);
  const range = Math.max(most - least, most * 0.1);
  return values.map((value) => (value === null ? null : range > 0 ? (value - least) / range : 0));
}

// The ranks that differ most from the middle one, by measure: [rank index, value / median].
export function oddRanks(measure: Measure, least: number): { at: number; ratio: number }[] {
  const known = measure.values.map((value, at) => ({ at, value })).filter((one): one is { at: number; value: number } => one.value !== null);
  const sorted = known.map((one) => one.value).sort((a, b) => a - b);
  const median = sorted.length === 0 ? 0 : sorted[Math.floor((sorted.length - 1) / 2)];
  if (median <= 0) return [];
  return known.map((one) => ({ at: one.at, ratio: one.value / median })).filter((one) => Math.abs(one.ratio - 1) >= least).sort((a, b) => Math.abs(b.ratio - 1) - Math.abs(a.ratio - 1));
}

// What to show first of many ranks: the measure in which one of them stands out most, weighed by its time.
export function tellingMeasure(map: HeatMap): Measure {
  const weight = (measure: Measure) => {
    const known = measure.values.filter((value): value is number => value !== null).sort((a, b) => a - b);
    const middle = known[Math.floor((known.length - 1) / 2)] ?? 0;
    return known.length === 0 ? 0 : Math.max(known[known.length - 1] - middle, middle - known[0]);
  };
  return map.measures.reduce((best, measure) => (weight(measure) > weight(best) ? measure : best));
}

export interface Kind {
  name: string;
  group: string;
  bytes: number | null;
  rows: number[]; // of the list of collectives
  wait_ms: number | null; // sums; null: not known of any
  transfer_ms: number | null;
  exposed_ms: number | null;
  busbw_gbps: number | null; // median
  last: { rank: number; times: number } | null; // who arrives last most often
}

function sum(values: (number | null)[]): number | null {
  const known = values.filter((value): value is number => value !== null);
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
}
function median(values: (number | null)[]): number | null {
  const known = values.filter((value): value is number => value !== null).sort((a, b) => a - b);
  return known.length === 0 ? null : known[Math.floor((known.length - 1) / 2)];
}

export function kinds(collectives: Collective[]): Kind[] {
  const found = new Map<string, number[]>();
  collectives.forEach((one, row) => {
    const key = JSON.stringify([one.name, one.group, one.bytes]);
    const rows = found.get(key);
    if (rows) rows.push(row);
    else found.set(key, [row]);
  });
  const list = [...found.values()].map((rows): Kind => {
    const all = rows.map((row) => collectives[row]);
    const lasts = new Map<number, number>();
    for (const one of all) if (one.last_rank !== null && one.ranks.length > 1) lasts.set(one.last_rank, (lasts.get(one.last_rank) ?? 0) + 1);
    const last = [...lasts].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0];
    return {
      name: all[0].name,
      group: all[0].group,
      bytes: all[0].bytes,
      rows,
      wait_ms: sum(all.map((one) => one.wait_ms)),
      transfer_ms: sum(all.map((one) => one.transfer_ms)),
      exposed_ms: sum(all.map((one) => one.exposed_ms)),
      busbw_gbps: median(all.map((one) => one.busbw_gbps)),
      last: last ? { rank: last[0], times: last[1] } : null,
    };
  });
  const weight = (kind: Kind) => (kind.wait_ms ?? 0) + (kind.transfer_ms ?? 0);
  return list.sort((a, b) => weight(b) - weight(a) || a.rows[0] - b.rows[0]);
}

export interface Bar {
  rank: number;
  arrival_us: number; // after the first arrival
  wait_us: number;
  transfer_us: number;
}
export interface Axis {
  bars: Bar[]; // by arrival
  whole_us: number;
  measured: boolean; // arrivals are recorded; else all are taken to end at the same time
  error_us: number | null; // of the clocks of these ranks
}

// All ranks of one collective on the common axis.
export function axisOf(collective: Collective, clocks: ClockOfHost[]): Axis | null {
  const locals = Object.entries(collective.local_ms).map(([rank, ms]) => ({ rank: Number(rank), us: ms * 1e3 }));
  if (locals.length === 0) return null;
  const arrivals = collective.arrival_us;
  const measured = arrivals !== undefined && locals.every((one) => arrivals[one.rank] !== undefined);
  const longest = Math.max(...locals.map((one) => one.us));
  const bars = locals.map(({ rank, us }): Bar => {
    const arrival = measured ? (arrivals as Record<string, number>)[rank] : longest - us;
    const transfer = Math.min(us, collective.transfer_ms === null ? 0 : collective.transfer_ms * 1e3);
    return { rank, arrival_us: arrival, wait_us: us - transfer, transfer_us: transfer };
  });
  bars.sort((a, b) => a.arrival_us - b.arrival_us || a.rank - b.rank);
  const whole = Math.max(...bars.map((bar) => bar.arrival_us + bar.wait_us + bar.transfer_us), 0);
  const inside = new Set(locals.map((one) => one.rank));
  const errors = clocks.filter((clock) => clock.ranks.some((rank) => inside.has(rank))).map((clock) => clock.residual_us);
  const known = errors.filter((error): error is number => error !== null);
  return { bars, whole_us: whole, measured, error_us: known.length > 0 && known.length === errors.length ? Math.max(...known) : null };
}

// Of many bars the first and the last to arrive; the others between are counted.
export function shortList(bars: Bar[], most: number): { bars: Bar[]; left_out: number; at: number } {
  if (bars.length <= most) return { bars, left_out: 0, at: bars.length };
  const head = Math.floor(most / 3);
  return { bars: [...bars.slice(0, head), ...bars.slice(bars.length - (most - head))], left_out: bars.length - most, at: head };
}
