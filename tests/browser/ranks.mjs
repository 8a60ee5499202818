// The page of a job of several ranks, from a report of one rank whose data are replaced by those of a made job: heat map,
// collectives, all ranks' bars on the common axis.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { duration, holds, same, text } from "./harness.mjs";

const kLate = 2;

// Rank 2 arrives 6 ms after the others in every collective.
function madeJob(report, count) {
  const ranks = Array.from({ length: count }, (_, rank) => rank);
  const mean = report.breakdown[0];
  const late = (rank, parts) => ({ ...parts, communication_exposed_ms: rank === kLate ? 0.5 : 6.5, idle_causes: { ...parts.idle_causes, host_compute: rank === kLate ? 7 : 1 } });
  const collectives = [0, 1, 2].map((seq) => {
    const arrival = Object.fromEntries(ranks.map((rank) => [rank, rank === kLate ? 6000 : 10 * rank]));
    const local = Object.fromEntries(ranks.map((rank) => [rank, (6400 - arrival[rank]) / 1e3]));
    return { name: "all_reduce", group: "<b>group", seq, bytes: 1 << 20, ranks, first_rank: 0, last_rank: kLate, arrival_spread_us: 6000, wait_ms: 6, transfer_ms: 0.4, global_ms: 6.4, local_ms: local, busbw_gbps: 90, exposed_ms: 6.4, path: "NV18", arrival_us: arrival };
  });
  return {
    ...report,
    job: { ...report.job, world_size: count + 1, ranks_missing: [count], ranks: ranks.map((rank) => ({ rank, host: `node${rank >> 3}`, devices: [] })) },
    steps: ranks.flatMap((rank) => report.steps.map((step) => ({ ...step, rank }))),
    breakdown: ranks.map((rank) => ({ ...mean, rank, measured: late(rank, mean.measured), undisturbed: late(rank, mean.undisturbed) })),
    communication: { collectives, groups: [{ name: "<b>group", ranks }] },
    clock: [{ host: "node0", ranks, offset_us: 0, drift_ppm: null, residual_us: 18, method: "ends of collectives" }],
  };
}

function madePage(on, html, report, name) {
  const data = JSON.stringify(report).replaceAll("<", "\\u003c");
  const page = join(on.folder, name);
  writeFileSync(page, readFileSync(html, "utf8").replace(/(id="report">).*?(<\/script>)/s, (_, before, after) => before + data + after));
  return page;
}

export async function severalRanks(on, capture) {
  const { html, report } = await on.analyze(capture);
  await on.test("several ranks: the heat map and every rank of a collective", async () => {
    const job = madeJob(report, 4);
    await on.open(madePage(on, html, job, "ranks4.html"), {}, async (page) => {
      await page.click("button[data-view=ranks]");
      same(await page.locator(".heat tbody tr").count(), 4, "ranks");
      const heads = await page.locator(".heat thead th").allInnerTexts();
      const column = heads.findIndex((head) => head.includes("host work"));
      same(await page.locator(`.heat tr[data-rank="${kLate}"] > *`).nth(column).innerText(), "7.00 ms", "host work of the late rank");
      holds((await text(page, "main")).includes("Ranks without a trace: 4"), "the missing rank");
      const order = await page.locator(".axis-row").evaluateAll((rows) => rows.map((row) => Number(row.dataset.rank)));
      same(order.join(), "0,1,3,2", "order of arrival");
      const figures = await page.locator(`.axis-row[data-rank="${kLate}"] .axis-figures`).innerText();
      holds(figures.includes(`+${duration(6)}`) && figures.includes(duration(0.4)), figures);
      holds((await text(page, ".collective")).includes("The clocks agree within 18.0 us"), "the alignment error");
      holds((await text(page, ".collective")).includes("global duration") && (await text(page, ".collective")).includes("local duration"), "durations are labelled");
      await page.locator(".collectives").nth(1).locator("tbody tr button").last().click();
      same(await page.getAttribute(".collective", "data-collective"), "<b>group/2", "the collective that was chosen");
      same(await page.locator("main b b, main td > b").count(), 0, "a group's name stays text");
      holds((await page.evaluate(() => document.documentElement.scrollWidth)) <= 1440, "the page is wider than the window");
    });
  });
  await on.test("many ranks: a field of squares, the late one named", () =>
    on.open(madePage(on, html, madeJob(report, 256), "ranks256.html"), { locale: "zh-CN", viewport: { width: 390, height: 800 } }, async (page) => {
      await page.click("button[data-view=ranks]");
      same(await page.locator(".heat-field > div").count(), 256, "squares");
      await page.selectOption("select", "host_compute");
      holds((await text(page, ".heat-field + p")).includes(`${kLate} (7.00 ms)`), "the late rank");
      same(await page.locator(".axis-row").count(), 48, "bars");
      holds((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390, "the page is wider than the telephone");
    }));
}
