"""A workload on SQLite over HTTP/1.1, with nothing but Python's standard library: the contract is docs/servers.md and
spec/openapi. This file is what all workloads share; `tpcb.py` and `catalogue.py` are one each."""

import importlib
import json
import os
import platform
import queue
import re
import resource
import signal
import sqlite3
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote_to_bytes

BODY_BYTES_MAX = 65_536
# A body arrives within this time.
BODY_READ_S = 10
# RFC 3986 3.2.2 and 3.2.3: names, numbers, IPv6 in brackets, and a port behind a colon.
HOST = re.compile(r"[A-Za-z0-9\-._~%!$&'()*+,;=:\[\]]*", re.ASCII)
STATUS = {
    "malformed": 400, "unauthorized": 401, "unknown-id": 404, "unknown-path": 404, "method-not-allowed": 405, "too-slow": 408,
    "conflict": 409, "too-large": 413,
    "unsupported-type": 415, "invalid": 422, "unconditional": 428, "defect": 500,
}
# Of an error: what could be stored all the same.
APPLIED = {"defect": "unknown"}


class Problem(Exception):
    """An answer other than an outcome: its type, by which a client knows what it means, and a detail."""

    def __init__(self, kind, detail, status=None):
        super().__init__(detail)
        self.kind, self.status = kind, status or STATUS[kind]


class Decline(Problem):
    """The workload's rules say no, and nothing was changed."""

    def __init__(self, status, kind, title):
        super().__init__(kind, "the call was declined, and changed nothing", status)
        self.title = title


class Store:
    """The loaded database: a pool of connections, of which SQLite lets one write at a time."""

    def __init__(self, url, size):
        path, _, options = url.removeprefix("sqlite:").partition("?")
        self.path = os.fsdecode(unquote_to_bytes(path))
        self.options = dict(option.split("=") for option in options.split("&") if option)
        self.size, self.writer, self.pool = size, threading.Lock(), queue.SimpleQueue()
        for _ in range(size):
            self.pool.put(self.connect())
        one = self.pool.get()
        journal, level = (one.execute(f"pragma {name}").fetchone()[0] for name in ("journal_mode", "synchronous"))
        self.pool.put(one)
        durable = level >= 2 and journal not in ("memory", "off")
        self.stack = {
            "engine": "sqlite", "engine_version": sqlite3.sqlite_version,
            "adapter": "python-sqlite3", "adapter_version": platform.python_version(),
            "style": "plain", "route": "direct", "server": None, "isolation": "serializable",
            "durability": {"tier": "durable" if durable else "volatile", "detail": f"{journal}, synchronous={level}"},
            "settings": [["synchronous", ("off", "normal", "full", "extra")[level]]],
        }

    def connect(self):
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        connection.execute(f"pragma busy_timeout = {int(self.options.get('busy_ms', 5000))}")
        connection.execute(f"pragma journal_mode = {self.options.get('journal', 'wal')}")
        connection.execute(f"pragma synchronous = {self.options.get('synchronous', 'full')}")
        return connection

    @contextmanager
    def reading(self, work):
        """A transaction that sees one moment."""
        connection = self.pool.get()
        try:
            connection.execute("begin")
            yield lambda sql, *values: work.execute(connection, sql, values)
        finally:
            self.end(connection, "commit")
            self.pool.put(connection)

    @contextmanager
    def writing(self, work):
        """A transaction that is stored as a whole when it ends well, and not at all otherwise."""
        connection = self.pool.get()
        try:
            with self.writer:
                connection.execute("begin immediate")
                yield lambda sql, *values: work.execute(connection, sql, values)
                connection.execute("commit")
                work.commits += 1
        except sqlite3.OperationalError as error:
            raise Problem("conflict" if "locked" in str(error) else "defect", str(error)) from error
        finally:
            self.end(connection, "rollback")
            self.pool.put(connection)

    @staticmethod
    def end(connection, how):
        if connection.in_transaction:
            connection.execute(how)


class Work:
    """What a call took, for the footnotes of its answer."""

    def __init__(self):
        self.statements, self.rows, self.commits, self.begun, self.spent = 0, 0, 0, time.perf_counter(), 0.0

    def execute(self, connection, sql, values):
        begun = time.perf_counter()
        cursor = connection.execute(sql, values)
        rows = cursor.fetchall() if cursor.description else cursor.rowcount
        self.statements += 1
        self.rows += len(rows) if cursor.description else max(rows, 0)
        self.spent += time.perf_counter() - begun
        return rows

    def headers(self):
        total = (time.perf_counter() - self.begun) * 1000
        yield "server-timing", f"query;dur={self.spent * 1000:.3f}, total;dur={total:.3f}"
        yield "stackmark-work", f"attempts=1, statements={self.statements}, rows={self.rows}, commits={self.commits}"


class Request:
    """What was asked: ids of the path as they came, the query behind it, headers, and the body as JSON."""

    def __init__(self, ids, query, headers, body):
        self.ids, self.query, self.headers, self.body = ids, query, headers, body

    def json(self):
        kind = self.headers.get("content-type", "").lower().replace(" ", "")
        if kind not in ("application/json", "application/json;charset=utf-8"):
            raise Problem("unsupported-type", "the body is not application/json in UTF-8")
        try:
            return json.loads(self.body, object_pairs_hook=once)
        except (ValueError, RecursionError) as error:
            raise Problem("malformed", f"the body is not JSON: {error}") from error


def once(pairs):
    """An object, each of whose members is there once: of two, nobody knows which one counts."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Problem("invalid", "a field is there twice")
    return members


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave in one write.
    wbufsize = -1
    disable_nagle_algorithm = True

    def handle_call(self):
        self.work = Work()
        try:
            self.check_host()
            body = self.read_body(int(self.headers.get("content-length", 0)))
            path, _, query = self.path.partition("?")
            found = self.route(path)
            if self.command not in found:
                self.allow = ", ".join(found)
                raise Problem("method-not-allowed", f"{path} has {self.allow}")
            call, ids = found[self.command]
            self.answer(*call(Request(ids, query, self.headers, body), self.work))
        except Problem as problem:
            self.problem(problem)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_call

    def check_host(self):
        hosts = self.headers.get_all("host", ())
        if len(hosts) != 1 or not HOST.fullmatch(hosts[0].strip()):
            self.close_connection = True
            raise Problem("malformed", "the request must have one host header with a host")

    def read_body(self, length):
        if length > BODY_BYTES_MAX:
            self.close_connection = True
            raise Problem("too-large", f"the body is over {BODY_BYTES_MAX} bytes")
        if length == 0:
            return b""
        self.connection.settimeout(BODY_READ_S)
        try:
            return self.rfile.read(length)
        except TimeoutError:
            self.close_connection = True
            raise Problem("too-slow", "the body did not arrive in time") from None
        finally:
            # Between calls a connection may be silent for as long as its client thinks.
            self.connection.settimeout(self.timeout)

    def route(self, path):
        """What each method of a path calls, with the ids in it. A path without ids comes first."""
        matches = {}
        for _, template in self.server.routes:
            ids = re.fullmatch(re.sub(r"{\w+}", "([^/]+)", template), path)
            if ids:
                matches[template] = ids.groups()
        if not matches:
            raise Problem("unknown-path", "there is nothing at this path")
        best = min(matches, key=lambda template: len(matches[template]))
        routes = self.server.routes.items()
        return {method: (call, matches[best]) for (method, template), call in routes if template == best}

    def problem(self, problem):
        self.answer(problem.status, {
            "type": f"urn:stackmark:problem:{problem.kind}", "title": getattr(problem, "title", problem.kind),
            "status": problem.status, "detail": str(problem), "applied": APPLIED.get(problem.kind, "no"),
        })

    def answer(self, status, document=None, headers=()):
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        if document is not None:
            problem = status >= 400
            self.send_header("content-type", "application/problem+json" if problem else "application/json")
            self.send_header("content-length", str(len(body)))
        for name, value in (*headers, *self.work.headers()):
            self.send_header(name, value)
        if status == 405:
            self.send_header("allow", self.allow)
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Standard error is for what went wrong."""


def about(workload, store, served):
    return lambda *_: (200, {
        "name": "python-http-server", "version": platform.python_version(), "contract": f"{workload}/1", "workload": workload,
        "scale": served.scale, "pool": store.size, "pid": os.getpid(), "stack": store.stack,
    })


def until_abandoned(stop):
    """Standard input has nothing to say: it ends when nobody is left who would stop this server."""
    while os.read(0, 1):
        pass
    stop()


def main():
    # The soft limit on open files is there for old programs; each connection is one.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    workload = os.environ["STACKMARK_WORKLOAD"]
    host, _, port = os.environ["STACKMARK_LISTEN"].rpartition(":")
    store = Store(os.environ["STACKMARK_DB"], int(os.environ["STACKMARK_POOL"]))
    served = importlib.import_module(workload).Workload(store)
    ThreadingHTTPServer.request_queue_size = 1_024
    server = ThreadingHTTPServer((host, int(port)), Handler)
    server.routes = {
        ("GET", "/health"): lambda *_: (200, {"status": "ok"}),
        ("GET", "/about"): about(workload, store, served),
        **served.routes,
    }
    server.daemon_threads = True
    # `shutdown` waits for the loop to end, which the main thread runs.
    stop = lambda: threading.Thread(target=server.shutdown, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: stop())
    threading.Thread(target=until_abandoned, args=(stop,), daemon=True).start()
    print(f"listening on http://{host}:{server.server_address[1]}", flush=True)
    server.serve_forever(poll_interval=0.05)


if __name__ == "__main__":
    # Workloads import this file by its name, and are to find the same classes.
    import server

    server.main()
