// What the tests of all pages need: the system's Chromium, a book of what a page says and asks for, and its contrasts.
//
// CHROMIUM names the browser, if it is not where Debian puts it; STACKMARK_BIN names the binary, if it is not to be built.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const CARGO = process.env.CARGO || "cargo";
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
/** What takes longer than this is stuck. A browser that is opened for the first time on a slow machine takes a while. */
const STUCK_MS = 180_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const REPOSITORY = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

export async function launch() {
  assert.ok(existsSync(CHROMIUM), `no browser at ${CHROMIUM}; name one in CHROMIUM`);
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: STUCK_MS });
}

/** A browser with the pages of the sample documents: those in the folder that REPORTS names, or made for this. */
export async function gallery() {
  const own = process.env.REPORTS ? undefined : mkdtempSync(join(tmpdir(), "stackmark-pages-"));
  if (own) {
    execFileSync(CARGO, ["run", "--quiet", "--package", "stackmark-report", "--example", "sample", "--", own],
      { cwd: REPOSITORY, stdio: ["ignore", "inherit", "inherit"] });
  }
  const folder = own ?? process.env.REPORTS;
  // Last: where nobody closes a browser, because the pages could not be made, this program never ends.
  const browser = await launch();
  return {
    open: (name, options) => open(browser, pathToFileURL(join(folder, `${name}.html`)).href, options),
    close: async () => {
      await browser.close();
      if (own) rmSync(own, { recursive: true });
    },
  };
}

/** The binary that is tested. */
export function binary() {
  if (process.env.STACKMARK_BIN) return process.env.STACKMARK_BIN;
  const cargo = (...args) => execFileSync(CARGO, args, { cwd: REPOSITORY, stdio: ["ignore", "pipe", "inherit"], encoding: "utf8" });
  cargo("build", "--quiet", "--bin", "stackmark");
  const { target_directory: target } = JSON.parse(cargo("metadata", "--format-version", "1", "--no-deps"));
  return join(target, "debug", "stackmark");
}

/** Opens a page and keeps book of what it says and asks for. */
export async function open(browser, url, { width = 1200, theme = "light", script = true } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: 900 }, colorScheme: theme, javaScriptEnabled: script, reducedMotion: "reduce",
  });
  context.setDefaultTimeout(STUCK_MS);
  const page = await context.newPage();
  const complaints = [];
  const requests = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(url);
  return { page, complaints, requests, url, close: () => context.close() };
}

/** How many pixels a page is too wide. */
export function overhang(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** What axe-core finds on a page that makes it hard or impossible to use for some people. */
export async function barriers(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const is_serious = ({ impact }) => ["serious", "critical"].includes(impact);
  return violations.filter(is_serious).map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join("; ").slice(0, 300)}`);
}

/** Texts that are too faint to be read by everybody, after WCAG 2 AA. */
export async function faint(page) {
  const texts = await page.evaluate(contrasts);
  assert.ok(texts.length > 5, "the page has text");
  return texts.filter(({ ratio }) => ratio < 4.5);
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
      for (const shape of inChart.querySelectorAll("rect:not(.hit)")) {
        const area = shape.getBoundingClientRect();
        if (x > area.left && x < area.right && y > area.top && y < area.bottom) behind = parse(getComputedStyle(shape).fill);
      }
    }
    found.push({ text: text.slice(0, 40), ratio: ratio(parse(inChart ? style.fill : style.color), behind) });
  }
  return found;
}
