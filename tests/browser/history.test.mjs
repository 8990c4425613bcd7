// The page of stored runs over time, of invented results: a month of them, hundreds, a single one.
//
// REPORTS names the folder of the pages, as for the reports.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { faint, gallery, overhang } from "./page.mjs";

const PAGES = ["history", "history-long", "history-short"];

let shown;

before(async () => { shown = await gallery(); });

after(() => shown?.close());

const open = (name, options) => shown.open(name, options);

/** What a chart holds, by the marks of the style sheet; runs in the page. */
function drawn(svg) {
  const box = (shape) => shape.getBBox();
  const all = (marks) => [...svg.querySelectorAll(marks)];
  const texts = all("text").map((text) => ({ text: text.textContent.trim(), box: box(text) }));
  const overlap = (a, b) => a.box.x < b.box.x + b.box.width && b.box.x < a.box.x + a.box.width &&
    a.box.y < b.box.y + b.box.height && b.box.y < a.box.y + a.box.height;
  const frame = svg.viewBox.baseVal;
  return {
    dots: all("circle").length,
    triangles: all('polygon[fill="var(--ink)"]').length,
    rings: all('polyline[stroke="var(--bad)"]').filter((line) => line.points.numberOfItems > 10).length,
    dates: texts.filter(({ text }) => /^(\d{4}-)?\d\d-\d\d/.test(text)).map(({ text }) => text),
    overlapping: texts.flatMap((a, i) => texts.slice(i + 1).filter((b) => overlap(a, b)).map((b) => `${a.text} and ${b.text}`)),
    outside: all("text, circle, polyline, polygon").filter((shape) => {
      const { x, y, width, height } = box(shape);
      return x < -5 || y < -5 || x + width > frame.width + 5 || y + height > frame.height + 5;
    }).map((shape) => shape.outerHTML.slice(0, 120)),
  };
}

for (const name of PAGES) {
  test(`${name}: asks nobody for anything, has no complaint, and fits a phone by day and by night`, async () => {
    for (const theme of ["light", "dark"]) {
      for (const width of [360, 1280]) {
        const { page, complaints, requests, url, close } = await open(name, { width, theme });
        assert.equal(await overhang(page), 0, `too wide at ${width} px`);
        assert.deepEqual(await faint(page), [], `${theme}, ${width} px`);
        assert.deepEqual(complaints, []);
        assert.deepEqual(requests, [url]);
        await close();
      }
    }
  });

  test(`${name}: charts lie within their frames, and no label on another`, async () => {
    for (const width of [360, 1280]) {
      const { page, close } = await open(name, { width });
      const charts = await page.locator("figure svg:visible").evaluateAll((all, source) => {
        const look = new Function(`return (${source})`)();
        return all.map(look);
      }, drawn.toString());
      assert.equal(charts.length > 0, name !== "history-short", "one run has no course");
      for (const chart of charts) {
        assert.deepEqual(chart.outside, [], `at ${width} px`);
        assert.deepEqual(chart.overlapping, [], `at ${width} px`);
        assert.equal(new Set(chart.dates).size, chart.dates.length, "no date is told twice");
        assert.ok(chart.dates.length >= 2, "an axis has more than one date");
      }
      await close();
    }
  });
}

/** The first chart of the series whose words hold `key`. */
const seriesOf = (page, key) => page.locator("section", { has: page.locator("p.caption", { hasText: key }) })
  .filter({ has: page.locator("figure") });

test("every run of a course is a mark: dots, rings where invalid, triangles where something changed", async () => {
  const { page, close } = await open("history");
  const chart = seriesOf(page, "AMD EPYC").locator("svg.wide").first();
  const found = await chart.evaluate(drawn);
  // One of the runs is a side of a comparison. It measured for a shorter time, which changes there and back.
  assert.equal(found.dots + found.rings, 25);
  assert.deepEqual([found.rings, found.triangles], [1, 4]);
  await close();
});

test("machines have courses of their own, and the overview leads to each", async () => {
  const { page, close } = await open("history");
  const rows = page.locator("table").first().locator("tbody tr");
  assert.equal(await rows.count(), 3);
  assert.match(await rows.nth(2).textContent(), /Ampere Altra/);
  await rows.nth(2).locator("a").click();
  const target = page.locator(":target");
  assert.match(await target.locator("p.caption").first().textContent(), /Ampere Altra/);
  assert.equal((await target.locator("svg.wide").first().evaluate(drawn)).dots, 5);
  await close();
});

test("the latest run is told in words beside the one before", async () => {
  const { page, close } = await open("history");
  const said = await seriesOf(page, "AMD EPYC").locator("p").nth(1).textContent();
  assert.match(said, /^Latest: [\d,\s]+±[\d,\s]+new orders\/min on 2026-\d\d-\d\d .*\s% of the run before; .*intervals/);
  assert.match(said, /One run is invalid and not counted\.$/);
  await close();
});

test("what is in no series is named, with why, and led to from the top", async () => {
  const { page, close } = await open("history");
  await page.getByRole("link", { name: "2 files are in no series." }).click();
  const rows = await page.locator(":target tbody tr").allTextContents();
  assert.equal(rows.length, 2);
  assert.match(rows[0], /20250101-000000-old\/result\.json.*stackmark-result\/99/);
  await close();
});

test("the pointer and the arrow keys read out one run", async () => {
  const { page, close } = await open("history");
  const figure = page.locator("figure[data-readout]").first();
  await figure.focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await figure.locator(".at").textContent(), /^2026-09-21 \d\d:\d\d UTC, stackmark 0\.1\.0$/);
  assert.match((await figure.locator(".legend .value").allTextContents())[0], /^[\d,\s]+±[\d,\s]+$/);
  await close();
});

test("hundreds of runs are drawn all, and told as a table only when asked", async () => {
  const { page, close } = await open("history-long");
  const found = await page.locator("svg.wide").first().evaluate(drawn);
  assert.equal(found.dots + found.rings, 400);
  const rows = page.locator("tbody tr:visible");
  assert.ok(await rows.count() < 20, "a page that can be read");
  await page.locator("summary").click();
  assert.ok(await rows.count() > 400);
  await close();
});

test("one result is shown without a course", async () => {
  const { page, close } = await open("history-short");
  assert.match(await page.locator(".lead").textContent(), /^1 result in 1 series\.$/);
  assert.equal(await page.locator("tbody tr").count(), 1);
  await close();
});

test("prints", async () => {
  const { page, close } = await open("history", { theme: "dark" });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.deepEqual(await faint(page), []);
  const pdf = await page.pdf({ format: "A4", printBackground: true });
  const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length ?? 0;
  assert.ok(pages >= 2 && pages <= 8, `${pages} pages`);
  await close();
});
