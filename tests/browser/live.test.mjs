// A run as somebody follows it: one real trial, watched by a desktop by day and a phone by night, while one listener never
// reads and another leaves. Everything is seen in one run and told by the tests below, each on its own. What the page says
// while no calls are made passes too quickly to be caught there: a server of the test's tells it, step by step.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { REPOSITORY, binary, faint, launch, open, overhang } from "./page.mjs";

/** What takes longer than this is stuck, also in a slow build on a slow machine. */
const WAIT_MAX_MS = 300_000;

/** What a reader sees of the run; runs in the page. */
function glance() {
  const text = (id) => document.getElementById(id).innerText.replace(/[\u00a0\u202f]/g, " ");
  const drawn = (id) => document.querySelectorAll(`#${id} :is(polyline, polygon)`).length;
  return {
    state: text("state"), what: text("what"), left: text("left"), now: text("now"),
    where: text("where"),
    tiles: Object.fromEntries(["rate", "mean", "p50", "p99", "faults", "flight"].map((id) => [id, text(id)])),
    drawn: Object.fromEntries(["rate", "p99", "budget", "cores", "faults"].map((name) => [name, drawn(`c-${name}`)])),
    rates: document.querySelector("#c-rate polyline")?.points.numberOfItems ?? 0,
    done: Number(document.getElementById("track").getAttribute("aria-valuenow")),
    budget: text("c-budget"), cores: text("c-cores"), end: text("end"), title: document.title,
  };
}

/** Carries out the run and looks at it. */
async function watch(browser, folder) {
  // A load that takes longer than to open a page, and an interval that takes longer than to open it once more.
  const args = ["run", "tpcc/sqlite/rusqlite", "--scale", "3", "--clients", "2", "--think", "exp:10ms", "--warmup", "2s", "--duration", "20s",
    "--live", "127.0.0.1:0"];
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
    // At once: the run does not wait for the second page.
    seen.early = await until("the page is connected", async () => {
      const at = await day.page.evaluate(glance);
      return at.state === "connected" && at;
    });
    const night = await open(browser, url, { width: 360, theme: "dark" });
    await day.page.evaluate(() => {
      const heard = globalThis.heard = [];
      const left = document.getElementById("left");
      new MutationObserver(() => heard.push(left.textContent)).observe(left, { childList: true });
    });
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
    seen.heard = await day.page.evaluate(() => globalThis.heard);
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

  test("before the first second the page says what is done instead", () => {
    assert.equal(seen.early.state, "connected");
    assert.match(seen.early.what, /^(Loading 3 warehouses|Checking the answers of|Auditing the data before|Starting) ?/);
  });

  test("after the last second the page says that the data is audited", () => {
    assert.ok(seen.heard.includes("The trial has ended. Now: auditing."), seen.heard.join("\n"));
  });

  test("rate, response time, failures and calls in flight are told, and change", () => {
    assert.ok(measured().length > 3, "the window was seen");
    const { what, tiles, title } = measured().at(-1);
    assert.equal(what, "tpcc/sqlite/rusqlite");
    assert.match(tiles.rate, /^[\d,]+(\.\d+)?\s+new orders\/min$/);
    assert.match(tiles.mean, /^[\d,]+(\.\d+)?\s+new orders\/min$/);
    assert.match(tiles.p50, /^\d+(\.\d+)? (µs|ms|s)\s+new-order$/);
    assert.match(tiles.p99, /^\d+(\.\d+)? (µs|ms|s)\s+new-order$/);
    assert.match(tiles.faults, /^\d+\s+(of [\d,]+ started|(conflicts|refused|in doubt).*)$/);
    assert.match(tiles.flight, /^\d\.\d\s+of 2 clients$/);
    assert.match(title, /^[\d,\s]+new orders\/min · stackmark$/);
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

/** A page that is told by the test instead of a run. */
async function told(browser, options) {
  const page = readFileSync(join(REPOSITORY, "crates/cli/src/live/page.html"));
  let listens;
  const listener = new Promise((come) => { listens = come; });
  const server = createServer((request, response) => {
    const events = request.url === "/events";
    response.writeHead(200, { "content-type": `text/${events ? "event-stream" : "html"}; charset=utf-8` });
    if (events) {
      response.flushHeaders();
      listens(response);
    } else response.end(page);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  // A test that fails does not come to close it, and it alone would keep this program from ending.
  server.unref();
  const opened = await open(browser, `http://127.0.0.1:${server.address().port}/`, options);
  // A page whose script is broken never asks.
  let tooLate;
  const late = new Promise((_, fail) => {
    tooLate = setTimeout(() => fail(new Error("the page did not ask for its events")), WAIT_MAX_MS);
  });
  const events = await Promise.race([listener, late]).finally(() => clearTimeout(tooLate));
  return {
    ...opened,
    tell: (event, data) => events.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
    /** Waits until the page shows what is wanted of a glance. */
    shows: async (wanted) => {
      for (const since = Date.now(); ;) {
        const at = await opened.page.evaluate(glance);
        const seen = Object.fromEntries(Object.keys(wanted).map((name) => [name, at[name]]));
        if (isDeepStrictEqual(seen, wanted)) return;
        if (Date.now() - since > WAIT_MAX_MS) assert.deepEqual(seen, wanted);
        await new Promise((look) => setTimeout(look, 20));
      }
    },
    close: async () => {
      await opened.close();
      events.end();
      server.close();
    },
  };
}

const NOTHING = { history: [], board: null, report: null, resting: false, doing: null, ended: false };
const SLICE = {
  at: 1, trial: 1, what: "through-http", workload: "tpcc", subject: "tpcc/sqlite/axum+rusqlite", phase: "measured", share: 0.5,
  left_s: 30, clients: 8, unit: "new orders/min", rate: 41230, rate_mean: 40870, kind: "new-order", p50_ns: 4.6e6, p99_ns: 1.4e7,
  faults: 0, in_flight: 7.9, away: false, cores: 4, budget: [{ name: "commit", share: 1 }], processes: [{ role: "generator", cores: 1.8 }],
  call_counts: { started: 10000, committed: 9900, declined: 100, conflict: 0, refused: 0, in_doubt: 0, defect: 0, retries: 0 },
};

describe("a page while no calls are made", () => {
  let browser;

  before(async () => { browser = await launch(); });
  after(() => browser?.close());

  test("what is done before the first call is told, and how far it is", async () => {
    const { tell, shows, close } = await told(browser);
    tell("whole", NOTHING);
    await shows({ state: "connected", what: "Nothing runs yet", where: "No call has been made.", left: "", done: 0 });
    tell("doing", { words: "loading 10 warehouses", detail: "rows: 2 of 8 rows, 9 s left", share: 0.25 });
    await shows({ what: "Loading 10 warehouses", left: "rows: 2 of 8 rows, 9 s left", done: 25, title: "loading 10 warehouses · stackmark" });
    tell("doing", { words: "checking the answers of tpcc/sqlite/rusqlite", detail: "", share: null });
    await shows({ what: "Checking the answers of tpcc/sqlite/rusqlite", left: "", done: 0 });
    tell("slice", SLICE);
    await shows({ what: "through-http", where: "tpcc/sqlite/axum+rusqlite, 8 clients", left: "measured, 30 s left", done: 50 });
    await close();
  });

  test("what is done between trials stands beside the figures of the last one", async () => {
    const { tell, shows, close } = await told(browser);
    tell("whole", { ...NOTHING, history: [SLICE] });
    tell("rest", null);
    await shows({ what: "through-http", left: "The trial has ended.", now: "last rate", done: 100 });
    tell("doing", { words: "restoring the data", detail: "", share: null });
    await shows({ what: "through-http", left: "The trial has ended. Now: restoring the data.", done: 100 });
    tell("doing", { words: "loading 1 warehouse", detail: "rows: 1 of 2", share: 0.5 });
    await shows({ left: "The trial has ended. Now: loading 1 warehouse, rows: 1 of 2.", done: 50 });
    tell("slice", { ...SLICE, at: 2, trial: 2 });
    await shows({ left: "measured, 30 s left", now: "rate now", done: 50 });
    await close();
  });

  test("a page opened in the middle of it knows, and one whose run ends says so", async () => {
    const { tell, shows, close } = await told(browser);
    tell("whole", { ...NOTHING, doing: { words: "starting a private PostgreSQL", detail: "", share: null } });
    await shows({ what: "Starting a private PostgreSQL" });
    tell("end", { report: null });
    await shows({ state: "ended", what: "Nothing was measured", end: "The run has ended without a report." });
    await close();
  });

  test("reads well by day and by night, and a phone has nothing to scroll sideways", async () => {
    for (const options of [{}, { theme: "dark" }, { width: 360 }, { width: 360, theme: "dark" }]) {
      const { page, complaints, tell, shows, close } = await told(browser, options);
      const doing = { words: `checking the answers of ${"tpcc/postgres/axum+tokio-postgres/".repeat(3)}`, detail: "", share: 0.4 };
      tell("whole", { ...NOTHING, doing });
      await shows({ done: 40 });
      assert.deepEqual([await overhang(page), await faint(page), complaints], [0, [], []]);
      tell("whole", { ...NOTHING, history: [SLICE], resting: true, doing });
      await shows({ now: "last rate" });
      assert.deepEqual([await overhang(page), await faint(page), complaints], [0, [], []]);
      await close();
    }
  });
});
