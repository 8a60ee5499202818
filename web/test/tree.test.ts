import assert from "node:assert/strict";
import test from "node:test";
import { CallTree, flame, heaviest, selected } from "../src/tree";
import type { CallTreeData } from "../src/types";

const kinds = ["root", "thread", "annotation", "module", "frame", "op", "call", "kernel", "copy", "set", "overhead", "rest"];

// [parent, kind, name, flags, host self, device self]; totals are summed here.
function tree(rows: [number, string, string, number, number, number][]): CallTree {
  const names: string[] = [];
  const data: CallTreeData = {
    steps: 2, nodes_summed: 0, most_nodes: 6000, device_other_ns: 0, kinds, names, short_names: {},
    parent: [], name: [], kind: [], flags: [], count: [], host_self: [], host_total: [], device_self: [], device_total: [],
  };
  for (const [parent, kind, name, flags, host, device] of rows) {
    if (!names.includes(name)) names.push(name);
    data.parent.push(parent);
    data.kind.push(kinds.indexOf(kind));
    data.name.push(names.indexOf(name));
    data.flags.push(flags);
    data.count.push(1);
    data.host_self.push(host);
    data.host_total.push(host);
    data.device_self.push(device);
    data.device_total.push(device);
  }
  for (let i = rows.length - 1; i > 0; --i) {
    data.host_total[data.parent[i]] += data.host_total[i];
    data.device_total[data.parent[i]] += data.device_total[i];
  }
  return new CallTree(data);
}

const small = () =>
  tree([
    [0, "root", "", 0, 0, 0],
    [0, "thread", "main", 4, 10, 0],
    [1, "frame", "torch/a.py", 1, 5, 0],
    [2, "op", "aten::mm", 0, 20, 0],
    [3, "call", "cudaLaunchKernel", 0, 7, 0],
    [4, "kernel", "gemm", 0, 0, 100],
    [1, "op", "aten::mm", 0, 3, 0],
    [6, "call", "cudaStreamSynchronize", 2, 9, 0],
    [6, "copy", "Memcpy", 0, 0, 40],
  ]);

test("folded frames give their children and their self time to the node above", () => {
  const view = flame(small(), "host", false);
  const main = view.root.children[0];
  assert.equal(main.self, 15);
  assert.deepEqual(main.children.map((node) => node.name), ["aten::mm"]);
  assert.equal(main.children[0].total, 20 + 7 + 3 + 9);
  assert.equal(view.nodes.reduce((sum, node) => sum + node.self, 0), view.root.total);
});

test("with library frames shown nothing is merged across them", () => {
  const view = flame(small(), "host", true);
  assert.deepEqual(view.root.children[0].children.map((node) => node.name).sort(), ["aten::mm", "torch/a.py"]);
});

test("the device view hides calls and keeps all device time", () => {
  const view = flame(small(), "device", false);
  assert.equal(view.root.total, 140);
  assert.ok(view.nodes.every((node) => node.kind !== "call"));
  assert.equal(view.nodes.reduce((sum, node) => sum + node.self, 0), 140);
});

test("the heaviest parts are by self time, equal names together", () => {
  const parts = heaviest(flame(small(), "host", false), 3);
  assert.deepEqual(parts.map((part) => [part.name, part.self]), [["aten::mm", 23], ["main", 15], ["cudaStreamSynchronize", 9]]);
});

test("details add up over all paths and name callers without folded frames", () => {
  const all = small();
  const info = selected(all, all.key(3));
  assert.ok(info);
  assert.equal(info.host_total, 39);
  assert.equal(info.host_self, 23);
  assert.equal(info.device_total, 140);
  assert.equal(info.transfer, 40);
  assert.equal(info.wait, 9);
  assert.deepEqual(info.callers.map((caller) => caller.name), ["main"]);
});

test("a recursion counts once in totals", () => {
  const all = tree([
    [0, "root", "", 0, 0, 0],
    [0, "op", "a", 0, 1, 0],
    [1, "op", "a", 0, 2, 0],
  ]);
  const info = selected(all, all.key(1));
  assert.equal(info?.host_total, 3);
  assert.equal(info?.host_self, 3);
});
