// Entry of the page: reads the data, keeps language, colours and the view that is open.
import { compareOf, comparison } from "./compare";
import { choice, h, openForPrint, replace } from "./dom";
import { count, shortened, visible } from "./format";
import type { Page } from "./page";
import { ranksView } from "./ranks";
import { hasSeveral, ranksOf } from "./ranks_model";
import { raw } from "./raw";
import { Records, TimelineAbout, decode } from "./records";
import { Language, currentLanguage, say, setLabels, setLanguage } from "./strings";
import { summary } from "./summary";
import { tables } from "./tables";
import { timeline } from "./timeline";
import { CallTree } from "./tree";
import type { About, CallTreeData, Report } from "./types";

type View = "compare" | "summary" | "ranks" | "timeline" | "raw";

function data<T>(id: string): T | null {
  const element = document.getElementById(id);
  return element?.textContent ? (JSON.parse(element.textContent) as T) : null;
}

function stored(key: string): string | null {
  try {
    return localStorage.getItem("accel-profiler." + key);
  } catch {
    return null;
  }
}
function store(key: string, value: string): void {
  try {
    localStorage.setItem("accel-profiler." + key, value);
  } catch {
    // Pages from disk may have no storage: the choice then lasts as long as the page.
  }
}

function fileName(path: string, most: number): string {
  return shortened(visible(path.split("/").pop() ?? ""), most);
}

function applyTheme(theme: string): void {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  repaint();
}
// What is drawn on canvas has the colours of the time when it was drawn.
function repaint(): void {
  for (const canvas of document.querySelectorAll("canvas")) canvas.dispatchEvent(new Event("repaint"));
}

function start(): void {
  const root = document.getElementById("page") as HTMLElement;
  const report = data<Report>("report");
  const about = data<About>("about");
  if (!report || !about) {
    root.textContent = "This file holds no report.";
    return;
  }
  setLabels(about);
  const treeOf = (id: string) => {
    const columns = data<CallTreeData>(id);
    return columns && new CallTree(columns);
  };
  let reading: Promise<Records | null> | null = null;
  const records = () => (reading ??= read());
  const read = async () => {
    // The records stand behind this script.
    if (document.readyState === "loading") await new Promise((done) => document.addEventListener("DOMContentLoaded", done));
    const head = data<TimelineAbout>("timeline-about");
    const columns = document.getElementById("timeline-columns")?.textContent;
    return head && columns ? decode(head, columns) : null;
  };
  const page: Page = { report, about, tree: treeOf("call-tree"), treeBefore: treeOf("call-tree-before"), selected: null, tables: () => tables(page), records };
  const language = stored("language") ?? about.language ?? (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");
  setLanguage(language === "zh" ? "zh" : "en");
  let theme = stored("theme") ?? "auto";
  applyTheme(theme);
  const compared = compareOf(page);
  const views: Partial<Record<View, () => HTMLElement>> = {};
  if (compared) views.compare = () => comparison(page, compared);
  views.summary = () => summary(page);
  if (hasSeveral(report)) views.ranks = () => ranksView(page);
  if (!compared || about.records) views.timeline = () => timeline(page);
  views.raw = () => raw(page);
  const wanted = location.hash.slice(1);
  let view: View = Object.hasOwn(views, wanted) ? (wanted as View) : compared ? "compare" : "summary";

  const render = () => {
    document.documentElement.lang = currentLanguage();
    const input = report.inputs[0];
    const several = !compared && report.inputs.length > 1 && hasSeveral(report);
    const events = several ? report.inputs.reduce((sum, one) => sum + one.events, 0) : input?.events;
    const device = report.job.ranks.flatMap((rank) => rank.devices).find((one) => one.name)?.name;
    const facts = [
      input && !several && `${compared ? `${fileName(compared.before.file ?? "–", 40)} → ` : ""}${fileName(input.file, 60)}`,
      input && !several && input.rank !== null && `${say("rank")} ${input.rank}`,
      several && say("ranks_of_job", count(ranksOf(report).length)),
      device && visible(device),
      input && `${count(events)} ${say("events")}`,
      report.step_time.count > 0 && report.step_time.source !== "whole_window" && `${count(report.step_time.count)} ${say("steps_recorded")}`,
    ].filter(Boolean) as string[];
    const tabs = h("nav", { class: "tabs", "aria-label": say("views") });
    for (const id of Object.keys(views) as View[]) {
      tabs.append(
        h(
          "button",
          {
            type: "button",
            "aria-current": id === view ? "page" : undefined,
            "data-view": id,
            click: () => {
              view = id;
              history.replaceState(null, "", "#" + id);
              render();
            },
          },
          say(compared && id === "summary" ? "compare_summary" : id),
        ),
      );
    }
    const header = h(
      "header",
      {},
      h("div", { class: "brand" }, h("b", {}, "accel-profiler"), h("span", { class: "quiet facts", title: visible(input?.file ?? "") }, facts.join(" · "))),
      tabs,
      h(
        "div",
        { class: "controls" },
        choice<Language>(
          say("language"),
          [
            ["en", "EN"],
            ["zh", "中文"],
          ],
          currentLanguage(),
          (value) => {
            setLanguage(value);
            store("language", value);
            render();
          },
        ),
        choice<string>(
          say("theme"),
          [
            ["auto", say("theme_auto")],
            ["light", say("theme_light")],
            ["dark", say("theme_dark")],
          ],
          theme,
          (value) => {
            theme = value;
            store("theme", value);
            applyTheme(value);
          },
        ),
      ),
    );
    replace(root, header, (views[view] as () => HTMLElement)(), h("footer", { class: "quiet" }, `${report.tool.name} ${report.tool.version}`));
  };
  window.addEventListener("beforeprint", () => {
    openForPrint(document);
    applyTheme("light");
  });
  window.addEventListener("afterprint", () => applyTheme(theme));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  render();
  document.documentElement.dataset.ready = "true";
}

start();
