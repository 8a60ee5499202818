// The call trees of a job's ranks: they stand packed behind the page's script and are unpacked one by one.
import { bytesOf, inflate } from "./records";
import { CallTree } from "./tree";
import type { CallTreeData, Report } from "./types";

const loaded = new Map<number, Promise<CallTree | null>>();

export function loadRankTree(place: number): Promise<CallTree | null> {
  let tree = loaded.get(place);
  if (!tree) loaded.set(place, (tree = read(place)));
  return tree;
}

async function read(place: number): Promise<CallTree | null> {
  if (document.readyState === "loading") await new Promise((done) => document.addEventListener("DOMContentLoaded", done));
  const packed = document.getElementById(`rank-tree-${place}`)?.textContent;
  if (!packed) return null;
  return new CallTree(JSON.parse(new TextDecoder().decode(await inflate(bytesOf(packed)))) as CallTreeData);
}

// The place in `ranks` of the rank that the first finding about one of them names, else the first.
export function firstRankNamed(report: Report, ranks: (number | null)[]): number {
  for (const finding of report.findings) {
    for (const where of finding.where) {
      const place = where.rank === null ? -1 : ranks.indexOf(where.rank);
      if (place >= 0) return place;
    }
  }
  return 0;
}
