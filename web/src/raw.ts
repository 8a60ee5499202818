// The raw view: where the recording stands, how to open it, and everything that report.json holds.
import { copyButton, fold, h } from "./dom";
import { bytes, count, visible } from "./format";
import { say } from "./strings";
import type { Page } from "./page";

function quoted(path: string): string {
  return /^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

export function raw(page: Page): HTMLElement {
  const report = page.report;
  const section = h("section", { class: "card" }, h("h2", {}, say("raw_title")));
  for (const input of report.inputs) {
    // A path that starts at the root leads there from everywhere on the machine.
    const link = input.file.startsWith("/") ? "file://" + input.file.split("/").map(encodeURIComponent).join("/") : null;
    const path = h("code", { class: "path" }, visible(input.file));
    const again = `accel-profiler analyze ${quoted(input.file)}`;
    section.append(
      h("p", {}, link ? h("a", { href: link, title: say("raw_link") }, path) : path, " ", copyButton(input.file, say("copy"), say("copied"))),
      h("p", { class: "quiet" }, `${say("raw_format")} ${visible(input.format)}, ${say("raw_size")} ${bytes(input.bytes)}, ${count(input.events)} ${say("events")}`),
      ...(input.format === "kineto_json" ? [h("p", {}, say("raw_open"))] : []),
      h("h3", {}, say("raw_again")),
      h("div", { class: "command" }, h("pre", {}, visible(again)), copyButton(again, say("copy"), say("copied"))),
    );
  }
  if (page.about.perfetto) {
    section.append(
      h("h3", {}, say("raw_perfetto")),
      h("p", {}, h("a", { href: page.about.perfetto }, h("code", { class: "path" }, page.about.perfetto)), " ", say("raw_perfetto_holds")),
      h("p", {}, say("raw_perfetto_open")),
    );
  }
  const pairs = [...Object.entries(report.job.versions), ...Object.entries(report.job.environment)];
  section.append(
    h("h3", {}, say("raw_versions")),
    h("table", {}, h("tbody", {}, pairs.map(([key, value]) => h("tr", {}, h("td", {}, visible(key)), h("td", {}, visible(value)))))),
  );
  const whole = fold({ class: "deep" }, [say("raw_report")], () => [h("pre", { class: "json" }, JSON.stringify(report, null, 1))]);
  section.append(whole, h("h3", {}, say("notices")), h("p", { class: "quiet" }, say("no_third_party")));
  return h("main", {}, section);
}
