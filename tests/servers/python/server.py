"""pgbench's transaction on SQLite over HTTP/1.1: the contract is docs/servers.md and spec/openapi/tpcb.yaml."""

import json
import os
import platform
import queue
import signal
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY_BYTES_MAX = 65_536
DELTA_MAX = 5_000
STATUS = {"malformed": 400, "unknown-id": 404, "unknown-path": 404, "too-large": 413, "invalid": 422, "conflict": 409, "defect": 500}


class Problem(Exception):
    """An answer other than an outcome; by its type a client knows what it means."""


class Bank:
    """The loaded database: a pool of connections, of which SQLite lets one write at a time."""

    def __init__(self, url, size):
        self.path, _, options = url.removeprefix("sqlite:").partition("?")
        self.options = dict(option.split("=") for option in options.split("&"))
        self.size, self.writer, self.pool = size, threading.Lock(), queue.SimpleQueue()
        for _ in range(size):
            self.pool.put(self.connect())
        one = self.pool.get()
        ask = lambda text: one.execute(text).fetchone()[0]
        tables = {"aid": "pgbench_accounts", "tid": "pgbench_tellers", "bid": "pgbench_branches"}
        self.last = {column: ask(f"select count(*) from {table}") for column, table in tables.items()}
        journal, level = ask("pragma journal_mode"), ask("pragma synchronous")
        durable = level >= 2 and journal not in ("memory", "off")
        self.stack = {
            "engine": "sqlite", "engine_version": sqlite3.sqlite_version,
            "adapter": "python-sqlite3", "adapter_version": platform.python_version(),
            "style": "plain", "route": "direct", "server": None, "isolation": "serializable",
            "durability": {"tier": "durable" if durable else "volatile", "detail": f"{journal}, synchronous={level}"},
            "settings": [["journal_mode", journal], ["synchronous", str(level)]],
        }
        self.pool.put(one)

    def connect(self):
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        connection.execute(f"pragma busy_timeout = {int(self.options.get('busy_ms', 5000))}")
        connection.execute(f"pragma journal_mode = {self.options.get('journal', 'wal')}")
        connection.execute(f"pragma synchronous = {self.options.get('synchronous', 'full')}")
        return connection

    def run(self, call):
        aid, tid, bid, delta = call["aid"], call["tid"], call["bid"], call["delta"]
        connection = self.pool.get()
        try:
            with self.writer:
                connection.execute("begin immediate")
                try:
                    connection.execute("update pgbench_accounts set abalance = abalance + ? where aid = ?", (delta, aid))
                    found = connection.execute("select abalance from pgbench_accounts where aid = ?", (aid,))
                    balance = found.fetchone()[0]
                    connection.execute("update pgbench_tellers set tbalance = tbalance + ? where tid = ?", (delta, tid))
                    connection.execute("update pgbench_branches set bbalance = bbalance + ? where bid = ?", (delta, bid))
                    connection.execute(
                        "insert into pgbench_history (tid, bid, aid, delta, mtime) values (?, ?, ?, ?, unixepoch())",
                        (tid, bid, aid, delta),
                    )
                    connection.execute("commit")
                except sqlite3.Error:
                    if connection.in_transaction:
                        connection.execute("rollback")
                    raise
                return {"abalance": balance}
        except sqlite3.OperationalError as error:
            raise Problem("conflict" if "locked" in str(error) else "defect", str(error)) from error
        finally:
            self.pool.put(connection)

    def read(self, body):
        try:
            call = json.loads(body)
        except ValueError as error:
            raise Problem("malformed", str(error)) from error
        if not isinstance(call, dict) or set(call) != {"aid", "tid", "bid", "delta"}:
            raise Problem("invalid", "a call is an object with aid, tid, bid and delta")
        if any(type(value) is not int for value in call.values()) or abs(call["delta"]) > DELTA_MAX:
            raise Problem("invalid", f"all are whole numbers, and delta runs from -{DELTA_MAX} to {DELTA_MAX}")
        for column, last in self.last.items():
            if not 1 <= call[column] <= last:
                raise Problem("unknown-id", f"{column} {call[column]} does not exist; it runs from 1 to {last}")
        return call


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave in one write.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self):
        bank = self.server.bank
        if self.path == "/health":
            return self.answer(200, {"status": "ok"})
        if self.path == "/about":
            return self.answer(200, {
                "name": "python-http-server", "version": platform.python_version(), "contract": "tpcb/1", "workload": "tpcb",
                "scale": bank.last["bid"], "pool": bank.size, "pid": os.getpid(), "stack": bank.stack,
            })
        self.problem(Problem("unknown-path", "there are /health, /about and POST /tpcb/tpcb"))

    def do_POST(self):
        try:
            length = int(self.headers.get("content-length", 0))
            if length > BODY_BYTES_MAX:
                self.close_connection = True
                raise Problem("too-large", f"the body is over {BODY_BYTES_MAX} bytes")
            body = self.rfile.read(length)
            if self.path != "/tpcb/tpcb":
                raise Problem("unknown-path", "there are /health, /about and POST /tpcb/tpcb")
            self.answer(200, self.server.bank.run(self.server.bank.read(body)))
        except Problem as problem:
            self.problem(problem)

    def problem(self, problem):
        kind, detail = problem.args
        status = STATUS[kind]
        self.answer(status, {
            "type": f"urn:stackmark:problem:{kind}", "title": kind, "status": status, "detail": detail, "applied": "no",
        }, "application/problem+json")

    def answer(self, status, document, kind="application/json"):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if status == 200 and self.command == "POST":
            self.send_header("stackmark-work", "attempts=1, statements=5, rows=5, commits=1")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Standard error is for what went wrong."""


def until_abandoned(stop):
    """Standard input has nothing to say: it ends when nobody is left who would stop this server."""
    while os.read(0, 1):
        pass
    stop()


def main():
    host, _, port = os.environ["STACKMARK_LISTEN"].rpartition(":")
    bank = Bank(os.environ["STACKMARK_DB"], int(os.environ["STACKMARK_POOL"]))
    ThreadingHTTPServer.request_queue_size = 1_024
    server = ThreadingHTTPServer((host, int(port)), Handler)
    server.bank, server.daemon_threads = bank, True
    # `shutdown` waits for the loop to end, which the main thread runs.
    stop = lambda: threading.Thread(target=server.shutdown, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: stop())
    threading.Thread(target=until_abandoned, args=(stop,), daemon=True).start()
    print(f"listening on http://{host}:{server.server_address[1]}", flush=True)
    server.serve_forever(poll_interval=0.05)


main()
