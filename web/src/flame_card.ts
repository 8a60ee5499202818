// The flame graph with its controls and what is known of the part that is chosen. The page of a job has one for each of
// its ranks, unpacked when it is asked for.
import { h, replace } from "./dom";
import { metricChoice, searchField } from "./flame_controls";
import { FlameView } from "./flame_view";
import { count, duration, percent, shortened, visible } from "./format";
import { details } from "./details";
import { rankLinks } from "./rank_links";
import { firstRankNamed, loadRankTree } from "./rank_trees";
import { hasSeveral } from "./ranks_model";
import { say } from "./strings";
import { CallTree, keyOf, kMainThread, Metric, Part } from "./tree";
import type { Page } from "./page";

// The graph of one tree with its controls; `of` says whose it is.
function fill(section: HTMLElement, page: Page, tree: CallTree, of: Node | null): void {
  const bound = page.report.verdict.bound_by;
  // Of a job the place that the first finding names tells which of the two is asked about.
  const place = hasSeveral(page.report) ? page.report.findings[0]?.where[0]?.kind : undefined;
  const byDevice = place ? place === "kernel" || place === "collective" : bound === "gpu_compute" || bound === "gpu_memory" || bound === "communication" || page.report.step_time.paced_by === "device";
  let metric: Metric = byDevice && tree.data.device_total[0] > 0 ? "device" : "host";
  let folded = false;
  const panel = h("div", { class: "details-panel" });
  const view = new FlameView(tree, metric, (key) => open(key));
  const open = (key: string) => {
    view.select(key);
    replace(panel, details(page, key, open));
    page.selected = key;
  };
  page.openDetails = (kind, name) => {
    const key = keyOf(tree, kind, name);
    if (!key) return;
    open(key);
    panel.scrollIntoView({ block: "nearest", behavior: "smooth" });
  };
  const top = h("div", { class: "heaviest" });
  const partLabel = (part: Part) => {
    if (part.kind !== "thread") return visible(part.label);
    const name = tree.flag(part.nodes[0].ids[0], kMainThread) ? say("main_thread") : visible(part.name);
    return `${name}, ${say("nothing_recorded")}`;
  };
  const refresh = () => {
    view.set(metric, folded);
    replace(
      top,
      h("span", { class: "quiet" }, say("heaviest")),
      view.parts().map((part, i) =>
        h(
          "button",
          { type: "button", class: "part", title: visible(part.name), click: () => open(part.key) },
          h("span", { class: "badge" }, i + 1),
          h("span", { class: "part-name" }, shortened(partLabel(part), 60)),
          h("b", {}, duration(part.self / tree.steps / 1e6)),
          h("span", { class: "quiet" }, percent(part.self / view.whole())),
        ),
      ),
    );
    replace(notes, metric === "device" && say("flame_sum") + " ", tree.data.nodes_summed > 0 && say("flame_rest", count(tree.data.nodes_summed), count(tree.data.most_nodes)));
  };
  const notes = h("p", { class: "quiet small" });
  const fold = h("input", { type: "checkbox" }) as HTMLInputElement;
  fold.addEventListener("change", () => {
    folded = fold.checked;
    refresh();
  });
  section.append(
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, say("flame"), " ", h("span", { class: "quiet" }, say("of_recorded"))),
      h(
        "div",
        { class: "controls" },
        of,
        metricChoice(metric, (value) => {
          metric = value;
          refresh();
        }),
        h("label", {}, fold, say("show_folded")),
        searchField((text) => view.search(text)),
        h("button", { type: "button", click: () => view.zoom(null) }, say("zoom_out")),
      ),
    ),
    top,
    view.element,
    h("p", { class: "quiet small" }, say("flame_hint")),
    notes,
    panel,
  );
  refresh();
  if (page.selected) open(page.selected);
}

function rankCard(page: Page): HTMLElement {
  const section = h("section", { class: "card flame-card" });
  const ranks = page.about.rank_trees;
  const nameOf = (rank: number | null) => (rank === null ? `${say("rank")} –` : `${say("rank")} ${rank}`);
  const picker = h("select", { "aria-label": say("rank") }, ranks.map((rank, i) => h("option", { value: i }, nameOf(rank)))) as HTMLSelectElement;
  picker.addEventListener("change", () => show(Number(picker.value)));
  const show = async (place: number) => {
    picker.value = String(place);
    const tree = await loadRankTree(place);
    if (!tree) {
      replace(section, h("h2", {}, say("flame")), h("p", { class: "quiet" }, say("flame_none")));
      return;
    }
    page.tree = tree;
    page.rankOfTree = place;
    section.dataset.rank = String(ranks[place] ?? "");
    replace(section);
    fill(section, page, tree, picker);
    const all = page.report.job.ranks.length;
    section.append(h("p", { class: "quiet small" }, say("flame_one_rank", nameOf(ranks[place])), ranks.length < all && ` ${say("flame_some_ranks", count(ranks.length), count(all))}`));
  };
  section.append(h("h2", {}, say("flame")));
  void show(page.rankOfTree ?? firstRankNamed(page.report, ranks));
  return section;
}

export function flameCard(page: Page): HTMLElement {
  if (page.about.rank_trees.length > 0 && hasSeveral(page.report)) return rankCard(page);
  const section = h("section", { class: "card flame-card" });
  if (page.tree) {
    fill(section, page, page.tree, null);
    return section;
  }
  const links = rankLinks(page);
  section.append(h("h2", {}, say("flame")), h("p", { class: "quiet" }, say(links ? "flame_of_ranks" : hasSeveral(page.report) ? "flame_ranks" : "flame_none")), links ?? "");
  return section;
}
