// A run as somebody follows it: one real trial, watched by a desktop by day and a phone by night, while one listener never
// reads and another leaves. Everything is seen in one run and told by the tests below, each on its own.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { binary, faint, launch, open, overhang } from "./page.mjs";

/** What takes longer than this is stuck, also in a slow build on a slow machine. */
const WAIT_MAX_MS = 90_000;

/** What a reader sees of the run; runs in the page. */
function glance() {
  const text = (id) => document.getElementById(id).innerText.replace(/[\u00a0\u202f]/g, " ");
  const drawn = (id) => document.querySelectorAll(`#${id} :is(polyline, polygon)`).length;
  return {
    state: text("state"), what: text("what"), left: text("left"), now: text("now"),
    tiles: Object.fromEntries(["rate", "mean", "p50", "p99", "faults", "flight"].map((id) => [id, text(id)])),
    drawn: Object.fromEntries(["rate", "p99", "budget", "cores", "faults"].map((name) => [name, drawn(`c-${name}`)])),
    rates: document.querySelector("#c-rate polyline")?.points.numberOfItems ?? 0,
    done: Number(document.getElementById("track").getAttribute("aria-valuenow")),
    budget: text("c-budget"), cores: text("c-cores"), end: text("end"), title: document.title,
  };
}

/** Carries out the run and looks at it. */
async function watch(browser, folder) {
  const args = ["run", "tpcc/sqlite/rusqlite", "--clients", "2", "--warmup", "2s", "--duration", "10s", "--live", "127.0.0.1:0"];
  const run = spawn(binary(), args, {
    cwd: folder, stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, STACKMARK_LOCK: join(folder, "lock") },
  });
  let said = "";
  run.stderr.setEncoding("utf8").on("data", (text) => { said += text; });
  const exit = new Promise((ended) => run.on("close", (code) => ended(code)));
  let code;
  exit.then((value) => { code = value; });
  const until = async (what, holds) => {
    for (const since = Date.now(); ; await new Promise((look) => setTimeout(look, 50))) {
      const found = await holds();
      if (found) return found;
      assert.ok(Date.now() - since < WAIT_MAX_MS, `waited too long until ${what}; the run said:\n${said}`);
    }
  };
  try {
    const seen = { samples: [] };
    const url = await until("an address is printed", () => {
      assert.equal(code, undefined, said);
      return said.match(/^live: (http:\S+)$/m)?.[1];
    });
    seen.origin = new URL(url).origin;
    const { hostname, port } = new URL(url);
    const listen = () => {
      const socket = connect(Number(port), hostname, () => socket.write(`GET /events HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`));
      return socket.on("error", () => {});
    };
    const deaf = listen().pause();
    const gone = listen();

    const day = await open(browser, url);
    const night = await open(browser, url, { width: 360, theme: "dark" });
    seen.early = await day.page.evaluate(glance);
    gone.destroy();
    let reloaded;
    await until("the end is told", async () => {
      const at = await day.page.evaluate(glance);
      seen.samples.push(at);
      if (!reloaded && at.left.startsWith("measured") && at.rates >= 3) {
        const waited = at.rates;
        await night.page.reload();
        reloaded = await until("the reloaded page shows the run", async () => {
          const again = await night.page.evaluate(glance);
          return again.rates >= waited && again;
        });
        seen.middle = { reloaded, waited, overhang: await overhang(night.page), faint: [...await faint(day.page), ...await faint(night.page)] };
      }
      return at.state === "ended";
    });
    seen.after = await day.page.evaluate(glance);
    seen.code = await exit;
    seen.said = said;
    // Time for a page to ask for what is no longer there, if it were to.
    await day.page.waitForTimeout(300);
    seen.phone = { at: await night.page.evaluate(glance), overhang: await overhang(night.page) };
    seen.faint = [...await faint(day.page), ...await faint(night.page)];
    seen.complaints = [...day.complaints, ...night.complaints];
    seen.requests = [...day.requests, ...night.requests];
    deaf.destroy();
    await Promise.all([day.close(), night.close()]);
    return seen;
  } finally {
    if (code === undefined) run.kill("SIGKILL");
  }
}

describe("a run that is watched", () => {
  let browser, folder, seen;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "stackmark-live-"));
    browser = await launch();
    seen = await watch(browser, folder);
  });

  after(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
  });

  const measured = () => seen.samples.filter(({ left }) => left.startsWith("measured"));

  test("before the first second the page says that nothing runs yet", () => {
    assert.equal(seen.early.state, "connected");
    assert.equal(seen.early.what, "Nothing runs yet");
  });

  test("rate, response time, failures and calls in flight are told, and change", () => {
    assert.ok(measured().length > 3, "the measured interval was seen");
    const { what, tiles, title } = measured().at(-1);
    assert.equal(what, "tpcc/sqlite/rusqlite");
    assert.match(tiles.rate, /^[\d ]+(\.\d+)?\s+new orders\/min$/);
    assert.match(tiles.mean, /^[\d ]+(\.\d+)?\s+new orders\/min$/);
    assert.match(tiles.p50, /^\d+(\.\d+)? (µs|ms|s)\s+new-order$/);
    assert.match(tiles.p99, /^\d+(\.\d+)? (µs|ms|s)\s+new-order$/);
    assert.match(tiles.faults, /^\d+\s+(of [\d ]+ begun|(conflicts|refused|in doubt).*)$/);
    assert.match(tiles.flight, /^\d\.\d\s+of 2 clients$/);
    assert.match(title, /^[\d\s]+new orders\/min · stackmark$/);
    for (const name of ["rate", "mean", "p99"]) {
      const values = new Set(measured().map((at) => at.tiles[name]));
      assert.ok(values.size > 1, `${name} never changed: ${[...values]}`);
    }
  });

  test("the charts grow: rate, response time, budget, processors, failures", () => {
    const last = measured().at(-1);
    for (const [name, shapes] of Object.entries(last.drawn)) assert.ok(shapes > 0, `${name} is not drawn`);
    assert.ok(last.rates > measured()[0].rates, "a second more is a point more");
    assert.match(last.budget, /commit \d+ %/);
    assert.match(last.cores, /of \d+/);
  });

  test("the warm-up is told apart, and what is left grows less", () => {
    const warm = seen.samples.filter(({ left }) => left.startsWith("warm-up"));
    assert.ok(warm.length > 0 && warm.every(({ tiles }) => /not in the warm-up/.test(tiles.mean)), "no mean in the warm-up");
    const done = measured().map((at) => at.done);
    assert.deepEqual(done, [...done].sort((a, b) => a - b));
    assert.ok(done.at(-1) > done[0]);
  });

  test("a page reloaded in the middle has everything again", () => {
    const { reloaded, waited } = seen.middle;
    assert.equal(reloaded.state, "connected");
    assert.ok(reloaded.rates >= waited, `${reloaded.rates} of ${waited} seconds`);
    assert.match(reloaded.tiles.p99, /new-order/);
  });

  test("the end is told, with the report", () => {
    for (const { state, end, now, done } of [seen.after, seen.phone.at]) {
      assert.equal(state, "ended");
      assert.match(end, /^The run has ended\. Its report: .*report\.html$/);
      assert.equal(now, "last rate", "nothing is called present that has passed");
      assert.equal(done, 100);
    }
  });

  test("the browser has nothing to complain of, before and after the end", () => {
    assert.deepEqual(seen.complaints, []);
  });

  test("nothing but the run is asked for anything", () => {
    assert.ok(seen.requests.length >= 4, "two pages and their events");
    for (const url of seen.requests) assert.ok(url.startsWith(`${seen.origin}/`) || url === "data:,", url);
  });

  test("a phone has nothing to scroll sideways", () => {
    assert.deepEqual([seen.middle.overhang, seen.phone.overhang], [0, 0]);
  });

  test("reads well by day and by night, on the way and in the end", () => {
    assert.deepEqual(seen.middle.faint, []);
    assert.deepEqual(seen.faint, []);
  });

  test("who listens without reading, or leaves, does the run no harm", () => {
    assert.equal(seen.code, 0, seen.said);
    assert.doesNotMatch(seen.said, /panick|error:/);
  });
});
