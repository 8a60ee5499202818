// Level 3: the tables of kernels and operators, folded away; a row opens its details.
import { fold, h, replace } from "./dom";
import { count, duration, percent, shortened, visible } from "./format";
import { rest } from "./rest";
import { say } from "./strings";
import type { Page } from "./page";
import type { Scope } from "./types";

const kRows = 20;

interface Column<T> {
  label: string;
  text: (row: T) => string;
  figure?: (row: T) => number;
  link?: (row: T) => void;
  title?: (row: T) => string;
}

function table<T>(rows: T[], columns: Column<T>[]): HTMLElement {
  let sorted = rows;
  let all = false;
  let by = -1;
  const body = h("tbody");
  const more = h("button", { type: "button", class: "link" });
  const fill = () => {
    replace(
      body,
      (all ? sorted : sorted.slice(0, kRows)).map((row) =>
        h(
          "tr",
          {},
          columns.map((column) =>
            h("td", { class: column.figure ? "n" : "", title: column.title?.(row) }, column.link ? h("button", { type: "button", class: "link", click: () => column.link?.(row) }, column.text(row)) : column.text(row)),
          ),
        ),
      ),
    );
    more.hidden = all || rows.length <= kRows;
    more.textContent = say("show_all", count(rows.length));
  };
  more.addEventListener("click", () => {
    all = true;
    fill();
  });
  const heads = columns.map((column, i) => {
    const cell = h("th", { class: column.figure ? "n" : "", scope: "col" });
    const figure = column.figure;
    if (!figure) cell.append(say(column.label));
    else
      cell.append(
        h(
          "button",
          {
            type: "button",
            class: "link",
            click: () => {
              sorted = [...rows].sort((a, b) => figure(b) - figure(a));
              by = i;
              for (const other of heads) other.removeAttribute("aria-sort");
              heads[by].setAttribute("aria-sort", "descending");
              fill();
            },
          },
          say(column.label),
        ),
      );
    return cell;
  });
  fill();
  return h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, heads)), body), more);
}

const kScopes: ["modules" | "annotations" | "frames", string][] = [
  ["modules", "module"],
  ["annotations", "annotation"],
  ["frames", "frame"],
];

// Time by module, range and function, per step.
function scopes(page: Page): HTMLElement[] {
  const list: HTMLElement[] = [];
  for (const [key, kind] of kScopes) {
    const rows = page.report[key];
    if (!rows || rows.length === 0) continue;
    const name = (row: Scope) => (kind === "module" ? "nn.Module: " + row.name.replace("nn.Module: ", "") : row.name);
    const hasBackward = rows.some((row) => row.backward_device_ms !== null);
    list.push(
      fold({ class: "deep" }, [`${say(key)} (${count(rows.length)})`], () => [
        table<Scope>(rows, [
          { label: "name", text: (row) => shortened(visible(row.name), 90), title: (row) => visible(row.file ? `${row.file}:${row.line ?? ""}` : row.name), link: (row) => page.openDetails?.(kind, name(row)) },
          { label: "calls", text: (row) => count(row.count), figure: (row) => row.count },
          { label: "host_self", text: (row) => duration(row.host_self_ms), figure: (row) => row.host_self_ms },
          { label: "host_total", text: (row) => duration(row.host_ms), figure: (row) => row.host_ms },
          { label: "device_self", text: (row) => duration(row.device_self_ms), figure: (row) => row.device_self_ms },
          { label: "device_total", text: (row) => duration(row.device_ms), figure: (row) => row.device_ms },
          ...(hasBackward ? [{ label: "device_backward", text: (row: Scope) => (row.backward_device_ms === null ? "–" : duration(row.backward_device_ms)), figure: (row: Scope) => row.backward_device_ms ?? -1 }] : []),
        ]),
        h("p", { class: "quiet small" }, say("scopes_hint")),
      ]),
    );
  }
  return list;
}

export function tables(page: Page): HTMLElement {
  const report = page.report;
  const section = h("section", { class: "card" }, h("h2", {}, say("data")));
  const summary = report.kernel_summary;
  const headline = summary.per_step !== null && summary.mean_us !== null ? `: ${count(summary.per_step)} ${say("per_step_short")}, ${say("mean")} ${duration(summary.mean_us / 1e3)}` : "";
  section.append(
    ...scopes(page),
    fold({ class: "deep" }, [`${say("kernels")}${headline}`], () => [
      table(report.kernels, [
        { label: "name", text: (row) => shortened(visible(row.short_name || row.name), 90), title: (row) => visible(row.name), link: (row) => page.openDetails?.("kernel", row.name) },
        { label: "count", text: (row) => count(row.count), figure: (row) => row.count },
        { label: "total", text: (row) => duration(row.total_ms), figure: (row) => row.total_ms },
        { label: "mean", text: (row) => duration(row.mean_us / 1e3), figure: (row) => row.mean_us },
        { label: "min", text: (row) => duration(row.min_us / 1e3), figure: (row) => row.min_us },
        { label: "max", text: (row) => duration(row.max_us / 1e3), figure: (row) => row.max_us },
        { label: "share", text: (row) => percent(row.share), figure: (row) => row.share },
      ]),
    ]),
    fold({ class: "deep" }, [say("operators")], () => [
      table(report.operators, [
        { label: "name", text: (row) => shortened(visible(row.name), 90), title: (row) => visible(row.name), link: (row) => page.openDetails?.("op", row.name) },
        { label: "types", text: (row) => visible(row.dtype ?? "") },
        { label: "count", text: (row) => count(row.count), figure: (row) => row.count },
        { label: "self_cpu", text: (row) => duration(row.self_cpu_ms), figure: (row) => row.self_cpu_ms },
        { label: "cpu", text: (row) => duration(row.cpu_ms), figure: (row) => row.cpu_ms },
        { label: "self_device", text: (row) => duration(row.self_device_ms), figure: (row) => row.self_device_ms },
        { label: "device_time", text: (row) => duration(row.device_ms), figure: (row) => row.device_ms },
      ]),
    ]),
    fold({ class: "deep" }, [`${say("steps")} (${report.steps.length})`], () => [
      table(report.steps, [
        { label: "in_step", text: (row) => String(row.index) },
        { label: "started_at", text: (row) => duration(row.start_ns / 1e6), figure: (row) => row.start_ns },
        { label: "lasted", text: (row) => (row.duration_ms === null ? say("not_measured") : duration(row.duration_ms)), figure: (row) => row.duration_ms ?? -1 },
        { label: "class", text: (row) => row.class + (row.complete ? "" : " *") },
      ]),
    ]),
  );
  const others = rest(report);
  if (others.length > 0) section.append(h("h3", {}, say("other_parts")), ...others);
  return section;
}
