// The page without a mouse, on paper, on a very wide screen, and for eyes that need contrast.
import { holds, same } from "./harness.mjs";

// Relative luminance and contrast as WCAG 2 defines them.
function contrast(a, b) {
  const light = (colour) => {
    const [red, green, blue] = colour.match(/\d+/g).slice(0, 3).map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

// Every colour is resolved by the browser.
function colours(page, names) {
  return page.evaluate((list) => {
    const probe = document.createElement("span");
    document.body.append(probe);
    const found = Object.fromEntries(list.map((name) => ((probe.style.color = `var(${name})`), [name, getComputedStyle(probe).color])));
    probe.remove();
    return found;
  }, names);
}

export async function accessible(on, capture) {
  const { html } = await on.analyze(capture);
  await on.test("the keyboard reaches everything that can be used", () =>
    on.open(html, {}, async (page) => {
      const kUsable = "button, a[href], summary, input, select, canvas, [tabindex='0']";
      const wanted = await page.locator(kUsable).evaluateAll((all) => {
        const seen = all.filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0);
        seen.forEach((one, i) => (one.dataset.place = String(i)));
        return seen.length;
      });
      holds(wanted > 15, `${wanted} things to use`);
      const reached = new Set();
      for (let i = 0; i < wanted + 3; ++i) {
        await page.keyboard.press("Tab");
        const at = await page.evaluate(() => document.activeElement?.dataset.place ?? null);
        if (at !== null) reached.add(at);
      }
      same(reached.size, wanted, "reached with Tab");
      const outline = await page.locator("canvas").first().evaluate((one) => (one.focus(), getComputedStyle(one).outlineStyle));
      same(outline, "solid", "the focus is visible");
      const unnamed = await page.locator("button, canvas, input, select, svg, [role=img], [role=group]").evaluateAll((all) => all.filter((one) => !(one.textContent.trim() || one.getAttribute("aria-label") || one.closest("label"))).map((one) => one.outerHTML.slice(0, 80)));
      same(unnamed.join(), "", "things without a name");
    }));
  await on.test("on paper what was found is open and controls are gone", () =>
    on.open(html, { viewport: { width: 794, height: 1123 } }, async (page) => {
      await page.emulateMedia({ media: "print" });
      await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
      same(await page.locator(".plan details:not([open]), .trust details:not([open])").count(), 0, "folded findings");
      holds((await page.locator(".finding-body").count()) > 0, "evidence");
      same(await page.locator(".controls:visible, .tabs:visible, .copy:visible").count(), 0, "controls");
      same(await page.locator("details.deep[open]").count(), 0, "tables");
      holds((await page.evaluate(() => document.documentElement.scrollWidth)) <= 794, "wider than the paper");
    }));
  await on.test("3840 pixels are used, and nothing is cut", () =>
    on.open(html, { viewport: { width: 3840, height: 2000 } }, async (page) => {
      holds((await page.locator("main").evaluate((one) => one.getBoundingClientRect().width)) > 3000, "the page is narrow");
      same(await page.evaluate(() => document.documentElement.scrollWidth), 3840, "width");
    }));
  for (const colorScheme of ["light", "dark"])
    await on.test(`text has contrast (${colorScheme})`, () =>
      on.open(html, { colorScheme }, async (page) => {
        const found = await colours(page, ["--ink", "--quiet", "--link", "--accent", "--good", "--card", "--page", "--flame-ink", "--flame-op", "--flame-call", "--flame-kernel", "--flame-frame", "--flame-module", "--flame-annotation", "--flame-copy"]);
        for (const text of ["--ink", "--quiet", "--link", "--accent", "--good"])
          for (const behind of ["--card", "--page"]) holds(contrast(found[text], found[behind]) >= 4.5, `${text} on ${behind}: ${contrast(found[text], found[behind]).toFixed(2)}`);
        for (const behind of Object.keys(found).filter((name) => name.startsWith("--flame-") && name !== "--flame-ink")) holds(contrast(found["--flame-ink"], found[behind]) >= 4.5, `--flame-ink on ${behind}: ${contrast(found["--flame-ink"], found[behind]).toFixed(2)}`);
      }));
}
