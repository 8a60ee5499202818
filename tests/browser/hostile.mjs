// Names that are markup, and a page that someone changed.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { holds, same, text } from "./harness.mjs";

export async function hostileNames(on, capture) {
  const hostile = "</script><img src=x onerror=alert(1)><svg onload=alert(2)>\u202e\u001b[2J\"'`${alert(3)}";
  const events = [];
  for (let step = 0; step < 3; ++step) {
    const at = step * 1000;
    events.push({ ph: "X", cat: "user_annotation", name: `ProfilerStep#${step}`, pid: 1, tid: 1, ts: at, dur: 1000 });
    events.push({ ph: "X", cat: "user_annotation", name: hostile + "range", pid: 1, tid: 1, ts: at + 5, dur: 900 });
    events.push({ ph: "X", cat: "cpu_op", name: hostile + "op", pid: 1, tid: 1, ts: at + 10, dur: 800, args: { "Input Dims": [[hostile]], "Input type": [hostile] } });
    events.push({ ph: "X", cat: "cuda_runtime", name: hostile + "call", pid: 1, tid: 1, ts: at + 20, dur: 5, args: { correlation: step + 1 } });
    events.push({ ph: "X", cat: "kernel", name: hostile, pid: 0, tid: 7, ts: at + 30, dur: 500, args: { correlation: step + 1, device: 0, stream: 7 } });
  }
  const hostileFile = join(on.folder, "<img src=x onerror=alert(4)>.json");
  writeFileSync(hostileFile, JSON.stringify({ deviceProperties: [{ id: 0, name: hostile }], traceEvents: events }));
  await on.test("hostile names stay text in every view", async () => {
    const { html } = await on.analyze(hostileFile);
    return on.open(html, {}, async (page) => {
      for (const summary of await page.locator("summary:visible").all()) await summary.click();
      await page.locator(".part").first().click();
      await page.click("button[data-view=timeline]");
      await page.waitForSelector("html[data-timeline=ready]");
      await page.fill(".timeline input[type=search]", "onerror");
      await page.locator(".timeline input[type=search]").press("Enter");
      holds((await text(page, ".record-panel h3")).includes("<img src=x onerror=alert(1)>"), "the name is shown as it is");
      await page.click("button[data-view=raw]");
      same(await page.locator("img, svg, iframe, script[src]").count(), 0, "elements that the page does not make");
    });
  });
  await on.test("hostile names stay text where two runs are compared", async () => {
    const { html } = await on.report("hostile", "compare", hostileFile, capture);
    return on.open(html, {}, async (page) => {
      for (const summary of await page.locator("summary:visible").all()) await summary.click();
      await page.locator("td button.link").first().click();
      same(await page.locator("img, iframe, script[src], svg[onload]").count(), 0, "elements that the page does not make");
      holds((await text(page, "main")).includes("onerror=alert(1)"), "the name is shown as it is");
    });
  });
  await on.test("the policy stops scripts and styles that are not the page's own", async () => {
    const { html } = await on.analyze(capture);
    const changed = join(on.folder, "changed.html");
    writeFileSync(changed, readFileSync(html, "utf8").replace("<div id=\"page\">", "<script>window.injected = 1</script><div id=\"page\" onclick=\"window.injected = 2\">"));
    const context = await on.browser.newContext();
    const page = await context.newPage();
    await page.goto(pathToFileURL(changed).href);
    await page.waitForSelector("html[data-ready]");
    await page.locator("h1").click();
    same(await page.evaluate(() => window.injected), undefined, "what ran");
    await context.close();
  });
}
