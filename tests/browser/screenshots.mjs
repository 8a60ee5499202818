// node screenshots.mjs PACKAGES PROGRAM CAPTURE AFTER FOLDER [RANKS]: the pictures of the documentation, from reports of
// today: of CAPTURE, of its comparison with AFTER, and of the job whose traces are the files of the folder RANKS.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, program] = process.argv.slice(2, 4).map((path) => resolve(path));
// As given: the page shows these paths.
const [capture, after, folder, ranks] = process.argv.slice(4);
const { chromium } = createRequire(join(packages, "package.json"))("playwright-core");
const work = mkdtempSync(join(tmpdir(), "accel-shots-"));
mkdirSync(folder, { recursive: true });
execFileSync(program, ["analyze", capture, "-o", work, "--quiet"]);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 820 }, locale: "en-US", colorScheme: "light" });
await page.goto(pathToFileURL(join(work, "report.html")).href);
await page.waitForSelector("html[data-ready]");
await page.waitForTimeout(300);
await page.screenshot({ path: join(folder, "report-summary.png") });
await page.setViewportSize({ width: 1280, height: 560 });
await page.click("button[data-view=timeline]");
await page.waitForSelector("html[data-timeline=ready]");
const canvas = await page.locator(".tracks canvas").boundingBox();
await page.mouse.move(canvas.x + 420, canvas.y + 60);
await page.locator(".tracks canvas").focus();
for (let i = 0; i < 10; ++i) await page.keyboard.press("w");
await page.waitForTimeout(300);
await page.screenshot({ path: join(folder, "report-timeline.png") });
const shot = async (words, name, view, height) => {
  execFileSync(program, [...words, "-o", join(work, name), "--quiet"]);
  await page.setViewportSize({ width: 1280, height });
  await page.goto(pathToFileURL(join(work, name, "report.html")).href);
  await page.waitForSelector("html[data-ready]");
  await page.click(`button[data-view=${view}]`);
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(folder, `report-${name}.png`) });
};
await shot(["compare", capture, after], "compare", "compare", 860);
if (ranks) await shot(["analyze", ranks], "ranks", "ranks", 1060);
await browser.close();
rmSync(work, { recursive: true });
