// View models of the call tree: the flame graph of one metric with library noise folded or not, the heaviest parts, and
// what is known of one name. Pure; times in ns over all steps.
import type { CallTreeData } from "./types";

export type Metric = "host" | "device";
export const kFolded = 1;
export const kWaits = 2;
export const kMainThread = 4;

export class CallTree {
  readonly children: number[][];
  readonly root = 0;

  constructor(readonly data: CallTreeData) {
    this.children = data.parent.map(() => []);
    for (let i = 1; i < data.parent.length; ++i) this.children[data.parent[i]].push(i);
  }

  get steps(): number {
    return this.data.steps;
  }
  kind(node: number): string {
    return this.data.kinds[this.data.kind[node]];
  }
  name(node: number): string {
    return this.data.names[this.data.name[node]];
  }
  shortName(node: number): string {
    return this.data.short_names[this.data.name[node]] ?? this.name(node);
  }
  flag(node: number, flag: number): boolean {
    return (this.data.flags[node] & flag) !== 0;
  }
  self(node: number, metric: Metric): number {
    return metric === "host" ? this.data.host_self[node] : this.data.device_self[node];
  }
  total(node: number, metric: Metric): number {
    return metric === "host" ? this.data.host_total[node] : this.data.device_total[node];
  }
  key(node: number): string {
    return this.data.kind[node] + ":" + this.data.name[node];
  }
}

export interface FlameNode {
  key: string;
  kind: string;
  name: string;
  label: string;
  ids: number[]; // nodes of the call tree that are drawn as this one
  self: number; // with the self time of what is folded into it
  total: number;
  depth: number;
  start: number; // ns from the left edge
  parent: FlameNode | null;
  children: FlameNode[];
}

export interface Flame {
  metric: Metric;
  root: FlameNode;
  nodes: FlameNode[]; // parents before children
  depth: number;
}

// Folded frames give their children and their self time to the node above. In the device view calls do, too: what they
// launched stands under the op.
export function flame(tree: CallTree, metric: Metric, showFolded: boolean): Flame {
  const hidden = (node: number) => (!showFolded && tree.flag(node, kFolded)) || (metric === "device" && tree.kind(node) === "call");
  const nodes: FlameNode[] = [];
  const make = (ids: number[], parent: FlameNode | null, depth: number): FlameNode => {
    const node: FlameNode = {
      key: tree.key(ids[0]),
      kind: tree.kind(ids[0]),
      name: tree.name(ids[0]),
      label: tree.shortName(ids[0]),
      ids,
      self: 0,
      total: 0,
      depth,
      start: 0,
      parent,
      children: [],
    };
    nodes.push(node);
    for (const id of ids) node.total += tree.total(id, metric);
    const groups = new Map<string, number[]>();
    const collect = (id: number) => {
      node.self += tree.self(id, metric);
      for (const child of tree.children[id]) {
        if (tree.total(child, metric) <= 0) continue;
        if (hidden(child)) collect(child);
        else {
          const key = tree.key(child);
          const group = groups.get(key);
          if (group) group.push(child);
          else groups.set(key, [child]);
        }
      }
    };
    ids.forEach(collect);
    node.children = [...groups.values()].map((group) => make(group, node, depth + 1));
    node.children.sort((a, b) => b.total - a.total || a.ids[0] - b.ids[0]);
    return node;
  };
  const root = make([tree.root], null, 0);
  let depth = 0;
  const place = (node: FlameNode, start: number) => {
    node.start = start;
    depth = Math.max(depth, node.depth);
    for (const child of node.children) {
      place(child, start);
      start += child.total;
    }
  };
  place(root, 0);
  return { metric, root, nodes, depth };
}

export interface Part {
  key: string;
  kind: string;
  name: string;
  label: string;
  self: number;
  nodes: FlameNode[];
}

// The parts with most self time, equal names taken together wherever they stand.
export function heaviest(view: Flame, most: number): Part[] {
  const parts = new Map<string, Part>();
  for (const node of view.nodes) {
    if (node.self <= 0 || node.kind === "root" || node.kind === "rest") continue;
    const part = parts.get(node.key);
    if (part) {
      part.self += node.self;
      part.nodes.push(node);
    } else {
      parts.set(node.key, { key: node.key, kind: node.kind, name: node.name, label: node.label, self: node.self, nodes: [node] });
    }
  }
  return [...parts.values()].sort((a, b) => b.self - a.self || a.nodes[0].ids[0] - b.nodes[0].ids[0]).slice(0, most);
}

export interface Figures {
  count: number;
  host_self: number;
  host_total: number;
  device_self: number;
  device_total: number;
  transfer: number; // device time of copies and sets
  wait: number; // host time in calls that wait for the device
}
export interface Relative {
  key: string;
  kind: string;
  label: string;
  name: string;
  host: number;
  device: number;
  count: number;
}
export interface Selected extends Figures {
  kind: string;
  name: string;
  label: string;
  callers: Relative[];
  callees: Relative[];
}

// Everything known of one kind and name, over all the paths on which it occurs. A recursion counts once in totals.
export function selected(tree: CallTree, key: string): Selected | null {
  const all: number[] = [];
  for (let i = 0; i < tree.data.parent.length; ++i) if (tree.key(i) === key) all.push(i);
  if (all.length === 0) return null;
  const own = new Set(all);
  const result: Selected = {
    kind: tree.kind(all[0]),
    name: tree.name(all[0]),
    label: tree.shortName(all[0]),
    count: 0,
    host_self: 0,
    host_total: 0,
    device_self: 0,
    device_total: 0,
    transfer: 0,
    wait: 0,
    callers: [],
    callees: [],
  };
  const callers = new Map<string, Relative>();
  const callees = new Map<string, Relative>();
  const add = (map: Map<string, Relative>, node: number, times: number) => {
    const k = tree.key(node);
    let entry = map.get(k);
    if (!entry) map.set(k, (entry = { key: k, kind: tree.kind(node), label: tree.shortName(node), name: tree.name(node), host: 0, device: 0, count: 0 }));
    entry.host += tree.data.host_total[times];
    entry.device += tree.data.device_total[times];
    entry.count += tree.data.count[times];
  };
  for (const id of all) {
    result.count += tree.data.count[id];
    result.host_self += tree.data.host_self[id];
    result.device_self += tree.data.device_self[id];
    let above = tree.data.parent[id];
    let inside = false;
    for (let at = id; at !== 0; ) {
      at = tree.data.parent[at];
      if (own.has(at)) inside = true;
    }
    if (inside) continue;
    result.host_total += tree.data.host_total[id];
    result.device_total += tree.data.device_total[id];
    while (above !== 0 && (tree.flag(above, kFolded) || (tree.kind(above) === "call" && result.kind !== "call"))) above = tree.data.parent[above];
    add(callers, above, id);
    const below = (node: number, waiting: boolean) => {
      const kind = tree.kind(node);
      if (kind === "copy" || kind === "set") result.transfer += tree.data.device_self[node];
      const waits = tree.flag(node, kWaits);
      if (waits && !waiting) result.wait += tree.data.host_total[node];
      for (const child of tree.children[node]) below(child, waiting || waits);
    };
    below(id, false);
    const children = (node: number) => {
      for (const child of tree.children[node]) {
        if (tree.flag(child, kFolded)) children(child);
        else add(callees, child, child);
      }
    };
    children(id);
  }
  const heavy = (a: Relative, b: Relative) => Math.max(b.host, b.device) - Math.max(a.host, a.device) || (a.key < b.key ? -1 : 1);
  result.callers = [...callers.values()].sort(heavy);
  result.callees = [...callees.values()].sort(heavy);
  return result;
}

// The key of a kind and a name, if the tree has it.
export function keyOf(tree: CallTree, kind: string, name: string): string | null {
  for (let i = 0; i < tree.data.parent.length; ++i) if (tree.kind(i) === kind && tree.name(i) === name) return tree.key(i);
  return null;
}
