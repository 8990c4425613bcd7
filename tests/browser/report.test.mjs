// Reports as a reader meets them: in Chromium, by day and by night, on a phone, on paper, without a network.
//
// The pages come from `cargo run -p stackmark-report --example sample -- FOLDER`, which this test runs itself unless REPORTS names
// a folder that holds them. How fast they open is printed by `open.mjs`.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { readFileSync } from "node:fs";
import { barriers, faint, gallery, overhang } from "./page.mjs";

const PAGES = ["trial", "comparison", "experiment", "failed", "open", "paced", "deferred", "hostile", "long", "busy", "running",
  "sweep", "rates", "search", "drill"];
// `make test` opens every page, and checks widths, themes and charts of these; `make test-all` sets the variable and checks all.
const SHOWN = process.env.STACKMARK_ALL_PAGES ? PAGES : ["trial", "experiment", "hostile", "search"];
// A trial that is still running has no charts yet.
const WITH_CHARTS = SHOWN.filter((name) => name !== "running");

let shown;

before(async () => { shown = await gallery(); });

after(() => shown?.close());

const open = (name, options) => shown.open(name, options);

for (const name of PAGES) {
  test(`${name}: opens without complaint and without asking anybody for anything`, async () => {
    const { complaints, requests, url, close } = await open(name);
    assert.deepEqual(complaints, []);
    assert.deepEqual(requests, [url]);
    await close();
  });
}

for (const name of SHOWN) {
  test(`${name}: never scrolls sideways`, async () => {
    for (const width of [360, 800, 1600]) {
      const { page, close } = await open(name, { width });
      assert.equal(await overhang(page), 0, `too wide at ${width} px`);
      await close();
    }
  });

  test(`${name}: can be used without a mouse, without colour and by a screen reader`, async () => {
    for (const width of [390, 1280]) {
      const { page, close } = await open(name, { width });
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
      assert.deepEqual(await barriers(page), [], `${width} px`);
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
        assert.deepEqual(await faint(page), [], `${theme}, ${width} px`);
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
      // A search has one, the rates that were tried; and a drill its time line.
      assert.ok(charts.length >= (["search", "drill"].includes(name) ? 1 : 3), `${charts.length} charts`);
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
    assert.match(all, /^1,\d{3}\/s$/);
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

  test("rows and bars are read out under the pointer and by the arrow keys", async () => {
    const { page, close } = await open("comparison");
    const figure = page.locator("figure:has([data-tip])").first();
    const marks = figure.locator("svg.wide [data-tip]");
    const last = await marks.last().getAttribute("data-tip");
    assert.match(last, /^through HTTP: \d+\.\d\s% \(.*\), worse$/);
    await marks.last().hover();
    assert.equal(await figure.locator(".at").textContent(), last);
    await page.mouse.move(2, 2);
    assert.equal(await figure.locator(".at").textContent(), "");
    await figure.focus();
    await page.keyboard.press("ArrowDown");
    assert.equal(await figure.locator(".at").textContent(), await marks.first().getAttribute("data-tip"));
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    assert.equal(await figure.locator(".at").textContent(), last);
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

test("a section is copied as Markdown", async () => {
  const { page, close } = await open("comparison");
  await page.evaluate(() => {
    Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { window.copied = text; } } });
  });
  await page.getByRole("button", { name: "Copy “Where the time goes” as Markdown" }).click();
  const text = await page.evaluate(() => window.copied);
  assert.match(text, /^## Where the time goes\n\n\*\*Time budget of a committed call\*\*: Stacked bars/);
  assert.match(text, /\n\| time, all calls \| direct \| through HTTP \| difference \| share of it \|\n\| --- \| ---: \|/);
  assert.doesNotMatch(text, /Markdown|undefined|<\w/);
  await close();
});

test("a chart is saved as a picture that needs no page", async () => {
  const { page, close } = await open("comparison");
  const saved = async (kind) => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: `Save “Effect of each variant on throughput” as ${kind}` }).click(),
    ]);
    assert.equal(download.suggestedFilename(), `effect-of-each-variant-on-throughput.${kind.toLowerCase()}`);
    return readFileSync(await download.path());
  };
  const svg = (await saved("SVG")).toString("utf8");
  assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="-160 -160 9120 \d+"/);
  assert.match(svg, />Effect of each variant on throughput<\/text>/);
  assert.match(svg, />worse<\/text>/, "the legend");
  assert.doesNotMatch(svg, /var\(--|class="cursor"/);
  const png = await saved("PNG");
  assert.equal(png.subarray(1, 4).toString("latin1"), "PNG");
  assert.equal(png.readUInt32BE(16), 1824);
  assert.ok(png.length > 10_000, `${png.length} bytes`);
  await close();
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
  assert.deepEqual(await faint(page), []);
  await close();
});

for (const name of process.env.STACKMARK_ALL_PAGES ? ["trial", "comparison", "experiment", "long"] : ["experiment"]) {
  test(`${name}: prints`, async () => {
    const { page, close } = await open(name);
    const pdf = await page.pdf({ format: "A4", printBackground: true });
    const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length ?? 0;
    assert.ok(pdf.length > 20_000, `${pdf.length} bytes`);
    assert.ok(pages >= 2 && pages <= 12, `${pages} pages`);
    await close();
  });
}
