// The curve of a whole run: of a native capture that carries one, and of a made one with epochs, a level shift and slow
// steps. A report without one shows none.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { holds, same, text } from "./harness.mjs";

function madeRun() {
  let at = 0;
  const points = Array.from({ length: 300 }, (_, i) => {
    const step_ms = 100 + 2 * Math.sin(1.7 * i) + (i >= 150 ? 40 : 0);
    const point = { step: 10 * i, steps: 10, start_s: at, step_ms, longest_ms: i === 50 ? 900 : step_ms * 1.05, loader_wait_ms: 5, loss: 300 / (i + 100), samples_s: null, epoch: Math.floor(i / 75) };
    at += step_ms / 100;
    return point;
  });
  return { first_step: 0, last_step: 2999, steps: 3000, missing: 0, seconds: at, window_s: at / 2, points };
}

export async function runCurve(on, capture, native) {
  await on.test("the curve of the run of a native capture stands above its tracks", async () => {
    const { html, report } = await on.analyze(native);
    await on.open(html, {}, async (page) => {
      await page.click("button[data-view=timeline]");
      holds(report.run.points.length > 1, "the capture has no run");
      const card = await text(page, ".run-card");
      holds(card.includes(`steps ${report.run.first_step} to ${report.run.last_step}`), card);
      same(await page.locator(".run-window").count(), report.run.window_s === null ? 0 : 1, "the recorded window");
    });
  });
  await on.test("epochs, a level shift, slow steps and the window are marked on the curve", async () => {
    const { html, report } = await on.analyze(capture);
    await on.open(html, {}, async (page) => {
      await page.click("button[data-view=timeline]");
      await page.waitForSelector("html[data-timeline=ready]");
      same(await page.locator(".run-card").count(), 0, "a run that nobody recorded");
    });
    const made = join(on.folder, "run.html");
    const data = JSON.stringify({ ...report, run: madeRun() }).replaceAll("<", "\\u003c");
    writeFileSync(made, readFileSync(html, "utf8").replace(/(id="report">).*?(<\/script>)/s, (_, before, after) => before + data + after));
    await on.open(made, { locale: "zh-CN" }, async (page) => {
      await page.click("button[data-view=timeline]");
      same(await page.locator(".run-epoch").count(), 3, "borders of epochs");
      same(await page.locator(".run-window").count(), 1, "window");
      same(await page.locator(".mark-change").count(), 1, "level shifts");
      same(await page.locator("circle.mark-outlier").count(), 1, "slow steps");
      holds(/1,500|1500/.test(await text(page, ".run-facts")), await text(page, ".run-facts"));
      same(await page.locator(".chart.run").count(), 3, "the curve, waits and loss; no samples");
      holds((await page.evaluate(() => document.documentElement.scrollWidth)) <= 1440, "the page is wider than the window");
    });
  });
}
