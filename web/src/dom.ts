// Elements by hand. Text is always a text node, so nothing from a trace can become markup.
type Child = Node | string | number | null | undefined | false;
type Properties = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

export function h(tag: string, properties: Properties = {}, ...children: (Child | Child[])[]): HTMLElement {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key, value as EventListener);
    else if (key === "class") element.className = String(value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function append(element: Element, children: (Child | Child[])[]): void {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function replace(element: Element, ...children: (Child | Child[])[]): void {
  element.replaceChildren();
  append(element, children);
}

// A part that fails leaves the others standing, says so in its place and on the console.
export function guarded(make: () => HTMLElement | null): HTMLElement | null {
  try {
    return make();
  } catch (error) {
    console.error(error);
    return h("section", { class: "card" }, h("p", {}, "This part could not be shown: " + String(error)));
  }
}

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A part that is folded away is made when it is first opened; those that tell what was found are opened for printing.
const kWaiting = new WeakMap<Element, () => void>();

export function fold(properties: Properties, summary: (Child | Child[])[], make: () => (Child | Child[])[]): HTMLElement {
  const element = h("details", { ...properties }, h("summary", {}, ...summary));
  kWaiting.set(element, () => append(element, make()));
  element.addEventListener("toggle", () => fill(element));
  return element;
}
function fill(element: Element): void {
  const make = kWaiting.get(element);
  kWaiting.delete(element);
  make?.();
}
export function openForPrint(root: ParentNode): void {
  const kClosed = "details:not([open]):not(.deep)";
  for (let closed = root.querySelectorAll(kClosed); closed.length > 0; closed = root.querySelectorAll(kClosed)) {
    closed.forEach((element) => {
      fill(element);
      (element as HTMLDetailsElement).open = true;
    });
  }
}

// A choice between a few things, as a group of buttons.
export function choice<T extends string>(label: string, options: [T, string][], now: T, pick: (value: T) => void): HTMLElement {
  const group = h("div", { class: "choice", role: "group", "aria-label": label });
  for (const [value, text] of options) {
    const button = h("button", { type: "button", "aria-pressed": value === now ? "true" : "false", click: () => select(value) }, text);
    button.dataset.value = value;
    group.append(button);
  }
  const select = (value: T) => {
    for (const button of group.children) button.setAttribute("aria-pressed", (button as HTMLElement).dataset.value === value ? "true" : "false");
    pick(value);
  };
  return group;
}

export function copyButton(text: string, label: string, done: string): HTMLElement {
  const button = h("button", { type: "button", class: "copy" }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // A page opened from disk may have no clipboard of that kind.
      const area = h("textarea", { class: "offscreen" }) as HTMLTextAreaElement;
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = done;
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}
