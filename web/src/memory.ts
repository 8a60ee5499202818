// Device memory: the peak by purpose with the largest blocks alive then, growth, fragmentation, calls of the driver.
import { fold, h } from "./dom";
import { bytes, count, duration, percent, shortened, visible } from "./format";
import { say } from "./strings";
import type { Page } from "./page";
import type { Place } from "./types";

interface Category {
  bytes: number;
  blocks: number;
  basis: string;
}
interface Device {
  device: number;
  total_bytes: number | null;
  peak: {
    time_ns: number;
    step: number | null;
    allocated_bytes: number;
    reserved_bytes: number | null;
    where: Place | null;
    categories: Record<string, Category> | null;
    largest: { bytes: number; category: string; step: number | null; where: Place | null }[];
  } | null;
  reserved_peak_bytes: number | null;
  allocations_per_step: number | null;
  growth: { steps: number; bytes_per_step: number; total_bytes: number } | null;
  fragmentation: { slack_at_peak_bytes: number | null; slack_at_peak_share: number | null; forced: number } | null;
}
interface Memory {
  peak_bytes: number | null;
  driver: { allocations_per_step: number | null; frees_per_step: number | null; host_ms_per_step: number | null };
  devices: Device[];
}

const kColours = ["--compute", "--copies", "--communication", "--idle-memory-allocation", "--idle-synchronization", "--idle-unknown"];

function place(where: Place | null): string {
  if (!where) return "–";
  const line = where.file && !where.name.includes(where.file) ? `, ${where.file}${where.line === null ? "" : ":" + where.line}` : "";
  return shortened(visible(`${where.kind} ${where.name}${line}`), 90);
}

function deviceCard(device: Device): HTMLElement {
  const box = h("div", {});
  const peak = device.peak;
  if (!peak) return box;
  const facts: [string, string][] = [
    [say("memory_peak"), bytes(peak.allocated_bytes)],
    [say("reserved"), peak.reserved_bytes === null ? say("not_measured") : bytes(peak.reserved_bytes)],
  ];
  if (device.total_bytes !== null) facts.push([say("memory_of_card"), `${bytes(device.total_bytes)} (${percent(peak.allocated_bytes / device.total_bytes)})`]);
  if (device.allocations_per_step !== null) facts.push([say("memory_allocations"), `${count(device.allocations_per_step)} ${say("per_step_short")}`]);
  if (device.growth) facts.push([say("memory_growth"), `${bytes(device.growth.bytes_per_step)} ${say("per_step_short")}`]);
  if (device.fragmentation?.slack_at_peak_bytes !== null && device.fragmentation?.slack_at_peak_bytes !== undefined) facts.push([say("memory_slack"), bytes(device.fragmentation.slack_at_peak_bytes)]);
  box.append(
    h("p", {}, h("b", {}, `${say("device")} ${device.device}`), h("span", { class: "quiet" }, ` ${say("memory_reached_by")} `), h("code", {}, place(peak.where)), peak.step !== null && h("span", { class: "quiet" }, `, ${say("in_step")} ${peak.step}`)),
    h("div", { class: "figures" }, facts.map(([label, value]) => h("div", { class: "figure" }, h("span", { class: "quiet" }, label), h("b", {}, value)))),
  );
  if (peak.categories) {
    const strip = h("div", { class: "bar thin" });
    const legend = h("div", { class: "legend" });
    Object.entries(peak.categories).forEach(([name, category], i) => {
      if (category.bytes <= 0) return;
      const piece = h("div", { class: "piece", title: `${say("memory_" + name)} ${bytes(category.bytes)}` });
      piece.style.flexGrow = String(category.bytes);
      piece.style.background = `var(${kColours[i % kColours.length]})`;
      strip.append(piece);
      const swatch = h("span", { class: "swatch" });
      swatch.style.background = `var(${kColours[i % kColours.length]})`;
      legend.append(h("div", { class: "legend-item" }, swatch, h("span", { class: "legend-name" }, say("memory_" + name), h("span", { class: "quiet small" }, ` ${say("memory_basis_" + category.basis)}`)), h("b", {}, bytes(category.bytes))));
    });
    box.append(strip, legend);
  }
  if (peak.largest.length > 0) {
    box.append(
      fold({}, [say("memory_largest")], () => [
        h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, peak.largest.map((block) => h("tr", {}, h("td", { class: "n" }, bytes(block.bytes)), h("td", {}, say("memory_" + block.category)), h("td", {}, place(block.where))))))),
      ]),
    );
  }
  return box;
}

export function memoryCard(page: Page): HTMLElement | null {
  const memory = page.report.memory as Memory | undefined;
  const devices = memory?.devices?.filter((device) => device.peak) ?? [];
  if (!memory || devices.length === 0) return null;
  const driver = memory.driver;
  return h(
    "section",
    { class: "card" },
    h("h2", {}, say("memory")),
    devices.map(deviceCard),
    driver.host_ms_per_step !== null && (driver.allocations_per_step ?? 0) + (driver.frees_per_step ?? 0) > 0
      ? h("p", {}, say("memory_driver", (driver.allocations_per_step ?? 0).toFixed(1), (driver.frees_per_step ?? 0).toFixed(1), duration(driver.host_ms_per_step)))
      : null,
  );
}
