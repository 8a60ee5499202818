// Reports of real captures: the first screen against report.json, every level, another language and a telephone.
import { readFileSync, realpathSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { duration, holds, same, text } from "./harness.mjs";

export async function reports(on, captures) {
  for (const capture of captures) {
    const { html, report } = await on.analyze(capture);
    const name = basename(capture);
    await on.test(`${name}: the first screen says what report.json says`, () =>
      on.open(html, {}, async (page) => {
        same(await text(page, "h1"), report.verdict.sentence, "sentence");
        if (report.time_breakdown_undisturbed) {
          same(await text(page, "[data-figure=window_ms]"), duration(report.time_breakdown_undisturbed.window_ms), "window");
          await page.click("button[data-value=measured]");
          same(await text(page, "[data-figure=window_ms]"), duration(report.time_breakdown.window_ms), "window as recorded");
          const widths = await page.locator(".time .piece").evaluateAll((pieces) => pieces.reduce((sum, piece) => sum + piece.getBoundingClientRect().width, 0));
          const bar = await page.locator(".time .bar").evaluate((element) => element.getBoundingClientRect().width);
          holds(Math.abs(widths - bar) < 3, `the pieces fill ${widths} of ${bar} pixels`);
        }
        same(await page.locator(".plan-list > li").count(), report.plan.length, "plan");
        for (const [i, step] of report.plan.entries()) {
          const item = page.locator(".plan-list > li").nth(i);
          same(await item.locator("h3").first().innerText(), step.title, "action");
          if (step.expected_step_ms !== null) holds((await item.locator(".expected").innerText()).includes(duration(step.expected_step_ms)), "expected step");
          const command = report.findings.find((finding) => finding.id === step.finding_id).action.command;
          if (command) same((await item.locator("pre").first().innerText()).trim(), command.trim(), "command");
        }
        holds((await page.evaluate(() => document.documentElement.scrollWidth)) <= 1440, "the page is wider than the window");
      }));
    await on.test(`${name}: every level opens`, () =>
      on.open(html, {}, async (page) => {
        for (const summary of await page.locator("summary:visible").all()) await summary.click();
        if ((await page.locator(".part").count()) > 0) {
          await page.locator(".part").first().click();
          holds((await page.locator(".details .figure").count()) > 2, "no details");
          await page.locator(".flame canvas").focus();
          for (const key of ["ArrowDown", "Enter", "ArrowRight", "Escape", "ArrowUp"]) await page.keyboard.press(key);
        }
        const kernel = report.kernels[0];
        if (kernel) {
          const row = page.locator("details", { has: page.locator("summary", { hasText: /^\s*Kernels/ }) }).last().locator("tbody tr").first();
          same(await row.locator("td").nth(1).innerText(), kernel.count.toString().replace(/\B(?=(\d{3})+$)/g, ","), "count of the first kernel");
          same(await row.locator("td").nth(2).innerText(), duration(kernel.total_ms), "total of the first kernel");
        }
        await page.click("button[data-view=timeline]");
        await page.waitForSelector("html[data-timeline=ready]");
        await page.locator(".tracks canvas").focus();
        for (const key of ["w", "w", "d", "a", "s", "m"]) await page.keyboard.press(key);
        if (kernel) {
          await page.fill(".timeline input[type=search]", kernel.name);
          await page.locator(".timeline input[type=search]").press("Enter");
          same((await text(page, ".timeline .controls > span")).split(" of ")[1], kernel.count.toString().replace(/\B(?=(\d{3})+$)/g, ","), "records of the first kernel");
          holds((await text(page, ".record-panel h3")).includes(kernel.name), "the record is shown");
        }
        await page.click("button[data-view=raw]");
        holds((await text(page, "main")).includes(basename(report.inputs[0].file)), "the recording is named");
        const link = await page.locator("main a").first().evaluate((one) => one.href);
        same(realpathSync(fileURLToPath(link)), realpathSync(report.inputs[0].file), "the link leads to the recording");
        const perfetto = await page.locator("main a[href$='.perfetto']").evaluate((one) => one.href);
        same(readFileSync(fileURLToPath(perfetto)).subarray(0, 2).toString("hex"), "1f8b", "the Perfetto file beside the report");
        await page.locator("summary").first().click();
        same(JSON.parse(await page.locator("pre.json").innerText()).verdict.sentence, report.verdict.sentence, "report.json in the page");
      }));
    await on.test(`${name}: in Chinese, on a telephone, in the dark`, () =>
      on.open(html, { locale: "zh-CN", viewport: { width: 390, height: 800 }, colorScheme: "dark" }, async (page) => {
        same(await page.getAttribute("html", "lang"), "zh", "language");
        holds(/[\u4e00-\u9fff]/.test(await text(page, "header nav")), "no Chinese words");
        // Names and commands are as recorded; whole phrases in English are not.
        const prose = await page.locator("h1, .step-line, .plan h3, .plan .evidence, .plan .expected, .plan > details > summary").evaluateAll((parts) => parts.map((part) => [...part.childNodes].filter((child) => child.nodeName !== "CODE").map((child) => child.textContent).join("")));
        if (report.verdict.bound_by !== "unknown") for (const one of prose) holds(!/[a-z]+ [a-z]+ [a-z]+ [a-z]+/i.test(one), `English on the first screen: ${one}`);
        holds((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390, "the page is wider than the telephone");
        await page.click("button[data-value=en]");
        same(await text(page, "h1"), report.verdict.sentence, "sentence after the switch");
      }));
  }
}
