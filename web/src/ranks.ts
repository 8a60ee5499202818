// The ranks of a job: a heat map of what each did, collectives by kind and one by one, all ranks' bars of one of them.
import { s } from "./chart";
import { choice, fold, guarded, h, replace } from "./dom";
import { bytes, count, duration, percent, shortened, threeDigits, visible } from "./format";
import { Axis, Collective, HeatMap, Kind, axisOf, clocksOf, collectivesOf, groupsOfRanks, heatMap, kinds, oddRanks, ranges, shades, shortList, tellingMeasure } from "./ranks_model";
import { reportOfRank } from "./rank_links";
import { reason } from "./summary";
import { say } from "./strings";
import type { Page } from "./page";
import type { Report } from "./types";

const kTableRanks = 32; // more ranks are a field of squares
const kBars = 48;
const kRows = 20;
const kOdd = 0.05;

const us = (value: number) => duration(value / 1e3);
const orNot = (value: number | null, text: (value: number) => string) => (value === null ? "–" : text(value));
const measureName = (id: string, idle: boolean) => (idle ? `${say("idle")}: ${say(id)}` : say(id));

function shade(element: HTMLElement, share: number | null): void {
  if (share === null) return;
  element.style.background = `color-mix(in srgb, var(--compute) ${Math.round(4 + 46 * share)}%, var(--card))`;
}

function rankName(page: Page, rank: number): HTMLElement | string {
  const href = reportOfRank(page, rank);
  return href ? h("a", { href, title: say("raw_rank_reports") }, `${say("rank")} ${rank}`) : `${say("rank")} ${rank}`;
}

function heatTable(page: Page, map: HeatMap): HTMLElement {
  const columns = map.measures.map((measure) => shades(measure.values));
  const rows = map.ranks.map((rank, i) =>
    h(
      "tr",
      { "data-rank": rank },
      h("th", { scope: "row" }, rankName(page, rank), map.hosts[i] && h("span", { class: "quiet small" }, ` ${visible(map.hosts[i])}`)),
      map.measures.map((measure, m) => {
        const value = measure.values[i];
        const cell = h("td", { class: "n", title: `${measureName(measure.id, measure.idle)}, ${say("rank")} ${rank}` }, orNot(value, duration));
        shade(cell, columns[m][i]);
        return cell;
      }),
    ),
  );
  return h("div", { class: "scroll" }, h("table", { class: "heat" }, h("thead", {}, h("tr", {}, h("th", {}), map.measures.map((measure) => h("th", { class: "n", scope: "col" }, measureName(measure.id, measure.idle))))), h("tbody", {}, rows)));
}

function heatField(map: HeatMap): HTMLElement {
  const field = h("div", { class: "heat-field" });
  const odd = h("p", { class: "quiet" });
  const show = (id: string) => {
    const measure = map.measures.find((one) => one.id === id) ?? map.measures[0];
    const list = shades(measure.values);
    replace(
      field,
      map.ranks.map((rank, i) => {
        const cell = h("div", { title: `${say("rank")} ${rank}${map.hosts[i] ? `, ${visible(map.hosts[i])}` : ""}: ${orNot(measure.values[i], duration)}` });
        shade(cell, list[i]);
        return cell;
      }),
    );
    const names = oddRanks(measure, kOdd).slice(0, 8);
    odd.textContent = names.length === 0 ? say("ranks_alike") : `${say("ranks_odd")}: ${names.map((one) => `${map.ranks[one.at]} (${duration(measure.values[one.at] as number)})`).join(", ")}`;
  };
  const picker = h("select", { "aria-label": say("ranks_measure") }, map.measures.map((measure) => h("option", { value: measure.id }, measureName(measure.id, measure.idle)))) as HTMLSelectElement;
  picker.addEventListener("change", () => show(picker.value));
  picker.value = tellingMeasure(map).id;
  show(picker.value);
  return h("div", {}, h("p", {}, picker), field, odd);
}

function heatCard(page: Page): HTMLElement | null {
  const report = page.report;
  const body = h("div");
  const show = (which: string) => {
    const map = heatMap(report, which === "undisturbed");
    if (map.ranks.length === 0 || map.measures.length === 0) replace(body, h("p", { class: "quiet" }, reason(report, "breakdown")));
    else replace(body, map.ranks.length <= kTableRanks ? heatTable(page, map) : heatField(map));
  };
  show("measured");
  return h(
    "section",
    { class: "card" },
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, say("ranks_heat"), " ", h("span", { class: "quiet" }, say("per_step"))),
      choice<string>(
        say("ranks_heat"),
        [
          ["measured", say("measured")],
          ["undisturbed", say("undisturbed")],
        ],
        "measured",
        show,
      ),
    ),
    report.job.ranks_missing !== undefined && report.job.ranks_missing.length > 0 && h("p", { class: "note" }, say("ranks_missing", ranges(report.job.ranks_missing), report.job.world_size ?? "?")),
    body,
    h("p", { class: "quiet small" }, say("ranks_heat_hint")),
  );
}

function axisCard(report: Report, collective: Collective, axis: Axis): HTMLElement {
  const { bars, left_out, at } = shortList(axis.bars, kBars);
  const share = (value: number) => `${axis.whole_us > 0 ? (100 * value) / axis.whole_us : 0}%`;
  const rows: HTMLElement[] = [];
  bars.forEach((bar, i) => {
    if (left_out > 0 && i === at) rows.push(h("div", { class: "quiet small" }, say("ranks_between", count(left_out))));
    const wait = h("div", { class: "bar-wait", title: `${say("collective_wait")} ${us(bar.wait_us)}` });
    wait.style.left = share(bar.arrival_us);
    wait.style.width = share(bar.wait_us);
    const transfer = h("div", { class: "bar-transfer", title: `${say("collective_transfer")} ${us(bar.transfer_us)}` });
    transfer.style.left = share(bar.arrival_us + bar.wait_us);
    transfer.style.width = share(bar.transfer_us);
    const line = h("div", { class: "axis-line" }, wait, transfer);
    if (axis.error_us !== null && axis.error_us > 0) {
      const error = h("div", { class: "bar-error" });
      error.style.left = share(Math.max(0, bar.arrival_us - axis.error_us));
      error.style.width = share(Math.min(axis.whole_us, bar.arrival_us + axis.error_us) - Math.max(0, bar.arrival_us - axis.error_us));
      line.append(error);
    }
    rows.push(
      h(
        "div",
        { class: "axis-row", "data-rank": bar.rank },
        h("span", { class: "axis-name" }, `${say("rank")} ${bar.rank}`),
        line,
        h("span", { class: "axis-figures" }, `+${us(bar.arrival_us)}`, h("span", { class: "quiet" }, `  ${say("collective_local")} ${us(bar.wait_us + bar.transfer_us)}, ${say("collective_wait")} ${us(bar.wait_us)}`)),
      ),
    );
  });
  const errors = clocksOf(report).filter((clock) => clock.ranks.some((rank) => collective.ranks.includes(rank)));
  const methods = [...new Set(errors.map((clock) => visible(clock.method)).filter(Boolean))].join(", ");
  return h(
    "div",
    {},
    h("div", { class: "axis" }, rows),
    h("p", { class: "quiet small" }, say(axis.measured ? "axis_measured" : "axis_ends")),
    h("p", { class: "quiet small" }, axis.error_us === null ? say("axis_error_unknown") : say("axis_error", us(axis.error_us)), methods && ` (${methods})`),
  );
}

// The ranks in a row and what lies between them.
function pathDrawing(collective: Collective): HTMLElement | null {
  // Where the topology is not known the sentence above says so: there is nothing to draw.
  if (!collective.path || collective.path.startsWith("topology unknown")) return null;
  const ranks = collective.ranks.length <= 8 ? collective.ranks : [collective.ranks[0], collective.ranks[1], collective.ranks[collective.ranks.length - 1]];
  if (ranks.length < 2) return null;
  const gap = 176;
  const width = 70 + gap * (ranks.length - 1);
  const chart = s("svg", { viewBox: `0 0 ${width} 50`, width, class: "chart path-drawing", role: "img", "aria-label": `${say("collective_path")} ${collective.path}` });
  ranks.forEach((rank, i) => {
    const x = 8 + gap * i;
    const skipped = collective.ranks.length > 8 && i === 2;
    if (i > 0) chart.append(s("line", { x1: x - gap + 54, x2: x, y1: 30, y2: 30, class: skipped ? "link skipped" : "link" }), s("text", { x: x - gap / 2 + 27, y: 22, class: "tick middle" }, skipped ? "…" : shortened(visible(collective.path), 18)));
    chart.append(s("rect", { x, y: 18, width: 54, height: 24, rx: 4, class: "node" }), s("text", { x: x + 27, y: 34, class: "tick middle" }, `${say("rank")} ${rank}`));
  });
  return h("div", { class: "scroll" }, chart as unknown as HTMLElement);
}

function oneCollective(report: Report, collective: Collective): HTMLElement {
  const figure = (label: string, value: string, title = "") => h("div", { class: "figure", title }, h("span", { class: "quiet" }, say(label)), h("b", {}, value));
  const axis = axisOf(collective, clocksOf(report));
  const capable = collective.path_gbps ?? null;
  const speed = orNot(collective.busbw_gbps, (value) => `${threeDigits(value)} GB/s`) + (collective.busbw_gbps !== null && capable !== null && capable > 0 ? ` (${say("collective_of_path", threeDigits(capable), percent(collective.busbw_gbps / capable))})` : "");
  return h(
    "section",
    { class: "card collective", "data-collective": `${collective.group}/${collective.seq ?? ""}` },
    h("h2", {}, visible(collective.name), " ", h("span", { class: "quiet" }, `${say("collective_group")} ${visible(collective.group)}`, collective.seq !== null && `, #${collective.seq}`, collective.step !== null && collective.step !== undefined && `, ${say("in_step")} ${collective.step}`)),
    h(
      "div",
      { class: "figures" },
      figure("bytes", orNot(collective.bytes, bytes)),
      figure("collective_global", orNot(collective.global_ms, duration), say("collective_global_hint")),
      figure("collective_spread", orNot(collective.arrival_spread_us, us)),
      figure("collective_end_spread", orNot(collective.end_spread_us ?? null, us)),
      figure("collective_wait", orNot(collective.wait_ms, duration)),
      figure("collective_transfer", orNot(collective.transfer_ms, duration)),
      figure("collective_exposed", orNot(collective.exposed_ms, duration)),
      figure("collective_busbw", speed),
      figure("collective_path", collective.path ? visible(collective.path) : say("not_measured")),
    ),
    axis ? axisCard(report, collective, axis) : h("p", { class: "quiet" }, reason(report, "communication.collectives[].local_ms")),
    pathDrawing(collective),
    h("p", { class: "quiet small" }, `${say("collective_local")}: ${say("collective_local_hint")} ${say("collective_global")}: ${say("collective_global_hint")}`),
  );
}

interface Column<T> {
  label: string;
  text: (row: T) => string;
  figure?: (row: T) => number;
}

function list<T>(rows: T[], columns: Column<T>[], pick: (row: T) => void): HTMLElement {
  let sorted = rows;
  let all = false;
  const body = h("tbody");
  const more = h("button", { type: "button", class: "link", click: () => ((all = true), fill()) });
  const fill = () => {
    replace(
      body,
      (all ? sorted : sorted.slice(0, kRows)).map((row) => h("tr", {}, columns.map((column, i) => h("td", { class: column.figure ? "n" : "" }, i === 0 ? h("button", { type: "button", class: "link", click: () => pick(row) }, column.text(row)) : column.text(row))))),
    );
    more.hidden = all || rows.length <= kRows;
    more.textContent = say("show_all", count(rows.length));
  };
  const heads = columns.map((column) => {
    const { figure } = column;
    const cell = h("th", { class: figure ? "n" : "", scope: "col" });
    if (!figure) cell.append(say(column.label));
    else
      cell.append(
        h("button", { type: "button", class: "link", click: () => {
          sorted = [...rows].sort((a, b) => figure(b) - figure(a));
          heads.forEach((other) => other.removeAttribute("aria-sort"));
          cell.setAttribute("aria-sort", "descending");
          fill();
        } }, say(column.label)),
      );
    return cell;
  });
  fill();
  return h("div", { class: "scroll" }, h("table", { class: "collectives" }, h("thead", {}, h("tr", {}, heads)), body), more);
}

const known = (value: number | null) => value ?? -1;

function collectivesCard(report: Report): HTMLElement {
  const collectives = collectivesOf(report);
  const section = h("section", { class: "card" }, h("h2", {}, say("collectives")));
  if (collectives.length === 0) {
    section.append(h("p", { class: "quiet" }, reason(report, "communication.collectives")));
    return section;
  }
  const byKind = kinds(collectives);
  const panel = h("div", { class: "collective-panel" });
  const singles = h("div");
  const show = (collective: Collective) => {
    replace(panel, oneCollective(report, collective));
    panel.scrollIntoView({ block: "nearest" });
  };
  const showKind = (kind: Kind) => {
    const rows = kind.rows.map((row) => collectives[row]);
    replace(
      singles,
      h("h3", {}, `${visible(kind.name)}, ${say("collective_group")} ${visible(kind.group)}, ${orNot(kind.bytes, bytes)}`),
      list<Collective>(
        rows,
        [
          { label: "collective_seq", text: (row) => (row.step !== null && row.step !== undefined ? `#${row.seq ?? "?"}, ${say("in_step")} ${row.step}` : `#${row.seq ?? "?"}`) },
          { label: "collective_order", text: (row) => (row.first_rank === null || row.last_rank === null ? "–" : `${row.first_rank} … ${row.last_rank}`) },
          { label: "collective_spread", text: (row) => orNot(row.arrival_spread_us, us), figure: (row) => known(row.arrival_spread_us) },
          { label: "collective_wait", text: (row) => orNot(row.wait_ms, duration), figure: (row) => known(row.wait_ms) },
          { label: "collective_transfer", text: (row) => orNot(row.transfer_ms, duration), figure: (row) => known(row.transfer_ms) },
          { label: "collective_global", text: (row) => orNot(row.global_ms, duration), figure: (row) => known(row.global_ms) },
          { label: "collective_exposed", text: (row) => orNot(row.exposed_ms, duration), figure: (row) => known(row.exposed_ms) },
          { label: "collective_busbw", text: (row) => orNot(row.busbw_gbps, (value) => `${threeDigits(value)} GB/s`), figure: (row) => known(row.busbw_gbps) },
        ],
        show,
      ),
    );
    // The one that ranks waited for longest tells most.
    show([...rows].sort((a, b) => known(b.wait_ms) - known(a.wait_ms))[0]);
  };
  section.append(
    list<Kind>(
      byKind,
      [
        { label: "name", text: (kind) => visible(kind.name) },
        { label: "collective_group", text: (kind) => shortened(visible(kind.group), 30) },
        { label: "bytes", text: (kind) => orNot(kind.bytes, bytes), figure: (kind) => known(kind.bytes) },
        { label: "count", text: (kind) => count(kind.rows.length), figure: (kind) => kind.rows.length },
        { label: "collective_wait", text: (kind) => orNot(kind.wait_ms, duration), figure: (kind) => known(kind.wait_ms) },
        { label: "collective_transfer", text: (kind) => orNot(kind.transfer_ms, duration), figure: (kind) => known(kind.transfer_ms) },
        { label: "collective_exposed", text: (kind) => orNot(kind.exposed_ms, duration), figure: (kind) => known(kind.exposed_ms) },
        { label: "collective_busbw", text: (kind) => orNot(kind.busbw_gbps, (value) => `${threeDigits(value)} GB/s`), figure: (kind) => known(kind.busbw_gbps) },
        { label: "collective_last", text: (kind) => (kind.last ? `${say("rank")} ${kind.last.rank} (${kind.last.times} / ${kind.rows.length})` : "–") },
      ],
      showKind,
    ),
    h("p", { class: "quiet small" }, say("collectives_hint")),
    panel,
    singles,
  );
  showKind(byKind[0]);
  return section;
}

function clockCard(report: Report): HTMLElement | null {
  const clocks = clocksOf(report);
  const groups = groupsOfRanks(report);
  if (clocks.length + groups.length === 0) return null;
  const ranks = (list: number[]) => shortened(ranges(list), 80);
  return h(
    "section",
    { class: "card" },
    h("h2", {}, say("clocks")),
    clocks.length > 0 &&
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, ["host", "ranks", "clock_offset", "clock_drift", "clock_residual", "clock_method"].map((id, i) => h("th", { class: i > 1 && i < 5 ? "n" : "" }, say(id))))),
          h("tbody", {}, clocks.map((clock) => h("tr", {}, h("td", {}, visible(clock.host) || "–"), h("td", {}, ranks(clock.ranks)), h("td", { class: "n" }, orNot(clock.offset_us, us)), h("td", { class: "n" }, orNot(clock.drift_ppm, (value) => `${threeDigits(value)} ppm`)), h("td", { class: "n" }, orNot(clock.residual_us, us)), h("td", {}, visible(clock.method))))),
        ),
      ),
    groups.length > 0 && fold({}, [`${say("groups")} (${groups.length})`], () => [h("table", {}, h("tbody", {}, groups.map((group) => h("tr", {}, h("td", {}, visible(group.name)), h("td", {}, ranks(group.ranks))))))]),
  );
}

export function ranksView(page: Page): HTMLElement {
  const report = page.report;
  return h("main", {}, guarded(() => heatCard(page)), guarded(() => collectivesCard(report)), guarded(() => clockCard(report)));
}

