"""`postgres://USER@HOST:PORT/DATABASE?…` and `mysql://…`, with the options that Stackmark knows."""

import os
from dataclasses import dataclass, field
from typing import Literal, get_args
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

Isolation = Literal["read-committed", "repeatable-read", "serializable"]
Engine = Literal["postgres", "mariadb"]

SCHEMES: dict[str, Engine] = {
    "postgres": "postgres",
    "postgresql": "postgres",
    "mysql": "mariadb",
    "mariadb": "mariadb",
}
PORTS: dict[Engine, int] = {"postgres": 5432, "mariadb": 3306}
ISOLATION: dict[Engine, Isolation] = {"postgres": "read-committed", "mariadb": "repeatable-read"}
NEAR = ("localhost", "127.0.0.1", "::1")
ENCRYPTING = ("prefer", "preferred", "require", "required", "verify-ca", "verify-identity", "verify-full")
TIMEOUT_MS_MAX = 2**31 - 1


class BadUrl(ValueError):
    """A URL that cannot be used, and why; never with a password in it."""


@dataclass(frozen=True)
class DatabaseUrl:
    """A database on a server."""

    engine: Engine
    host: str
    port: int
    user: str
    database: str
    isolation: Isolation
    socket: str | None = None
    """PostgreSQL: the folder of the unix socket. MariaDB: the socket itself."""
    statement_timeout_ms: int = 0
    """0 leaves the server's."""
    password: str | None = field(default=None, repr=False)

    @property
    def place(self) -> str:
        """Where the server is, for messages."""
        if self.socket is not None:
            return self.socket
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse(text: str, password: str | None = None) -> DatabaseUrl:
    """Reads a URL. A password beside it goes before one in it."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise BadUrl("the database's URL has a host or a port that is none") from None
    engine = SCHEMES.get(parts.scheme)
    if engine is None:
        raise BadUrl("the database's URL does not begin with `postgres://` or `mysql://`")
    options = Options(engine, parts)
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        options.take(name, value)
    host, database = unquote(parts.hostname or ""), unquote(parts.path.removeprefix("/"))
    if engine == "postgres" and host.startswith("/"):
        options.socket, host = host, ""
    if not options.user or not database:
        missing = "database" if options.user else "user"
        raise BadUrl(f"the {missing} is missing in the database's URL; for example `{parts.scheme}://user@127.0.0.1/tpcc`")
    if options.encrypts is None and options.socket is None and (host or "localhost") not in NEAR:
        raise BadUrl("this server does not encrypt its connections to the database; say `sslmode=disable` in its URL")
    return DatabaseUrl(
        engine=engine,
        host=host or "localhost",
        port=options.port or port or PORTS[engine],
        user=options.user,
        database=database,
        isolation=options.isolation,
        socket=options.socket,
        statement_timeout_ms=options.statement_timeout_ms,
        password=password if password is not None else options.password,
    )


class Options:
    """What stands behind the `?`, and what it goes before."""

    def __init__(self, engine: Engine, parts: SplitResult) -> None:
        self.engine = engine
        self.isolation = ISOLATION[engine]
        self.socket: str | None = None
        self.statement_timeout_ms = 0
        self.user = unquote(parts.username or "")
        self.password = unquote(parts.password) if parts.password is not None else None
        self.port: int | None = None
        self.encrypts: bool | None = None

    def take(self, name: str, value: str) -> None:
        match name:
            case "sslmode" | "ssl-mode":
                self.take_encryption(name, value.lower().replace("_", "-"))
            case "isolation":
                level = value.lower().replace("_", "-").replace(" ", "-")
                if level not in get_args(Isolation):
                    raise BadUrl(f"isolation is one of {', '.join(get_args(Isolation))}, not `{value}`")
                self.isolation = level  # type: ignore[assignment]
            case "statement_timeout_ms":
                self.statement_timeout_ms = number(name, value, 0, TIMEOUT_MS_MAX)
            case "host" if self.engine == "postgres" and value.startswith("/"):
                self.socket = value
            case "socket" if self.engine == "mariadb":
                self.socket = value
            case "user":
                self.user = value
            case "password":
                self.password = value
            case "port":
                self.port = number(name, value, 1, 65_535)
            case _:
                socket = "host=/FOLDER" if self.engine == "postgres" else "socket=/FILE"
                raise BadUrl(
                    f"no option `{name}`; there are sslmode, isolation, statement_timeout_ms and, for a unix socket, {socket}"
                )

    def take_encryption(self, name: str, mode: str) -> None:
        if mode in ENCRYPTING:
            raise BadUrl(f"{name} is `{mode}`, and this server does not encrypt its connections to the database")
        if mode not in ("disable", "disabled"):
            raise BadUrl(f"{name} is disable here, not `{mode}`")
        self.encrypts = False


def number(name: str, value: str, least: int, most: int) -> int:
    if not (value.isascii() and value.isdigit()) or not least <= int(value[:12]) <= most:
        raise BadUrl(f"{name} is a whole number of {least} to {most}, not `{value}`")
    return int(value)


def from_environment() -> DatabaseUrl:
    """The database of the contract's environment."""
    text = os.environ.get("STACKMARK_DB")
    if not text:
        raise BadUrl("STACKMARK_DB is missing: the URL of the database")
    return parse(text, os.environ.get("STACKMARK_DB_PASSWORD"))
