// Reports as a reader meets them: in Chromium, by day and by night, on a phone, on paper, without a network.
//
// The pages come from `cargo run -p report --example sample -- FOLDER`, which this test runs itself unless REPORTS names
// a folder that holds them. CHROMIUM names the browser, if it is not where Debian puts it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const REPOSITORY = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const PAGES = ["trial", "comparison", "experiment", "failed", "open", "paced", "deferred", "hostile", "long", "running",
  "sweep", "rates", "search"];
const WITH_CHARTS = ["trial", "comparison", "experiment", "failed", "open", "paced", "deferred", "hostile", "long",
  "sweep", "rates", "search"];

let browser, folder, ownFolder;

before(async () => {
  assert.ok(existsSync(CHROMIUM), `no browser at ${CHROMIUM}; name one in CHROMIUM`);
  folder = process.env.REPORTS;
  if (!folder) {
    folder = ownFolder = mkdtempSync(join(tmpdir(), "stackmark-reports-"));
    execFileSync("cargo", ["run", "--quiet", "--package", "report", "--example", "sample", "--", folder],
      { cwd: REPOSITORY, stdio: ["ignore", "inherit", "inherit"] });
  }
  browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
});

after(async () => {
  await browser?.close();
  if (ownFolder) rmSync(ownFolder, { recursive: true });
});

/** Opens a report and keeps book of what it says and asks for. */
async function open(name, { width = 1200, theme = "light", script = true } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: 900 }, colorScheme: theme, javaScriptEnabled: script, reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const complaints = [];
  const requests = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => requests.push(request.url()));
  const url = pathToFileURL(join(folder, `${name}.html`)).href;
  await page.goto(url);
  return { page, complaints, requests, url, close: () => context.close() };
}

/** For every visible text: its contrast with what lies behind it, after WCAG 2. */
function contrasts() {
  const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const parse = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) =>
    0.2126 * channel(r / 255) + 0.7152 * channel(g / 255) + 0.0722 * channel(b / 255);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const ratio = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !element.checkVisibility() || ["SCRIPT", "STYLE", "title", "desc"].includes(element.tagName)) continue;
    const inChart = element.closest("svg");
    const style = getComputedStyle(element);
    let behind = ground(element);
    if (inChart) {
      // Text on a part of the time budget lies on the last box drawn under its middle.
      const box = element.getBoundingClientRect();
      const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
      for (const shape of inChart.querySelectorAll("rect")) {
        const area = shape.getBoundingClientRect();
        if (x > area.left && x < area.right && y > area.top && y < area.bottom) behind = parse(getComputedStyle(shape).fill);
      }
    }
    found.push({ text: text.slice(0, 40), ratio: ratio(parse(inChart ? style.fill : style.color), behind) });
  }
  return found;
}

for (const name of PAGES) {
  test(`${name}: opens in less than a second, without complaint and without asking anybody for anything`, async () => {
    const { page, complaints, requests, url, close } = await open(name);
    const { duration } = await page.evaluate(() => performance.getEntriesByType("navigation")[0].toJSON());
    assert.ok(duration < 1000, `took ${duration} ms`);
    assert.deepEqual(complaints, []);
    assert.deepEqual(requests, [url]);
    await close();
  });

  test(`${name}: never scrolls sideways`, async () => {
    for (const width of [360, 800, 1600]) {
      const { page, close } = await open(name, { width });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wide, 0, `${wide} px too wide at ${width} px`);
      await close();
    }
  });

  test(`${name}: reads well by day and by night`, async () => {
    const grounds = new Set();
    for (const theme of ["light", "dark"]) {
      for (const width of [360, 1200]) {
        const { page, close } = await open(name, { theme, width });
        await page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
        grounds.add(await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor));
        const texts = await page.evaluate(contrasts);
        assert.ok(texts.length > 5, "the page has text");
        const faint = texts.filter(({ ratio }) => ratio < 4.5);
        assert.deepEqual(faint, [], `${theme}, ${width} px`);
        await close();
      }
    }
    assert.equal(grounds.size, 2, "light and dark have different grounds");
  });
}

for (const name of WITH_CHARTS) {
  test(`${name}: charts are drawn, within their frames, and have names`, async () => {
    for (const width of [360, 1200]) {
      const { page, close } = await open(name, { width });
      const charts = await page.evaluate(() => [...document.querySelectorAll("figure svg")]
        .filter((svg) => svg.checkVisibility())
        .map((svg) => {
          const frame = svg.viewBox.baseVal;
          const out = [...svg.querySelectorAll("polyline, polygon, rect, circle, text")].filter((shape) => {
            const box = shape.getBBox();
            // Half a pixel for strokes and glyphs that touch the edge.
            return box.x < -5 || box.y < -5 || box.x + box.width > frame.width + 5 || box.y + box.height > frame.height + 5;
          });
          return {
            label: svg.getAttribute("aria-label"),
            shapes: svg.querySelectorAll("polyline, polygon, rect").length,
            out: out.map((shape) => shape.outerHTML.slice(0, 160)),
          };
        }));
      // A search has one: the rates that were tried.
      assert.ok(charts.length >= (name === "search" ? 1 : 3), `${charts.length} charts`);
      for (const chart of charts) {
        assert.ok(chart.label.length > 10, "a chart says what it shows");
        assert.ok(chart.shapes > 3, `${chart.label}: nothing drawn`);
        if (name !== "hostile") assert.deepEqual(chart.out, [], `${chart.label} at ${width} px`);
      }
      await close();
    }
  });
}

describe("read-out", () => {
  test("the pointer shows the values nearest to it", async () => {
    const { page, close } = await open("trial");
    const figure = page.locator("figure[data-readout]").first();
    const drawing = figure.locator("svg.wide");
    const values = () => figure.locator(".legend .value").allTextContents();
    assert.deepEqual(await values(), ["", "", "", ""]);
    await drawing.scrollIntoViewIfNeeded();
    const box = await drawing.boundingBox();
    await page.mouse.move(box.x + box.width * 0.55, box.y + box.height / 2);
    const [all, kind, p50, p99] = await values();
    assert.match(all, /^1\s\d{3}\/s$/);
    assert.match(kind, /^\d{3}\/s$/);
    assert.match(p50, /ms$/);
    assert.match(p99, /ms$/);
    assert.match(await figure.locator(".at").textContent(), /^2\d\ss$/);
    assert.ok(await drawing.locator(".cursor").evaluate((line) => line.checkVisibility()));
    await page.mouse.move(2, 2);
    assert.deepEqual(await values(), ["", "", "", ""]);
    await close();
  });

  test("the arrow keys do the same", async () => {
    const { page, close } = await open("trial");
    const figure = page.locator("figure[data-readout]").first();
    await figure.focus();
    await page.keyboard.press("ArrowRight");
    const first = await figure.locator(".at").textContent();
    assert.match(first, /^−10\ss, warm-up$/);
    await page.keyboard.press("ArrowRight");
    assert.notEqual(await figure.locator(".at").textContent(), first);
    await close();
  });

  test("without scripts the page is complete", async () => {
    const { page, close } = await open("trial", { script: false });
    assert.ok(await page.locator("figure svg.wide polyline").count() > 10);
    await page.locator("summary").first().click();
    assert.ok(await page.locator("details table").first().isVisible());
    await close();
  });
});

test("the button changes to the other theme and back", async () => {
  const { page, close } = await open("trial", { theme: "dark" });
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await ground();
  await page.getByRole("button", { name: "light" }).click();
  const light = await ground();
  assert.notEqual(light, dark);
  await page.getByRole("button", { name: "dark" }).click();
  assert.equal(await ground(), dark);
  await close();
});

test("text from the data stays text", async () => {
  const { page, complaints, close } = await open("hostile");
  assert.deepEqual(complaints, [], "no dialog, no blocked script");
  assert.equal(await page.locator("script").count(), 1);
  assert.match(await page.locator("h1").textContent(), /<script>alert\('x'\)<\/script>&"<\/svg>$/);
  await close();
});

test("paper is white, whatever the screen", async () => {
  const { page, close } = await open("trial", { theme: "dark" });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor), "rgb(255, 255, 255)");
  const faint = (await page.evaluate(contrasts)).filter(({ ratio }) => ratio < 4.5);
  assert.deepEqual(faint, []);
  await close();
});

for (const name of ["trial", "comparison", "experiment", "long"]) {
  test(`${name}: prints`, async () => {
    const { page, close } = await open(name);
    const pdf = await page.pdf({ format: "A4", printBackground: true });
    const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length ?? 0;
    assert.ok(pdf.length > 20_000, `${pdf.length} bytes`);
    assert.ok(pages >= 2 && pages <= 12, `${pages} pages`);
    await close();
  });
}
