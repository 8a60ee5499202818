// Links from the page of a job to the pages of its ranks, which stand in folders beside it.
import { h } from "./dom";
import { visible } from "./format";
import { say } from "./strings";
import type { Page } from "./page";

export function reportOfRank(page: Page, rank: number): string | null {
  const report = page.about.rank_reports.find((one) => one.rank === rank);
  return report ? report.path.split("/").map(encodeURIComponent).join("/") : null;
}

export function rankLinks(page: Page): HTMLElement | null {
  if (page.about.rank_reports.length === 0) return null;
  const list = h("p", { class: "rank-links" });
  for (const report of page.about.rank_reports) {
    const href = report.path.split("/").map(encodeURIComponent).join("/");
    list.append(h("a", { href, title: visible(report.path) }, report.rank === null ? visible(report.path) : `${say("rank")} ${report.rank}`), " ");
  }
  return list;
}
