// The raw view: where the recording stands, how to open it, and everything that report.json holds.
import { copyButton, fold, h } from "./dom";
import { rankLinks } from "./rank_links";
import { hasSeveral } from "./ranks_model";
import { bytes, count, visible } from "./format";
import { say } from "./strings";
import type { Page } from "./page";
import type { Report } from "./types";

const kFewFiles = 4;

function quoted(path: string): string {
  return /^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

function commandLine(text: string): HTMLElement {
  return h("div", { class: "command" }, h("pre", {}, visible(text)), copyButton(text, say("copy"), say("copied")));
}

// The files of a job one by one, or the folder where all stand when they are many.
function inputsOf(report: Report): string {
  const files = report.inputs.map((input) => input.file);
  const folder = files[0].slice(0, files[0].lastIndexOf("/"));
  const together = files.every((file) => file.slice(0, file.lastIndexOf("/")) === folder);
  return files.length > kFewFiles && together && folder !== "" ? quoted(folder) : files.map(quoted).join(" ");
}

export function raw(page: Page): HTMLElement {
  const report = page.report;
  const section = h("section", { class: "card" }, h("h2", {}, say("raw_title")));
  const several = report.inputs.length > 1 && hasSeveral(report);
  for (const input of report.inputs) {
    // A path that starts at the root leads there from everywhere on the machine.
    const link = input.file.startsWith("/") ? "file://" + input.file.split("/").map(encodeURIComponent).join("/") : null;
    const path = h("code", { class: "path" }, visible(input.file));
    const again = `accel-profiler analyze ${quoted(input.file)}`;
    section.append(
      h("p", {}, link ? h("a", { href: link, title: say("raw_link") }, path) : path, " ", copyButton(input.file, say("copy"), say("copied"))),
      h("p", { class: several ? "quiet small" : "quiet" }, `${several && input.rank !== null ? `${say("rank")} ${input.rank}, ` : ""}${say("raw_format")} ${visible(input.format)}, ${say("raw_size")} ${bytes(input.bytes)}, ${count(input.events)} ${say("events")}`),
      ...(input.format === "kineto_json" && !several ? [h("p", {}, say("raw_open"))] : []),
      ...(several ? [] : [h("h3", {}, say("raw_again")), commandLine(again)]),
    );
  }
  if (several) section.append(h("h3", {}, say("raw_again")), commandLine(`accel-profiler analyze ${inputsOf(report)}`));
  if (page.about.perfetto) {
    section.append(
      h("h3", {}, say("raw_perfetto")),
      h("p", {}, h("a", { href: page.about.perfetto }, h("code", { class: "path" }, page.about.perfetto)), " ", say("raw_perfetto_holds")),
      h("p", {}, say("raw_perfetto_open")),
    );
  }
  if (hasSeveral(report) && !page.about.perfetto) {
    section.append(h("h3", {}, say("raw_job_perfetto")), commandLine(`accel-profiler fuse ${inputsOf(report)} -o fused.perfetto`), h("p", {}, say("raw_perfetto_open")));
    const links = rankLinks(page);
    if (links) section.append(h("h3", {}, say("raw_rank_reports")), links);
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
