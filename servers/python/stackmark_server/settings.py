"""What a server is told by its environment: docs/servers.md."""

import os
from dataclasses import dataclass

from stackmark_server import database_url
from stackmark_server.database_url import BadUrl, DatabaseUrl

WORKLOADS = ("catalogue", "tpcc")
# What `how` may be, by engine and workload; the first is that of a server without one.
HOWS = {
    ("postgres", "catalogue"): ("asyncpg", "asyncpg/unprepared", "sqlalchemy/orm"),
    ("postgres", "tpcc"): ("asyncpg", "asyncpg/unprepared"),
    ("mariadb", "catalogue"): ("asyncmy", "sqlalchemy/orm"),
    ("mariadb", "tpcc"): ("asyncmy",),
}
POOL_MAX, WORKERS_MAX = 4_096, 64

BODY_BYTES_MAX = 65_536
CONNECTIONS_MAX = 4_096
QUEUED_MAX = 4_096
HEAD_READ_S = 10
BODY_READ_S = 10
IDLE_S = 300
CALL_S = 60
DRAIN_S = 10


class BadSettings(ValueError):
    """The environment asks for what cannot be; the message says what."""


@dataclass(frozen=True)
class Settings:
    """All that a server is told."""

    workload: str
    how: str
    database: DatabaseUrl
    pool: int
    """Connections to the engine, over all workers."""
    workers: int
    """Processes."""
    workers_asked: int
    host: str
    port: int

    def connections_of(self, worker: int) -> int:
        """A worker's share of the pool: 8 over 3 is 3, 3 and 2."""
        each, more = divmod(self.pool, self.workers)
        return each + (worker < more)

    def share(self, limit: int) -> int:
        """A worker's share of a limit of the whole server."""
        return -(-limit // self.workers)

    def limits(self) -> dict[str, int]:
        """As `/about` shows them."""
        second = 1_000_000_000
        return {
            "body_bytes_max": BODY_BYTES_MAX,
            "connections_max": CONNECTIONS_MAX,
            "queued_max": QUEUED_MAX,
            "head_read_ns_max": HEAD_READ_S * second,
            "body_read_ns_max": BODY_READ_S * second,
            "idle_ns_max": IDLE_S * second,
            "call_ns_max": CALL_S * second,
            "drain_ns_max": DRAIN_S * second,
            "connections-per-worker": self.connections_of(0),
        }


def from_environment() -> Settings:
    """Reads and checks all of it.

    A pool of fewer connections than workers makes as many workers as there are connections: one without could answer nothing.
    """
    try:
        database = database_url.from_environment()
    except BadUrl as error:
        raise BadSettings(str(error)) from None
    workload = needed("STACKMARK_WORKLOAD", "the workload")
    if workload not in WORKLOADS:
        raise BadSettings(f"STACKMARK_WORKLOAD is `{workload}`; this server has {' and '.join(WORKLOADS)}")
    hows = HOWS[database.engine, workload]
    how = os.environ.get("STACKMARK_ADAPTER") or hows[0]
    if how not in hows:
        raise BadSettings(f"STACKMARK_ADAPTER is `{how}`; {workload} on {database.engine} has {', '.join(hows)}")
    pool = whole("STACKMARK_POOL", "connections to the engine", POOL_MAX)
    workers = whole("STACKMARK_THREADS", "processes that speak HTTP", WORKERS_MAX)
    host, port = listen(needed("STACKMARK_LISTEN", "where to listen"))
    return Settings(workload, how, database, pool, min(workers, pool), workers, host, port)


def needed(name: str, what: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise BadSettings(f"{name} is missing: {what}")
    return value


def whole(name: str, what: str, most: int) -> int:
    text = needed(name, what)
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text[:9]) <= most:
        raise BadSettings(f"{name} is `{text}`; it is a number of {what}, 1 to {most}")
    return int(text)


def listen(text: str) -> tuple[str, int]:
    """`127.0.0.1:0` and `[::1]:0`."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port[:6]) > 65_535:
        raise BadSettings(f"STACKMARK_LISTEN is `{text}`; it is an address and a port, such as 127.0.0.1:0")
    return host, int(port)
