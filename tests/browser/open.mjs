// Prints how large reports are and how long Chromium takes to open them. A figure of this machine, not a test: on a busy one
// it would say more about its neighbours than about the page.
//
//   npm run open --prefix tests/browser                 the sample pages: an hour, ten minutes, an experiment
//   npm run open --prefix tests/browser -- REPORT.html…  reports of one's own
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gallery, launch, open } from "./page.mjs";

const TIMES = 7;
const SAMPLES = ["long", "busy", "experiment"];

/** Milliseconds until a page has loaded, and until all of it is drawn. */
async function timed(opens) {
  const { page, url, close } = await opens();
  const times = await page.evaluate(() => new Promise((tell) => {
    // Two frames: the first is asked for before the page is drawn, the second comes after.
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const { loadEventEnd } = performance.getEntriesByType("navigation")[0];
      tell({ loaded: loadEventEnd, drawn: performance.now() });
    }));
  }));
  await close();
  return { url, ...times };
}

function median(values) {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

const named = process.argv.slice(2);
const from = process.env.INIT_CWD ?? process.cwd();
const shown = named.length > 0 ? undefined : await gallery();
const browser = shown ? undefined : await launch();
const pages = shown
  ? SAMPLES.map((name) => () => shown.open(name))
  : named.map((file) => () => open(browser, pathToFileURL(resolve(from, file)).href));
console.log(`median of ${TIMES} times, slowest in brackets`);
for (const opens of pages) {
  const runs = [];
  for (let time = 0; time < TIMES; time += 1) runs.push(await timed(opens));
  const ms = (pick) => `${median(runs.map(pick)).toFixed(0)} ms (${Math.max(...runs.map(pick)).toFixed(0)})`;
  const file = fileURLToPath(runs[0].url);
  const size = (statSync(file).size / 1e6).toFixed(2);
  console.log(`${file}: ${size} MB, loaded in ${ms((run) => run.loaded)}, drawn after ${ms((run) => run.drawn)}`);
}
await (shown ?? browser).close();
