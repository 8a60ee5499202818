// The flame graph on a canvas: zoom, selection, search, keyboard. It draws what tree.ts lays out.
import { colour, h } from "./dom";
import { duration, percent, shortened, visible } from "./format";
import { say } from "./strings";
import { CallTree, Flame, FlameNode, Metric, Part, flame, heaviest, kMainThread } from "./tree";

const kRow = 19;
const kMostRows = 34;

export class FlameView {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": "flame graph" }) as HTMLCanvasElement;
  private readonly tip = h("div", { class: "tip", hidden: true });
  private readonly spoken = h("div", { class: "offscreen", "aria-live": "polite" });
  private view: Flame;
  private heaviestParts: Part[] | null = null;
  private zoomed: FlameNode;
  private chosen: FlameNode | null = null;
  private hovered: FlameNode | null = null;
  private query = "";
  private drawn: { node: FlameNode; x: number; y: number; w: number }[] = [];
  private metric: Metric;
  private folded = false;
  private scheduled = false;

  constructor(
    private readonly tree: CallTree,
    metric: Metric,
    private readonly onSelect: (key: string) => void,
  ) {
    this.metric = metric;
    this.view = flame(tree, metric, false);
    this.zoomed = this.view.root;
    this.element = h("div", { class: "flame" }, h("div", { class: "flame-scroll" }, this.canvas), this.tip, this.spoken);
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.canvas.addEventListener("repaint", () => this.paint());
    this.canvas.addEventListener("mousemove", (event) => this.hover(event));
    this.canvas.addEventListener("mouseleave", () => this.hover(null));
    this.canvas.addEventListener("click", (event) => this.choose(this.at(event)));
    this.canvas.addEventListener("dblclick", (event) => this.zoom(this.at(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  parts(): Part[] {
    return (this.heaviestParts ??= heaviest(this.view, 3));
  }
  // Against another graph beside it: both at one scale of ms a step.
  scaleTo(perStep: number): void {
    const share = perStep > 0 ? this.view.root.total / this.tree.steps / perStep : 1;
    this.element.style.width = `${100 * Math.max(0.02, Math.min(1, share))}%`;
  }
  whole(): number {
    return this.view.root.total;
  }
  set(metric: Metric, folded: boolean): void {
    if (metric === this.metric && folded === this.folded) return;
    this.metric = metric;
    this.folded = folded;
    this.view = flame(this.tree, this.metric, this.folded);
    this.heaviestParts = null;
    this.zoomed = this.view.root;
    this.chosen = null;
    this.draw();
  }
  search(query: string): void {
    this.query = query.toLowerCase();
    this.draw();
  }
  select(key: string): void {
    this.chosen = this.view.nodes.find((node) => node.key === key) ?? null;
    this.draw();
  }

  label(node: FlameNode): string {
    if (node.kind === "root") return say(this.metric === "host" ? "root_host" : "root_device", duration(node.total / this.tree.steps / 1e6));
    if (node.kind === "thread" && this.tree.flag(node.ids[0], kMainThread)) return `${say("main_thread")} (${visible(node.name)})`;
    return visible(node.label);
  }

  draw(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.paint();
    });
  }

  private ancestors(node: FlameNode): FlameNode[] {
    const list: FlameNode[] = [];
    for (let at: FlameNode | null = node.parent; at; at = at.parent) list.unshift(at);
    return list;
  }

  private paint(): void {
    const width = this.element.clientWidth;
    if (width === 0) return;
    const above = this.ancestors(this.zoomed);
    let deepest = this.zoomed.depth;
    const visit = (node: FlameNode) => {
      deepest = Math.max(deepest, node.depth);
      if ((node.total / this.zoomed.total) * width >= 1) node.children.forEach(visit);
    };
    visit(this.zoomed);
    const rows = deepest + 1;
    const height = rows * kRow + 2;
    const scale = window.devicePixelRatio || 1;
    this.canvas.style.width = width + "px";
    this.canvas.style.height = height + "px";
    (this.canvas.parentElement as HTMLElement).style.maxHeight = kMostRows * kRow + "px";
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    const c = this.canvas.getContext("2d") as CanvasRenderingContext2D;
    c.scale(scale, scale);
    c.clearRect(0, 0, width, height);
    c.font = "12px system-ui, sans-serif";
    c.textBaseline = "middle";
    this.drawn = [];
    const ink = colour("--flame-ink");
    const page = colour("--page");
    const strong = colour("--ink");
    const accent = colour("--accent");
    const fills = new Map<string, string>();
    const badges = new Map<string, number>();
    this.parts().forEach((part, i) => badges.set(part.key, i + 1));
    const box = (node: FlameNode, x: number, w: number) => {
      const y = node.depth * kRow;
      this.drawn.push({ node, x, y, w });
      const dim = this.query !== "" && !node.name.toLowerCase().includes(this.query);
      c.globalAlpha = dim ? 0.25 : 1;
      let shade = fills.get(node.kind);
      if (shade === undefined) fills.set(node.kind, (shade = colour("--flame-" + node.kind)));
      c.fillStyle = shade;
      c.fillRect(x, y, Math.max(w - 0.5, 0.5), kRow - 1);
      const badge = badges.get(node.key);
      const share = node.self / this.view.root.total;
      if (badge && share > 0.002) {
        c.strokeStyle = accent;
        c.lineWidth = 2;
        c.strokeRect(x + 1, y + 1, Math.max(w - 2.5, 1), kRow - 3);
      }
      if (node === this.chosen || node === this.hovered) {
        c.strokeStyle = strong;
        c.lineWidth = node === this.chosen ? 2 : 1;
        c.strokeRect(x + 0.5, y + 0.5, Math.max(w - 1.5, 1), kRow - 2);
      }
      if (w > 26) {
        let left = x + 4;
        if (badge && share > 0.002 && w > 44) {
          c.fillStyle = accent;
          c.beginPath();
          c.arc(left + 6, y + kRow / 2 - 0.5, 6.5, 0, 7);
          c.fill();
          c.fillStyle = page;
          c.textAlign = "center";
          c.fillText(String(badge), left + 6, y + kRow / 2);
          c.textAlign = "left";
          left += 16;
        }
        c.fillStyle = ink;
        const room = Math.floor((x + w - left - 3) / 6.3);
        if (room > 2) c.fillText(shortened(this.label(node), room), left, y + kRow / 2 + 0.5, x + w - left - 2);
      }
      c.globalAlpha = 1;
    };
    for (const node of above) box(node, 0, width);
    const zoomStart = this.zoomed.start;
    const descend = (node: FlameNode) => {
      const x = ((node.start - zoomStart) / this.zoomed.total) * width;
      const w = (node.total / this.zoomed.total) * width;
      if (w < 0.6) return;
      box(node, x, w);
      node.children.forEach(descend);
    };
    if (this.zoomed.total > 0) descend(this.zoomed);
  }

  private at(event: MouseEvent): FlameNode | null {
    const rect = this.canvas.getBoundingClientRect();
    const x = event.clientX - rect.left;
    const y = event.clientY - rect.top;
    for (const box of this.drawn) if (x >= box.x && x <= box.x + box.w && y >= box.y && y < box.y + kRow) return box.node;
    return null;
  }

  private text(node: FlameNode): string {
    const steps = this.tree.steps * 1e6;
    const whole = this.view.root.total;
    return `${this.label(node)}\n${say("total")} ${duration(node.total / steps)} (${percent(node.total / whole)}), ${say("self_folded")} ${duration(node.self / steps)}`;
  }

  private hover(event: MouseEvent | null): void {
    const node = event && this.at(event);
    if (node !== this.hovered) {
      this.hovered = node;
      this.draw();
    }
    this.tip.hidden = !node;
    if (!node || !event) return;
    this.tip.textContent = this.text(node);
    const rect = this.element.getBoundingClientRect();
    const left = Math.min(event.clientX - rect.left + 12, rect.width - 320);
    this.tip.style.left = Math.max(0, left) + "px";
    this.tip.style.top = event.clientY - rect.top + 16 + "px";
  }

  private choose(node: FlameNode | null): void {
    if (!node || node.kind === "root" || node.kind === "rest") return;
    this.chosen = node;
    this.spoken.textContent = this.text(node);
    this.draw();
    this.onSelect(node.key);
  }

  zoom(node: FlameNode | null): void {
    this.zoomed = node ?? this.view.root;
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const at = this.chosen ?? this.zoomed;
    const siblings = at.parent ? at.parent.children : [at];
    const place = siblings.indexOf(at);
    let to: FlameNode | null = null;
    if (event.key === "ArrowDown") to = at.children[0] ?? null;
    else if (event.key === "ArrowUp") to = at.parent;
    else if (event.key === "ArrowLeft") to = siblings[place - 1] ?? null;
    else if (event.key === "ArrowRight") to = siblings[place + 1] ?? null;
    else if (event.key === "Enter") this.zoom(at);
    else if (event.key === "Escape") this.zoom(this.zoomed.parent ?? this.view.root);
    else return;
    event.preventDefault();
    if (!to) return;
    if (to.kind === "root") {
      this.chosen = null;
      this.draw();
    } else this.choose(to);
  }
}
