import assert from "node:assert/strict";
import { test } from "node:test";
import { Compare, ComparedPart, ComparedStep, answerOf, bar, below, figure, reasons, signed } from "../src/compare_model";

const part = (name: string, before_ms: number, after_ms: number): ComparedPart => ({ name, status: "both", before_ms, after_ms, delta_ms: after_ms - before_ms, before_count: null, after_count: null });
const step = (parts: ComparedPart[], verdict = "faster"): ComparedStep => {
  const before_ms = parts.reduce((sum, one) => sum + one.before_ms, 0);
  const after_ms = parts.reduce((sum, one) => sum + one.after_ms, 0);
  return { before_ms, after_ms, delta_ms: after_ms - before_ms, ratio: after_ms / before_ms, delta_low_ms: null, delta_high_ms: null, verdict, parts };
};

test("the undisturbed step answers, the recorded one where there is no other", () => {
  const undisturbed = step([part("compute", 10, 5)], "unknown");
  const measured = step([part("compute", 20, 9)]);
  const both = answerOf({ undisturbed, measured } as Compare);
  assert.equal(both?.step, undisturbed);
  assert.equal(both?.verdict, "unknown");
  assert.equal(both?.other, measured);
  const one = answerOf({ undisturbed: null, measured } as Compare);
  assert.equal(one?.step, measured);
  assert.equal(one?.undisturbed, false);
  assert.equal(answerOf({ undisturbed: null, measured: null } as Compare), null);
});

test("reasons have the sign of the difference, the largest first, and matter", () => {
  const list = reasons(step([part("compute", 10, 4), part("copies", 1, 3), part("idle.unknown", 5, 4.9), part("idle.data_loading", 9, 1)]));
  assert.deepEqual(list.map((one) => one.name), ["idle.data_loading", "compute"]);
});

test("bars lie on either side of the middle", () => {
  assert.deepEqual(bar(-5, 10), { left: 0.25, width: 0.25 });
  assert.deepEqual(bar(10, 10), { left: 0.5, width: 0.5 });
  assert.deepEqual(bar(1, 0), { left: 0.5, width: 0 });
});

test("rows that are not shown are summed with those that the report left out", () => {
  const rows = [part("a", 3, 1), part("b", 2, 1), part("c", 1, 2)];
  assert.equal(below({ rows, others_ms: 0.5, rest_ms: 0 }, 1), -1 + 1 + 0.5);
});

test("figures have the unit of their key", () => {
  assert.equal(figure("step_time.mean_ms", 12.345), "12.3 ms");
  assert.equal(figure("kernel_summary.mean_us", 12.5), "12.5 us");
  assert.equal(figure("memory.peak_bytes", 2e9), "2.00 GB");
  assert.equal(figure("utilisation.mfu", 0.25), "25 %");
  assert.equal(figure("memory.driver.frees_per_step", 0), "0");
  assert.equal(signed(-1.5), "−1.50 ms");
});
