// Level 2: what is known of one op, kernel, call, module, range or frame.
import { h } from "./dom";
import { groupsOf, rooflineOf } from "./efficiency";
import { count, duration, percent, shortened, visible } from "./format";
import { say } from "./strings";
import { overSteps } from "./records";
import { Relative, selected } from "./tree";
import type { Page } from "./page";

function figure(label: string, value: string, title = ""): HTMLElement {
  return h("div", { class: "figure", title }, h("span", { class: "quiet" }, say(label)), h("b", {}, value));
}

function relatives(title: string, list: Relative[], page: Page, open: (key: string) => void): HTMLElement | null {
  if (list.length === 0) return null;
  const steps = (page.tree?.steps ?? 1) * 1e6;
  const rows = list.slice(0, 12).map((relative) =>
    h(
      "tr",
      {},
      h("td", {}, relative.kind === "root" ? say("whole") : h("button", { type: "button", class: "link", title: visible(relative.name), click: () => open(relative.key) }, shortened(visible(relative.label), 70))),
      h("td", { class: "n" }, count(relative.count)),
      h("td", { class: "n" }, duration(relative.host / steps)),
      h("td", { class: "n" }, duration(relative.device / steps)),
    ),
  );
  return h(
    "div",
    {},
    h("h4", {}, say(title), list.length > 12 && h("span", { class: "quiet" }, ` (12 / ${list.length})`)),
    h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, say("name")), h("th", { class: "n" }, say("count")), h("th", { class: "n" }, say("cpu")), h("th", { class: "n" }, say("device_time")))), h("tbody", {}, rows)),
  );
}

function showSteps(list: { index: number; ms: number; count: number }[], into: HTMLElement): void {
  if (list.length < 2) return;
  const most = Math.max(...list.map((step) => step.ms));
  if (!(most > 0)) return;
  const strip = h("div", { class: "step-bars" });
  for (const step of list.slice(0, 400)) {
    const bar = h("div", { title: `${say("in_step")} ${step.index}: ${duration(step.ms)}, ${count(step.count)} ${say("calls")}` });
    bar.style.height = `${Math.max(2, (100 * step.ms) / most)}%`;
    strip.append(bar);
  }
  into.append(h("h4", {}, say("over_steps"), h("span", { class: "quiet" }, ` (${duration(Math.min(...list.map((step) => step.ms)))} – ${duration(most)})`)), strip);
}

export function details(page: Page, key: string, open: (key: string) => void): HTMLElement | null {
  const tree = page.tree;
  const info = tree && selected(tree, key);
  if (!tree || !info) return null;
  const per = (ns: number) => duration(ns / tree.steps / 1e6);
  const box = h("div", { class: "details", "data-name": info.name });
  box.append(
    h("h3", {}, h("span", { class: "kind k-" + info.kind }, info.kind), " ", visible(info.label)),
    info.label !== info.name ? h("p", { class: "full-name" }, visible(info.name)) : "",
    h("p", { class: "quiet small" }, say("of_recorded")),
  );
  const onDevice = info.kind === "kernel" || info.kind === "copy" || info.kind === "set";
  box.append(
    h(
      "div",
      { class: "figures" },
      !onDevice && figure("host_total", per(info.host_total)),
      !onDevice && figure("host_self", per(info.host_self)),
      figure("device_total", per(info.device_total)),
      onDevice && figure("device_self", per(info.device_self)),
      figure("transfer", per(info.transfer)),
      !onDevice && figure("wait", per(info.wait)),
      figure("calls", `${count(info.count)} (${(info.count / tree.steps).toFixed(1)} ${say("per_step_short")})`),
    ),
  );
  const kernel = info.kind === "kernel" && page.report.kernels.find((row) => row.name === info.name);
  if (kernel) {
    box.append(
      h(
        "div",
        { class: "figures" },
        figure("mean", duration(kernel.mean_us / 1e3)),
        figure("min", duration(kernel.min_us / 1e3)),
        figure("max", duration(kernel.max_us / 1e3)),
        figure("share", percent(kernel.share)),
        figure("tensor cores", kernel.tensor_core ? "✓" : "–"),
      ),
    );
  }
  const op = info.kind === "op" && page.report.operators.find((row) => row.name === info.name);
  if (op) {
    if (op.dtype) box.append(h("p", {}, h("b", {}, `${say("types")}: `), visible(op.dtype)));
    if (op.shapes && op.shapes.length > 0) {
      box.append(
        h("h4", {}, say("shapes")),
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, h("th", {}, say("shapes")), h("th", { class: "n" }, say("count")), h("th", { class: "n" }, say("self_cpu")), h("th", { class: "n" }, say("self_device")))),
          h(
            "tbody",
            {},
            op.shapes.slice(0, 12).map((shape) =>
              h("tr", {}, h("td", {}, h("code", {}, shortened(visible(shape.dims), 90)), shape.dtype ? h("span", { class: "quiet small" }, ` ${visible(shape.dtype)}`) : null), h("td", { class: "n" }, count(shape.count)), h("td", { class: "n" }, duration(shape.self_cpu_ms)), h("td", { class: "n" }, duration(shape.self_device_ms))),
            ),
          ),
        ),
      );
    }
  }
  const groups = groupsOf(page.report).filter((group) => (info.kind === "op" && group.op === info.name) || (info.kind === "kernel" && group.kernel === info.label));
  const roof = groups.length > 0 && rooflineOf(page.report, groups, () => undefined);
  if (roof) box.append(h("h4", {}, say("roofline")), h("div", { class: "roof-small" }, roof));
  const near = h("div", { class: "relatives" });
  const callers = relatives("called_by", info.callers, page, open);
  const callees = relatives("calls_what", info.callees, page, open);
  if (callers) near.append(callers);
  if (callees) near.append(callees);
  box.append(near);
  const steps = h("div", { class: "over-steps" });
  box.append(steps);
  void page.records().then((records) => {
    if (records) showSteps(overSteps(records, page.report.steps, info.kind, info.name), steps);
  });
  return box;
}
