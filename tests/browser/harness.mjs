// What the browser tests share: one Chromium, a page that fails its test when it complains or asks for anything outside
// of itself, reports of captures, counts.
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

export function same(actual, expected, what) {
  if (actual !== expected) throw new Error(`${what}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`);
}
export function holds(condition, what) {
  if (!condition) throw new Error(what);
}
export const text = (page, selector) => page.locator(selector).first().innerText();
// As the page prints it: three digits that count.
export const digits = (value) => (Math.abs(value) >= 99.95 ? value.toFixed(0) : Math.abs(value) >= 9.995 ? value.toFixed(1) : value.toFixed(2));
export const duration = (ms) => (ms >= 9999.5 ? `${digits(ms / 1e3)} s` : ms >= 0.1 ? `${digits(ms)} ms` : ms >= 0.0009995 ? `${digits(ms * 1e3)} us` : ms === 0 ? "0 ms" : `${(ms * 1e6).toFixed(0)} ns`);

export class Harness {
  passed = 0;
  failed = 0;
  skipped = 0;
  folder = mkdtempSync(join(tmpdir(), "accel-browser-"));

  constructor(packages, program) {
    this.packages = resolve(packages);
    this.program = resolve(program);
  }

  async launch() {
    const { chromium } = createRequire(join(this.packages, "package.json"))("playwright-core");
    const found = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));
    if (!found) throw new Error("no Chromium; tools/setup.sh test installs it");
    this.browser = await chromium.launch({ executablePath: found, args: ["--no-sandbox"] });
  }

  async close() {
    await this.browser?.close();
    rmSync(this.folder, { recursive: true });
  }

  async open(file, options, work) {
    const context = await this.browser.newContext({ viewport: { width: 1440, height: 1000 }, ...options });
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

  async test(name, work) {
    try {
      await work();
      ++this.passed;
      console.log(`ok      ${name}`);
    } catch (error) {
      ++this.failed;
      console.log(`FAILED  ${name}\n    ${error.message.split("\n").join("\n    ")}`);
    }
  }

  skip(name, why) {
    ++this.skipped;
    console.log(`skipped ${name}: ${why}`);
  }

  async report(name, ...words) {
    const out = join(this.folder, name);
    await promisify(execFile)(this.program, [...words, "-o", out, "--quiet"]);
    return { html: join(out, "report.html"), report: JSON.parse(readFileSync(join(out, "report.json"), "utf8")) };
  }
  analyze(capture, ...options) {
    return this.report(basename(capture).replace(/\.(json(\.gz)?|accel)$/, ""), "analyze", capture, ...options);
  }
}
