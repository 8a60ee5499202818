// Two runs on one page: its figures are those of report.json, and the parts of the difference add up.
import { duration, holds, same, text } from "./harness.mjs";

export async function comparisons(on, before, after) {
  await on.test("two runs side by side: the figures are those of report.json", async () => {
    const { html, report } = await on.report("compare", "compare", before, after);
    const compare = report.compare;
    await on.open(html, {}, async (page) => {
      const step = compare.undisturbed ?? compare.measured;
      holds((await text(page, "h1")).includes(`${duration(step.before_ms)}`), "the step before");
      holds((await text(page, "h1")).includes(`${duration(step.after_ms)}`), "the step after");
      same(await text(page, "[data-figure=before_ms]"), duration(step.before_ms), "before");
      same(await text(page, "[data-figure=after_ms]"), duration(step.after_ms), "after");
      const widths = await page.locator(".run .bar").evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().width));
      holds(Math.abs(widths[1] / widths[0] - step.after_ms / step.before_ms) < 0.02, `bars of ${widths}`);
      await page.click("button[data-value=measured]");
      same(await text(page, "[data-figure=before_ms]"), duration(compare.measured.before_ms), "before, as recorded");
      same(await page.locator("[data-rule]").count(), compare.findings.length, "findings");
      await page.click("button[data-value=work]");
      for (const more of await page.locator("button:has-text('show all'):visible").all()) await more.click();
      holds((await page.locator("table:has-text('launches before') tbody tr").count()) >= compare.work.rows.length, "every kernel is shown");
      holds((await page.evaluate(() => document.documentElement.scrollWidth)) <= 1440, "the page is wider than the window");
      const flames = await page.locator(".flame").evaluateAll((both) => both.map((one) => one.getBoundingClientRect().width));
      same(flames.length, 2, "flame graphs");
      await page.locator("table:has-text('launches before') td button").first().click();
      same(await page.locator(".details thead th").count(), 4, "figures of both runs");
      await page.click("button[data-view=timeline]");
      await page.waitForSelector("html[data-timeline=ready]");
      await page.click("button[data-view=summary]");
      same(await text(page, "h1"), report.verdict.sentence, "the second run's own report");
    });
    await on.open(html, { locale: "zh-CN", viewport: { width: 390, height: 800 }, colorScheme: "dark" }, async (page) => {
      holds(!/[a-z]{5,}/.test((await text(page, "h1")).replace(/ms|us/g, "")), `English in the sentence: ${await text(page, "h1")}`);
      holds((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390, "the page is wider than the telephone");
    });
  });
}
