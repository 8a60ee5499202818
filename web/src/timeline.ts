// The track view: threads, streams, causes of idle, memory and counters on one time axis. Zoom with w and s, move with a
// and d, measure with m; what is narrower than a pixel is drawn together.
import { colour, h, replace } from "./dom";
import { bytes, count, duration, shortened, threeDigits, visible } from "./format";
import { Box, Records, Series, Track, boxes, namesThatHold, rowsOf } from "./records";
import { rankLinks } from "./rank_links";
import { runCard } from "./run";
import { say } from "./strings";
import type { Page } from "./page";

const kGutter = 170;
const kRow = 15;
const kRuler = 34;
const kSeriesHeight = 44;
const kFewRows = 8;

interface Lane {
  track: Track | null;
  series: Series[] | null;
  rows: Uint32Array[];
  y: number;
  height: number;
  open: boolean;
  label: string;
}
interface Hit {
  x: number;
  y: number;
  w: number;
  box: Box;
}

export class TimelineView {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": "timeline" }) as HTMLCanvasElement;
  private readonly tip = h("div", { class: "tip", hidden: true });
  private readonly panel = h("div", { class: "record-panel" });
  private readonly status = h("span", { class: "quiet", "aria-live": "polite" });
  private lanes: Lane[] = [];
  private hits: Hit[] = [];
  private from = 0;
  private to: number;
  private selected: number | null = null;
  private flows: number[] = [];
  private measure: [number, number] | null = null;
  private frames = false;
  private found: Uint8Array | null = null;
  private readonly mosts = new Map<Series, number>();
  private matches: number[] = [];
  private match = -1;
  private mouseTime = 0;
  private scheduled = false;
  private readonly scroller: HTMLElement;

  constructor(
    private readonly page: Page,
    private readonly records: Records,
  ) {
    this.to = Math.max(1, records.about.length_ns);
    this.scroller = h("div", { class: "tracks", tabindex: -1 }, this.canvas);
    const search = h("input", { type: "search", placeholder: say("search"), "aria-label": say("search") }) as HTMLInputElement;
    search.addEventListener("input", () => this.search(search.value));
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.nextMatch(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") this.canvas.focus();
      event.stopPropagation();
    });
    const frames = h("input", { type: "checkbox" }) as HTMLInputElement;
    frames.addEventListener("change", () => {
      this.frames = frames.checked;
      this.layout();
    });
    const hasFrames = records.kind.includes(2);
    const left = records.about.left_out;
    this.element = h(
      "section",
      { class: "card timeline" },
      h(
        "div",
        { class: "card-head" },
        h("h2", {}, say("timeline")),
        h(
          "div",
          { class: "controls" },
          this.status,
          search,
          hasFrames && h("label", {}, frames, say("python_frames")),
          h("button", { type: "button", click: () => this.show(0, Math.max(1, records.about.length_ns)) }, say("reset")),
        ),
      ),
      this.scroller,
      this.tip,
      h("p", { class: "quiet small" }, say("timeline_keys")),
      h("p", { class: "quiet small" }, left ? say("timeline_thinned", say("left_out", count(left.records), duration(left.shorter_than_ns / 1e6))) : say("no_thinning")),
      this.panel,
    );
    this.searchBox = search;
    this.layout();
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("mousedown", (event) => this.press(event));
    this.canvas.addEventListener("repaint", () => this.paint());
    this.canvas.addEventListener("mousemove", (event) => this.hover(event));
    this.canvas.addEventListener("mouseleave", () => (this.tip.hidden = true));
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("dblclick", () => this.selected !== null && this.fit(this.selected));
  }
  private readonly searchBox: HTMLInputElement;

  private trackLabel(track: Track): string {
    if (track.type === "thread") {
      const name = visible(track.name || (track.id ?? ""));
      if (track.main) return `${say("main_thread")}, ${name}`;
      return name.startsWith("thread") ? name : `${say("thread")} ${name}`;
    }
    if (track.type === "idle") return `${say("device")} ${track.device}: ${say("idle_track")}`;
    return `${say("device")} ${track.device}, ${say("stream")} ${visible(track.id ?? "")}`;
  }

  private layout(): void {
    const old = new Map(this.lanes.map((lane) => [lane.label, lane.open]));
    this.lanes = [];
    const order = (track: Track) => (track.type === "idle" ? 0 : track.type === "stream" ? 1 : track.main ? 2 : 3);
    for (const track of [...this.records.about.tracks].sort((a, b) => order(a) - order(b) || a.first - b.first)) {
      const label = this.trackLabel(track);
      this.lanes.push({ track, series: null, rows: rowsOf(this.records, track, this.frames), y: 0, height: 0, open: old.get(label) ?? false, label });
    }
    for (const series of this.records.about.series) {
      const label = series.type === "counter" ? visible(series.name ?? "") : `${say(series.type)}, ${say("device")} ${series.device}`;
      this.lanes.push({ track: null, series: [series], rows: [], y: 0, height: 0, open: false, label });
    }
    this.draw();
  }

  private place(): number {
    let y = kRuler;
    for (const lane of this.lanes) {
      lane.y = y;
      const rows = lane.open ? lane.rows.length : Math.min(lane.rows.length, kFewRows);
      lane.height = lane.series ? kSeriesHeight : Math.max(1, rows) * kRow + 6;
      y += lane.height + 4;
    }
    return y + 4;
  }

  show(from: number, to: number): void {
    const least = 50;
    const span = Math.max(least, to - from);
    const whole = Math.max(least, this.records.about.length_ns);
    const margin = whole * 0.02;
    this.from = Math.max(-margin, Math.min(from, whole + margin - span));
    this.to = Math.min(whole + margin, this.from + span);
    this.draw();
  }
  private fit(record: number): void {
    const start = this.records.start[record];
    const length = Math.max(this.records.duration[record], 100);
    this.show(start - length * 0.3, start + length * 1.3);
  }

  // Kept, since asking the page for it lays it out.
  private wide = 0;
  private width(): number {
    return this.wide;
  }
  private x(time: number): number {
    return kGutter + ((time - this.from) / (this.to - this.from)) * (this.width() - kGutter);
  }
  private time(x: number): number {
    return this.from + ((x - kGutter) / Math.max(1, this.width() - kGutter)) * (this.to - this.from);
  }

  draw(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.paint();
    });
  }

  private paint(): void {
    const width = (this.wide = this.scroller.clientWidth);
    if (width === 0) return;
    const height = this.place();
    const scale = window.devicePixelRatio || 1;
    this.canvas.style.width = width + "px";
    this.canvas.style.height = height + "px";
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
    }
    const c = this.canvas.getContext("2d") as CanvasRenderingContext2D;
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.fillStyle = colour("--card");
    c.fillRect(0, 0, width, height);
    c.font = "11.5px system-ui, sans-serif";
    c.textBaseline = "middle";
    this.hits = [];
    const look = { ink: colour("--flame-ink"), quiet: colour("--quiet"), line: colour("--line"), strong: colour("--ink"), accent: colour("--accent"), page: colour("--page") };
    const fills = new Map<string, string>();
    const fill = (name: string) => {
      let value = fills.get(name);
      if (value === undefined) fills.set(name, (value = colour(name)));
      return value;
    };
    this.paintSteps(c, height, look);
    const pixel = (this.to - this.from) / Math.max(1, width - kGutter);
    c.save();
    c.beginPath();
    c.rect(kGutter, 0, width - kGutter, height);
    c.clip();
    for (const lane of this.lanes) {
      if (lane.series) this.paintSeries(c, lane, look.quiet, fill("--compute"));
      const rows = lane.open ? lane.rows.length : Math.min(lane.rows.length, kFewRows);
      for (let r = 0; r < rows; ++r) {
        const y = lane.y + 3 + r * kRow;
        for (const box of boxes(this.records, lane.rows[r] ?? new Uint32Array(), this.from, this.to, pixel)) {
          const x = Math.max(this.x(box.from), kGutter - 2);
          const w = Math.max(Math.min(this.x(box.to), width + 2) - x, 1);
          const kind = this.records.kindName(box.record);
          const idle = kind === "idle";
          const dim = this.found !== null && !idle && (this.found[this.records.name[box.record]] === 0);
          c.globalAlpha = dim ? 0.22 : 1;
          c.fillStyle = fill(idle ? "--idle-" + this.records.label(box.record).replaceAll("_", "-") : "--flame-" + kind);
          c.fillRect(x, y, w > 3 ? w - 0.6 : w, kRow - 1.5);
          this.hits.push({ x, y, w, box });
          if (w > 30 && box.merged === 1) {
            c.fillStyle = look.ink;
            const label = idle ? say(this.records.label(box.record)) : visible(this.records.label(box.record));
            c.fillText(shortened(label, Math.floor((w - 6) / 5.9)), x + 3, y + kRow / 2, w - 4);
          }
          c.globalAlpha = 1;
          if (box.record === this.selected || this.flows.includes(box.record)) {
            c.strokeStyle = box.record === this.selected ? look.accent : look.strong;
            c.lineWidth = 1.5;
            c.strokeRect(x, y - 0.5, w, kRow - 0.5);
          }
        }
      }
    }
    this.paintFlows(c, look.accent);
    this.paintMeasure(c, height, look);
    c.restore();
    this.paintGutter(c, height, look);
  }

  private paintSteps(c: CanvasRenderingContext2D, height: number, look: Record<string, string>): void {
    const width = this.width();
    // A round number of ns for the grid.
    const wanted = ((this.to - this.from) * 110) / Math.max(110, width - kGutter);
    const power = Math.pow(10, Math.floor(Math.log10(wanted)));
    const grid = [1, 2, 5, 10].map((f) => f * power).find((g) => g >= wanted) ?? power * 10;
    c.fillStyle = look.quiet;
    for (let time = Math.ceil(this.from / grid) * grid; time <= this.to; time += grid) {
      const x = this.x(time);
      if (x < kGutter) continue;
      c.strokeStyle = look.line;
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(x, 14);
      c.lineTo(x, height);
      c.stroke();
      c.fillText(time === 0 ? "0" : duration(time / 1e6), x + 3, 8);
    }
    for (const step of this.page.report.steps) {
      if (step.duration_ms === null) continue;
      const from = this.x(step.start_ns);
      const to = this.x(step.start_ns + step.duration_ms * 1e6);
      if (to < kGutter || from > width || to - from < 0.5) continue;
      const x = Math.max(from, kGutter);
      c.fillStyle = look.strong;
      c.globalAlpha = step.index % 2 === 0 ? 0.12 : 0.2;
      c.fillRect(x, 17, Math.min(to, width) - x - 0.5, 13);
      c.globalAlpha = 1;
      if (to - x > 30) c.fillText(shortened(`${say("in_step")} ${step.index}: ${duration(step.duration_ms)}`, Math.floor((to - x) / 6)), x + 4, 24);
    }
  }

  private paintSeries(c: CanvasRenderingContext2D, lane: Lane, quiet: string, stroke: string): void {
    for (const series of lane.series ?? []) {
      const { sampleTime, sampleValue } = this.records;
      let most = this.mosts.get(series) ?? 0;
      if (!this.mosts.has(series)) {
        for (let i = series.first; i < series.first + series.count; ++i) most = Math.max(most, sampleValue[i]);
        this.mosts.set(series, most);
      }
      const y = (value: number) => lane.y + kSeriesHeight - 2 - (most > 0 ? (value / most) * (kSeriesHeight - 6) : 0);
      c.strokeStyle = stroke;
      c.lineWidth = 1.2;
      c.beginPath();
      let lastX = -1;
      let began = false;
      let low = series.first;
      let high = series.first + series.count;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (sampleTime[middle] >= this.from) high = middle;
        else low = middle + 1;
      }
      // Nothing is known before the first sample.
      let before = sampleValue[low > series.first ? low - 1 : low];
      for (let i = low; i < series.first + series.count; ++i) {
        const x = this.x(sampleTime[i]);
        if (x > this.width()) break;
        if (!began) c.moveTo(low > series.first ? kGutter : Math.max(kGutter, x), y(before));
        began = true;
        if (x - lastX < 0.4) {
          before = Math.max(before, sampleValue[i]);
          continue;
        }
        c.lineTo(x, y(before));
        before = sampleValue[i];
        c.lineTo(x, y(before));
        lastX = x;
      }
      if (!began && low > series.first) c.moveTo(kGutter, y(before));
      if (began || low > series.first) c.lineTo(this.width(), y(before));
      c.stroke();
      c.fillStyle = quiet;
      // Recorders name the unit of a counter at the end of its name.
      const text = series.unit === "bytes" || series.name?.endsWith("_bytes") ? bytes(most) : Number.isInteger(most) ? count(most) : threeDigits(most);
      const ink = c.fillStyle;
      c.fillStyle = colour("--card");
      c.fillRect(kGutter + 2, lane.y, c.measureText(text).width + 4, 14);
      c.fillStyle = ink;
      c.fillText(text, kGutter + 4, lane.y + 7);
    }
  }

  private paintFlows(c: CanvasRenderingContext2D, stroke: string): void {
    if (this.selected === null) return;
    const at = this.hits.find((hit) => hit.box.record === this.selected);
    if (!at) return;
    c.strokeStyle = stroke;
    c.lineWidth = 1;
    for (const record of this.flows.slice(0, 200)) {
      const to = this.hits.find((hit) => hit.box.record === record);
      if (!to) continue;
      const [x1, y1, x2, y2] = [at.x + Math.min(at.w, 4), at.y + kRow / 2, to.x, to.y + kRow / 2];
      c.beginPath();
      c.moveTo(x1, y1);
      c.bezierCurveTo(x1 + 30, y1, x2 - 30, y2, x2, y2);
      c.stroke();
    }
  }

  private paintMeasure(c: CanvasRenderingContext2D, height: number, look: Record<string, string>): void {
    if (!this.measure) return;
    const [a, b] = this.measure[0] < this.measure[1] ? this.measure : [this.measure[1], this.measure[0]];
    const from = this.x(a);
    const to = this.x(b);
    c.fillStyle = look.accent;
    c.globalAlpha = 0.1;
    c.fillRect(from, 14, to - from, height);
    c.globalAlpha = 1;
    c.strokeStyle = look.accent;
    c.strokeRect(from, 14, to - from, height - 15);
    const text = duration((b - a) / 1e6);
    const w = c.measureText(text).width + 8;
    const x = Math.max(kGutter, Math.min(this.width() - w, (from + to - w) / 2));
    c.fillStyle = look.accent;
    c.fillRect(x, 14, w, 16);
    c.fillStyle = look.page;
    c.fillText(text, x + 4, 22);
  }

  private paintGutter(c: CanvasRenderingContext2D, height: number, look: Record<string, string>): void {
    c.fillStyle = colour("--card");
    c.fillRect(0, 0, kGutter, height);
    for (const lane of this.lanes) {
      c.fillStyle = look.strong;
      const hidden = lane.rows.length > kFewRows;
      c.fillText((hidden ? (lane.open ? "▾ " : "▸ ") : "") + shortened(lane.label, 27), 2, lane.y + kRow / 2 + 2, kGutter - 8);
      if (hidden && !lane.open && lane.height > 2 * kRow) {
        c.fillStyle = look.quiet;
        c.fillText(say("rows_of", kFewRows, lane.rows.length), 14, lane.y + kRow * 1.5 + 2, kGutter - 20);
      }
      c.strokeStyle = look.line;
      c.beginPath();
      c.moveTo(0, lane.y + lane.height + 1.5);
      c.lineTo(this.width(), lane.y + lane.height + 1.5);
      c.stroke();
    }
  }

  private point(event: MouseEvent): [number, number] {
    const rect = this.canvas.getBoundingClientRect();
    return [event.clientX - rect.left, event.clientY - rect.top];
  }
  private hit(event: MouseEvent): Hit | null {
    const [x, y] = this.point(event);
    if (x < kGutter) return null;
    let best: Hit | null = null;
    for (const hit of this.hits) {
      if (y < hit.y || y >= hit.y + kRow || x < hit.x - 1.5 || x > hit.x + hit.w + 1.5) continue;
      if (!best || hit.w < best.w) best = hit;
    }
    return best;
  }

  private hover(event: MouseEvent): void {
    this.mouseTime = this.time(this.point(event)[0]);
    if (event.buttons !== 0) return;
    const hit = this.hit(event);
    this.tip.hidden = !hit;
    if (!hit) return;
    const { record, merged } = hit.box;
    const label = this.records.kindName(record) === "idle" ? `${say("idle")}: ${say(this.records.label(record))}` : visible(this.records.label(record));
    this.tip.textContent = `${shortened(label, 300)}\n${duration(this.records.duration[record] / 1e6)}` + (merged > 1 ? `\n${say("merged", count(merged))}` : "");
    const rect = this.element.getBoundingClientRect();
    this.tip.style.left = Math.max(0, Math.min(event.clientX - rect.left + 12, rect.width - 360)) + "px";
    this.tip.style.top = event.clientY - rect.top + 16 + "px";
  }

  private press(event: MouseEvent): void {
    const [x, y] = this.point(event);
    this.canvas.focus({ preventScroll: true });
    if (x < kGutter) {
      const lane = this.lanes.find((one) => y >= one.y && y < one.y + one.height);
      if (lane && lane.rows.length > kFewRows) {
        lane.open = !lane.open;
        this.draw();
      }
      return;
    }
    event.preventDefault();
    const from = this.from;
    const span = this.to - this.from;
    const measuring = event.shiftKey;
    const start = this.time(x);
    let moved = false;
    const move = (to: MouseEvent) => {
      const now = this.point(to)[0];
      if (Math.abs(now - x) > 3) moved = true;
      if (!moved) return;
      this.tip.hidden = true;
      if (measuring) {
        this.measure = [start, this.time(now)];
        this.draw();
      } else {
        const shift = ((now - x) / Math.max(1, this.width() - kGutter)) * span;
        this.show(from - shift, from - shift + span);
      }
    };
    const up = () => {
      window.removeEventListener("mousemove", move);
      window.removeEventListener("mouseup", up);
      if (moved) return;
      if (this.measure) this.measure = null;
      const hit = this.hit(event);
      this.select(hit ? hit.box.record : null);
    };
    window.addEventListener("mousemove", move);
    window.addEventListener("mouseup", up);
  }

  private wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(event.deltaY * 0.004), this.time(this.point(event)[0]));
    else this.pan(event.deltaX / Math.max(1, this.width() - kGutter));
  }
  private zoom(factor: number, around: number): void {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }
  private pan(share: number): void {
    const shift = (this.to - this.from) * share;
    this.show(this.from + shift, this.to + shift);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = this.mouseTime > this.from && this.mouseTime < this.to ? this.mouseTime : (this.from + this.to) / 2;
    const key = event.key.toLowerCase();
    if (key === "w" || key === "+") this.zoom(0.7, middle);
    else if (key === "s" || key === "-") this.zoom(1 / 0.7, middle);
    else if (key === "a" || key === "arrowleft") this.pan(-0.15);
    else if (key === "d" || key === "arrowright") this.pan(0.15);
    else if (key === "m") {
      this.measure = this.selected === null || this.measure ? null : [this.records.start[this.selected], this.records.end(this.selected)];
      this.draw();
    } else if (key === "f" && this.selected !== null) this.fit(this.selected);
    else if (key === "/") this.searchBox.focus();
    else if (key === "n") this.nextMatch(event.shiftKey ? -1 : 1);
    else if (key === "escape") this.select(null);
    else return;
    event.preventDefault();
  }

  search(query: string): void {
    this.found = query === "" ? null : namesThatHold(this.records, query);
    this.matches = [];
    this.match = -1;
    if (this.found) {
      for (let i = 0; i < this.records.name.length; ++i) if (this.records.kind[i] < 32 && this.found[this.records.name[i]] !== 0) this.matches.push(i);
      this.matches.sort((a, b) => this.records.start[a] - this.records.start[b]);
    }
    this.say();
    this.draw();
  }
  private say(): void {
    this.status.textContent = this.found ? (this.matches.length === 0 ? say("found_none") : say("found", count(this.match + 1), count(this.matches.length))) : "";
  }
  nextMatch(step: number): void {
    if (this.matches.length === 0) return;
    this.match = (this.match + step + this.matches.length) % this.matches.length;
    const record = this.matches[this.match];
    const span = this.to - this.from;
    const start = this.records.start[record];
    if (start < this.from || start > this.to) this.show(start - span / 2, start + span / 2);
    this.say();
    this.select(record);
  }

  select(record: number | null): void {
    this.selected = record;
    this.flows = [];
    if (record !== null) {
      if (this.records.link[record] > 0) this.flows = [this.records.link[record] - 1];
      else if (this.records.kind[record] < 16) this.flows = this.records.launched(record);
    }
    this.showRecord(record);
    this.draw();
  }

  private showRecord(record: number | null): void {
    if (record === null) {
      replace(this.panel);
      return;
    }
    const records = this.records;
    const kind = records.kindName(record);
    const idle = kind === "idle";
    const detail = records.details[records.detail[record]] ?? {};
    const track = records.trackOf(record);
    const rows: [string, string][] = [
      [say("started_at"), duration(records.start[record] / 1e6)],
      [say("lasted"), duration(records.duration[record] / 1e6)],
    ];
    if (track) rows.push([say("track"), this.trackLabel(track)]);
    for (const [key, value] of Object.entries(detail)) {
      const text = key === "bytes" && typeof value === "number" ? `${bytes(value)}` : Array.isArray(value) ? value.join(" × ") : String(value);
      rows.push([say(key), visible(text)]);
    }
    if (typeof detail.bytes === "number" && records.duration[record] > 0) rows.push([say("speed"), `${threeDigits(detail.bytes / records.duration[record])} GB/s`]);
    const jump = (to: number) =>
      h("button", { type: "button", class: "link", click: () => this.jump(to) }, shortened(visible(records.label(to)), 80), ` (${duration(records.start[to] / 1e6)})`);
    replace(
      this.panel,
      h("h3", {}, h("span", { class: "kind k-" + kind }, kind), " ", idle ? `${say("idle")}: ${say(records.label(record))}` : visible(records.label(record))),
      h("table", {}, h("tbody", {}, rows.map(([key, value]) => h("tr", {}, h("td", {}, key), h("td", {}, value))))),
      this.flows.length > 0 && h("p", {}, h("b", {}, say(records.link[record] > 0 ? "launched_by" : "launches"), ": "), this.flows.slice(0, 10).map((to) => [jump(to), " "]).flat(), this.flows.length > 10 && `+ ${count(this.flows.length - 10)}`),
    );
  }

  private jump(record: number): void {
    const start = this.records.start[record];
    if (start < this.from || start > this.to) {
      const span = this.to - this.from;
      this.show(start - span / 2, start + span / 2);
    }
    this.select(record);
  }
}

export function timeline(page: Page): HTMLElement {
  const run = runCard(page);
  const tracks = h("div", {}, h("section", { class: "card" }, h("p", { class: "quiet" }, say("loading"))));
  const main = h("main", {}, run, tracks);
  page.records().then(
    (records) => {
      if (!records) replace(tracks, h("section", { class: "card" }, h("p", {}, say(rankLinks(page) ? "flame_of_ranks" : "timeline_none")), rankLinks(page)));
      else {
        replace(tracks, new TimelineView(page, records).element);
        document.documentElement.dataset.timeline = "ready";
      }
    },
    (error: unknown) => replace(tracks, h("section", { class: "card" }, h("p", {}, String(error)))),
  );
  return main;
}
