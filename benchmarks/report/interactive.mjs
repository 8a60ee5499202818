// node interactive.mjs PACKAGES REPORT.html REPETITIONS: how long the page takes, as JSON: opening until it answers a
// click (ready), the timeline on first use, one frame of it while zooming and moving; and how many records it holds.
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, report] = process.argv.slice(2, 4).map((path) => resolve(path));
const { chromium } = createRequire(join(packages, "package.json"))("playwright-core");
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const result = { ready_ms: [], timeline_ms: [], frame_ms: [], records: 0, left_out: 0 };
for (let i = 0; i < Number(process.argv[4]); ++i) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 } });
  const page = await context.newPage();
  let from = performance.now();
  await page.goto(pathToFileURL(report).href);
  await page.waitForSelector("html[data-ready]");
  await page.click("button[data-value=en]");
  result.ready_ms.push(performance.now() - from);
  from = performance.now();
  await page.click("button[data-view=timeline]");
  await page.waitForSelector("html[data-timeline=ready]");
  result.timeline_ms.push(performance.now() - from);
  const frames = await page.evaluate(async () => {
    const canvas = document.querySelector(".tracks canvas");
    const times = [];
    for (const key of "wwwwwwwwddddaaaassssssss") {
      const start = performance.now();
      canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      times.push(performance.now() - start);
    }
    return times;
  });
  result.frame_ms.push(...frames);
  const about = await page.evaluate(() => JSON.parse(document.getElementById("timeline-about").textContent));
  result.records = about.tracks.filter((track) => track.type !== "idle").reduce((sum, track) => sum + track.count, 0);
  result.left_out = about.left_out?.records ?? 0;
  await context.close();
}
await browser.close();
console.log(JSON.stringify(result));
