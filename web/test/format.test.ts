import assert from "node:assert/strict";
import test from "node:test";
import { barParts } from "../src/bar";
import { bytes, count, duration, percent, shortened, span, visible } from "../src/format";
import { say, setLanguage, words } from "../src/strings";

test("figures keep three digits and a unit", () => {
  assert.equal(duration(17.94), "17.9 ms");
  assert.equal(duration(0.0529), "52.9 us");
  assert.equal(duration(12345), "12.3 s");
  assert.equal(duration(0), "0 ms");
  assert.equal(percent(0.0004), "<0.1 %");
  assert.equal(percent(0.999), ">99 %");
  assert.equal(count(1234567), "1,234,567");
  assert.equal(bytes(805e6), "805 MB");
  assert.equal(span(2.07, 12.2, "to"), "2.07 to 12.2 ms");
});

test("control and direction characters are shown, not obeyed", () => {
  assert.equal(visible("a\u001b[2J\u202eb"), "a\\x1b[2J\\u{202e}b");
  assert.equal(shortened("abcdefghij", 5), "ab…ij");
});

test("the parts of the bar add up to the window", () => {
  const parts = barParts({ window_ms: 10, compute_ms: 4, memcpy_ms: 1, communication_exposed_ms: 0, communication_overlapped_ms: 1, idle_ms: 5, idle_causes: { host_compute: 3, unknown: 2, data_loading: 0 } });
  assert.equal(parts.reduce((sum, part) => sum + part.ms, 0), 10);
  assert.deepEqual(parts.map((part) => part.id), ["compute", "copies", "host_compute", "unknown"]);
});

test("every word has both languages and as many places for values", () => {
  for (const [id, [english, chinese]] of Object.entries(words())) {
    assert.ok(english && chinese, id);
    assert.equal(english.split("{}").length, chinese.split("{}").length, id);
  }
  setLanguage("zh");
  assert.equal(say("timeline"), "时间线");
  setLanguage("en");
});
