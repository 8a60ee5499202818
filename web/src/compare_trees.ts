// The flame graphs of two runs at one scale, and what is known of one name in both.
import { h, replace } from "./dom";
import { metricChoice, searchField } from "./flame_controls";
import { FlameView } from "./flame_view";
import { count, duration, visible } from "./format";
import { signed } from "./compare_model";
import { say } from "./strings";
import { CallTree, Metric, keyOf, selected } from "./tree";
import type { Page } from "./page";

function figures(before: CallTree, after: CallTree, kind: string, name: string): HTMLElement {
  const of = (tree: CallTree) => {
    const key = keyOf(tree, kind, name);
    return key === null ? null : selected(tree, key);
  };
  const [first, second] = [of(before), of(after)];
  const label = (first ?? second)?.label ?? name;
  const times: [string, "host_total" | "host_self" | "device_total" | "device_self" | "transfer" | "wait"][] = [
    ["host_total", "host_total"],
    ["host_self", "host_self"],
    ["device_total", "device_total"],
    ["device_self", "device_self"],
    ["transfer", "transfer"],
    ["wait", "wait"],
  ];
  const rows = times.map(([id, key]) => {
    const a = (first?.[key] ?? 0) / before.steps / 1e6;
    const b = (second?.[key] ?? 0) / after.steps / 1e6;
    return (a !== 0 || b !== 0) && h("tr", {}, h("td", {}, say(id)), h("td", { class: "n" }, duration(a)), h("td", { class: "n" }, duration(b)), h("td", { class: "n" }, signed(b - a)));
  });
  const calls = [(first?.count ?? 0) / before.steps, (second?.count ?? 0) / after.steps];
  const figure = (value: number) => (Number.isInteger(value) ? count(value) : value.toFixed(1));
  return h(
    "div",
    { class: "details", "data-name": name },
    h("h3", {}, h("span", { class: "kind k-" + kind }, kind), " ", visible(label), !first && h("span", { class: "quiet" }, ` ${say("compare_new")}`), !second && h("span", { class: "quiet" }, ` ${say("compare_gone")}`)),
    h("p", { class: "quiet small" }, say("of_recorded")),
    h(
      "table",
      { class: "narrow" },
      h("thead", {}, h("tr", {}, h("th", {}), ["compare_before", "compare_after", "compare_delta"].map((id) => h("th", { class: "n" }, say(id))))),
      h("tbody", {}, rows, h("tr", {}, h("td", {}, say("calls")), calls.map((value) => h("td", { class: "n" }, figure(value))), h("td", { class: "n" }, (calls[1] < calls[0] ? "−" : "+") + figure(Math.abs(calls[1] - calls[0]))))),
    ),
  );
}

export function treesCard(page: Page): HTMLElement | null {
  const { tree: after, treeBefore: before } = page;
  if (!before || !after) return null;
  let metric: Metric = "host";
  const panel = h("div", { class: "details-panel" });
  const views: FlameView[] = [];
  const trees = [before, after];
  const choose = (from: CallTree, key: string) => {
    const info = selected(from, key);
    if (!info) return;
    trees.forEach((tree, i) => {
      const own = keyOf(tree, info.kind, info.name);
      if (own !== null) views[i].select(own);
    });
    replace(panel, figures(before, after, info.kind, info.name));
  };
  for (const tree of trees) views.push(new FlameView(tree, metric, (key) => choose(tree, key)));
  const scale = () => {
    const most = Math.max(...views.map((view, i) => view.whole() / trees[i].steps));
    for (const view of views) view.scaleTo(most);
  };
  scale();
  page.openDetails = (kind, name) => {
    const from = trees.find((tree) => keyOf(tree, kind, name) !== null);
    if (!from) return;
    choose(from, keyOf(from, kind, name) as string);
    panel.scrollIntoView({ block: "nearest", behavior: "smooth" });
  };
  return h(
    "section",
    { class: "card flame-card" },
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, say("flame"), " ", h("span", { class: "quiet" }, say("compare_flames"))),
      h(
        "div",
        { class: "controls" },
        metricChoice(metric, (value) => {
          metric = value;
          for (const view of views) view.set(metric, false);
          scale();
        }),
        searchField((text) => views.forEach((view) => view.search(text))),
      ),
    ),
    h("h3", {}, say("compare_before")),
    views[0].element,
    h("h3", {}, say("compare_after")),
    views[1].element,
    panel,
  );
}
