// node run.mjs PACKAGES PROGRAM CAPTURES...: opens the reports of real captures and of a hostile one in the system's
// Chromium, goes through all levels, and closes with "N passed, N failed, N skipped".
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, program, ...captures] = process.argv.slice(2).map((path) => resolve(path));
const { chromium } = createRequire(join(packages, "package.json"))("playwright-core");
const found = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));
if (!found) {
  console.log("no Chromium; tools/setup.sh test installs it\n0 passed, 1 failed, 0 skipped");
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), "accel-browser-"));
let passed = 0;
let failed = 0;
const browser = await chromium.launch({ executablePath: found, args: ["--no-sandbox"] });

function same(actual, expected, what) {
  if (actual !== expected) throw new Error(`${what}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`);
}
function holds(condition, what) {
  if (!condition) throw new Error(what);
}

// A page that fails the test when it says anything on the console or asks for anything but itself.
async function open(file, options, work) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => complaints.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => (complaints.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => {
    const url = request.url();
    if (url !== pathToFileURL(file).href && !url.startsWith("data:")) complaints.push(`request: ${url}`);
  });
  try {
    await page.goto(pathToFileURL(file).href);
    await page.waitForSelector("html[data-ready]");
    await work(page);
    holds(complaints.length === 0, complaints.join("; "));
  } finally {
    await context.close();
  }
}

async function test(name, work) {
  try {
    await work();
    ++passed;
    console.log(`ok      ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAILED  ${name}\n    ${error.message.split("\n").join("\n    ")}`);
  }
}

function analyze(capture, ...options) {
  const out = join(folder, basename(capture).replace(/\.json(\.gz)?$/, ""));
  execFileSync(program, ["analyze", capture, "-o", out, "--quiet", ...options]);
  return { html: join(out, "report.html"), report: JSON.parse(readFileSync(join(out, "report.json"), "utf8")) };
}

const text = (page, selector) => page.locator(selector).first().innerText();
// As the page prints it: three digits that count.
const digits = (value) => (Math.abs(value) >= 99.95 ? value.toFixed(0) : Math.abs(value) >= 9.995 ? value.toFixed(1) : value.toFixed(2));
const duration = (ms) => (ms >= 9999.5 ? `${digits(ms / 1e3)} s` : ms >= 0.1 ? `${digits(ms)} ms` : ms >= 0.0009995 ? `${digits(ms * 1e3)} us` : ms === 0 ? "0 ms" : `${(ms * 1e6).toFixed(0)} ns`);

for (const capture of captures) {
  const { html, report } = analyze(capture);
  const name = basename(capture);
  await test(`${name}: the first screen says what report.json says`, () =>
    open(html, {}, async (page) => {
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
  await test(`${name}: every level opens`, () =>
    open(html, {}, async (page) => {
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
      await page.locator("summary").first().click();
      same(JSON.parse(await page.locator("pre.json").innerText()).verdict.sentence, report.verdict.sentence, "report.json in the page");
    }));
  await test(`${name}: in Chinese, on a telephone, in the dark`, () =>
    open(html, { locale: "zh-CN", viewport: { width: 390, height: 800 }, colorScheme: "dark" }, async (page) => {
      same(await page.getAttribute("html", "lang"), "zh", "language");
      holds(/[\u4e00-\u9fff]/.test(await text(page, "header nav")), "no Chinese words");
      holds((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390, "the page is wider than the telephone");
      await page.click("button[data-value=en]");
      same(await text(page, "h1"), report.verdict.sentence, "sentence after the switch");
    }));
}

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
const hostileFile = join(folder, "<img src=x onerror=alert(4)>.json");
writeFileSync(hostileFile, JSON.stringify({ deviceProperties: [{ id: 0, name: hostile }], traceEvents: events }));
await test("hostile names stay text in every view", () => {
  const { html } = analyze(hostileFile);
  return open(html, {}, async (page) => {
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
await test("the policy stops scripts and styles that are not the page's own", async () => {
  const { html } = analyze(captures[0]);
  const changed = join(folder, "changed.html");
  writeFileSync(changed, readFileSync(html, "utf8").replace("<div id=\"page\">", "<script>window.injected = 1</script><div id=\"page\" onclick=\"window.injected = 2\">"));
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(pathToFileURL(changed).href);
  await page.waitForSelector("html[data-ready]");
  await page.locator("h1").click();
  same(await page.evaluate(() => window.injected), undefined, "what ran");
  await context.close();
});

await browser.close();
rmSync(folder, { recursive: true });
console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exit(failed ? 1 : 0);
