"""MariaDB through asyncmy: a session's settings, what its errors mean, and what is in force."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncmy
from asyncmy import errors
from asyncmy.constants.CLIENT import FOUND_ROWS
from asyncmy.cursors import Cursor

from stackmark_server.database_url import DatabaseUrl
from stackmark_server.problem import Conflict, Defect, InDoubt, Problem, Refused
from stackmark_server.stack import Stack, adapter
from stackmark_server.statements import Statement
from stackmark_server.store import ONE_WRITE, READ, WRITE, Kind, PlainSession, Row, Session, Unreachable, Unusable

CONNECT_S = 10
# Of the ORM; those of the plain sessions are kept by us.
KEPT_STATEMENTS = 256
VERSION_MIN = (10, 6)
# What our sessions say of values that do not fit: no.
SQL_MODE = "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
# What may change a figure, in the order of reports.
SETTINGS = (
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_log_buffer_size",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_doublewrite",
    "innodb_io_capacity",
    "innodb_lock_wait_timeout",
    "innodb_snapshot_isolation",
    "innodb_page_size",
    "max_connections",
    "thread_handling",
    "log_bin",
    "sync_binlog",
    "max_statement_time",
    "performance_schema",
    "sql_mode",
)
OTHERS = ("innodb_flush_log_at_timeout", "tx_isolation", "version", "read_only", "innodb_read_only")

ERRORS = (errors.Error, OSError, asyncio.IncompleteReadError)


async def connect(url: DatabaseUrl, *, autocommit: bool = True, kept_statements: int = 0) -> asyncmy.Connection:
    """Connects, puts the session's settings in force and reads them back. An update counts the rows that it found, also those
    that it left as they were."""
    connection = asyncmy.Connection(
        host=url.host,
        port=url.port,
        unix_socket=url.socket,
        user=url.user,
        password=url.password or "",
        database=url.database,
        charset="utf8mb4",
        autocommit=autocommit,
        stmt_cache_size=kept_statements,
        client_flag=FOUND_ROWS,
        connect_timeout=CONNECT_S,
        program_name="stackmark",
    )
    try:
        async with asyncio.timeout(CONNECT_S):
            await connection.connect()
            await set_session(url, connection, autocommit)
    except (errors.Error, OSError, asyncio.IncompleteReadError) as error:
        connection.close()
        raise opening(url, error) from None
    except TimeoutError:
        connection.close()
        raise Unreachable(f"could not connect to {url.place}: no answer in time") from None
    except Unusable:
        connection.close()
        raise
    return connection


async def set_session(url: DatabaseUrl, connection: asyncmy.Connection, autocommit: bool) -> None:
    # Nothing may depend on the defaults of the server.
    settings = (
        f"time_zone = '+00:00', sql_mode = '{SQL_MODE}', autocommit = {autocommit:d}, completion_type = 'NO_CHAIN', "
        "character_set_client = utf8mb4, character_set_results = utf8mb4, collation_connection = utf8mb4_general_ci, "
        "sql_select_limit = 18446744073709551615, sql_big_selects = 1, sql_safe_updates = 0, sql_auto_is_null = 0, "
        "foreign_key_checks = 1, unique_checks = 1, "
        f"max_statement_time = {url.statement_timeout_ms / 1000:.3f}"
    )
    level = url.isolation.replace("-", " ")
    await connection.query(f"set {settings}")
    await connection.query(f"set session transaction isolation level {level}, read write")
    cursor = connection.cursor()
    await cursor.execute("select version(), @@tx_isolation, @@sql_mode")
    version, isolation, mode = await cursor.fetchone()
    if "mariadb" not in version.lower() or tuple(map(int, version.split(".")[:2])) < VERSION_MIN:
        raise Unusable(f"{url.place} is {version}; MariaDB 10.6 or newer is needed")
    if isolation.lower() != url.isolation or "STRICT_ALL_TABLES" not in mode:
        asked = f"isolation {url.isolation} and strict mode"
        raise Unusable(f"{url.place} was asked for {asked}, in force are {isolation} and sql_mode `{mode}`")


# Too many connections, and a server that goes.
FULL = (1040, 1203, 1226)
GOING = (1053, 1927)


def opening(url: DatabaseUrl, error: Exception) -> Exception:
    """What an error means for somebody who connects. None of them holds a password."""
    code, message = told(error)
    why = f"could not use {url.place}: {message}"
    if code is None or code in FULL or code in GOING or 2000 <= code < 3000:
        return Unreachable(why)
    return Unusable(f"{why} ({code})")


def told(error: Exception) -> tuple[int | None, str]:
    """The number of an error and what it says."""
    if isinstance(error, errors.Error) and error.args and isinstance(error.args[0], int):
        return error.args[0], str(error.args[1]) if len(error.args) > 1 else ""
    return None, str(error) or type(error).__name__


# The row has changed since the snapshot; the engine has rolled back; a lock was waited for too long.
CONFLICTS = {1213: "deadlock", 1614: "deadlock", 1020: "serialization", 1205: "busy", 3572: "busy", 1206: "busy"}
# The server ended the statement; at a commit nobody knows what became of it.
INTERRUPTED = (1317, 1969, 3024)
LOST = (2006, 2013, 2014, 2055, 1152, 1158, 1159, 1160, 1161, 1184, 4031, *GOING)
UNWRITABLE = (1290, 1792, 1036, 1836, 1874, 1021, 1114, 1878)
# They name the system's error.
SYSTEM = (1004, 1026, 1030)


def fault(error: Exception, at_commit: bool) -> Problem:
    """What an error means for a call. `at_commit` says whether the engine may have been committing."""
    code, message = told(error)
    if code is None or code == 0:
        return lost(at_commit) if not isinstance(error, errors.Error) or code == 0 else Defect(f"asyncmy: {message}")
    if code in CONFLICTS:
        return Conflict(CONFLICTS[code])
    if code in FULL:
        return Refused("no-session")
    if at_commit and (code in INTERRUPTED or code in GOING or code == 1180):
        return InDoubt("commit-unanswered")
    if code in INTERRUPTED:
        return Conflict("busy")
    if code in LOST:
        return lost(at_commit)
    if code in UNWRITABLE or (code in SYSTEM and ("No space left" in message or "error 28" in message)):
        return Refused("unwritable", message)
    return Defect(f"MariaDB {code}: {message}")


def lost(at_commit: bool) -> InDoubt:
    return InDoubt("commit-unanswered" if at_commit else "connection-lost")


def is_lost(connection: asyncmy.Connection) -> bool:
    """Whether a connection is known to be gone."""
    return not connection.connected or connection._stream_broken


async def connect_for_orm(url: DatabaseUrl) -> asyncmy.Connection:
    """As SQLAlchemy expects it: a transaction begins with its first statement. The driver keeps what it is sent prepared."""
    return await connect(url, autocommit=False, kept_statements=KEPT_STATEMENTS)


class MariaDbSession(PlainSession):
    """A connection whose statements are prepared; parameters and rows travel in binary form."""

    has_returning = False

    def __init__(self, connection: asyncmy.Connection) -> None:
        self._connection = connection
        self._prepared: dict[str, tuple[Any, Callable[..., tuple[Any, ...]] | None]] = {}
        self._begun = self._commits_itself = False

    @classmethod
    async def open(cls, url: DatabaseUrl, statements: dict[str, Statement]) -> "MariaDbSession":
        session = cls(await connect(url))
        try:
            for statement in statements.values():
                prepared = await session._connection.prepare(statement.text)
                session._prepared[statement.name] = (prepared, statement.arranger())
        except ERRORS as error:
            session._connection.close()
            raise opening(url, error) from None
        return session

    async def begin(self, kind: Kind) -> None:
        self._commits_itself = kind is ONE_WRITE
        if kind is READ:
            text = "start transaction read only"
        elif kind is WRITE:
            text = "start transaction"
        else:
            return
        self._begun = True
        try:
            await self._connection.query(text)
        except ERRORS as error:
            # Without a transaction nothing of the call has reached the tables, whatever happened to the connection.
            problem = fault(error, at_commit=False)
            raise (Refused("unreachable") if isinstance(problem, InDoubt) else problem) from error

    async def commit(self) -> None:
        if self._begun:
            self._begun = False
            await self._control("commit", at_commit=True)

    async def rollback(self) -> None:
        if self._begun:
            self._begun = False
            await self._control("rollback", at_commit=False)

    async def _control(self, text: str, at_commit: bool) -> None:
        try:
            await self._connection.query(text)
        except ERRORS as error:
            raise fault(error, at_commit) from error

    async def rows(self, name: str, *params: Any) -> Sequence[Row]:
        found: Sequence[Row] = (await self._run(name, params)).rows
        self.work.statements += 1
        self.work.rows += len(found)
        return found

    async def change(self, name: str, *params: Any) -> int:
        changed: int = (await self._run(name, params)).affected_rows
        self.work.statements += 1
        self.work.rows += changed
        return changed

    async def _run(self, name: str, params: tuple[Any, ...]) -> Any:
        prepared, arrange = self._prepared[name]
        try:
            return await prepared.execute(params if arrange is None else arrange(params))
        except ERRORS as error:
            raise fault(error, self._commits_itself) from error

    @staticmethod
    def decimal(cents: int) -> str:
        """As text, which the server takes exactly."""
        sign, (units, rest) = "-" if cents < 0 else "", divmod(abs(cents), 100)
        return f"{sign}{units}.{rest:02}"

    @property
    def is_lost(self) -> bool:
        return is_lost(self._connection)

    async def close(self) -> None:
        self._connection.close()


def opener(url: DatabaseUrl, statements: dict[str, Statement], how: str) -> Callable[[], Awaitable[Session]]:
    return lambda: MariaDbSession.open(url, statements)


async def read_back(url: DatabaseUrl, how: str) -> tuple[Stack, str]:
    """What is in force, and what the database says of what was loaded into it."""
    connection = await connect(url)
    names = ", ".join(f"'{name}'" for name in (*SETTINGS, *OTHERS))
    try:
        cursor: Cursor = connection.cursor()
        await cursor.execute(f"show session variables where variable_name in ({names})")
        found = {name.lower(): value for name, value in await cursor.fetchall()}
        await cursor.execute("select value from stackmark_load where name = 'contents'")
        [contents] = await cursor.fetchone()
    except ERRORS as error:
        raise opening(url, error) from None
    finally:
        connection.close()
    if "ON" in (found.get("read_only"), found.get("innodb_read_only")):
        raise Unusable(f"{url.place} takes no writes: it is a replica, or set so")
    settings = [(name, found[name]) for name in SETTINGS if name in found]
    transport = "TCP" if url.socket is None else "unix socket"
    settings += [("transport", transport), ("protocol", "prepared, binary")]
    stack = Stack(
        engine="mariadb",
        engine_version=found["version"],
        **adapter("asyncmy", how),
        isolation=found["tx_isolation"].lower(),
        durability=durability(found),
        settings=settings,
    )
    return stack, contents


def durability(found: dict[str, str]) -> dict[str, str]:
    """What an acknowledged commit survives: MariaDB's documentation of the system variables, and of group commit."""
    at_commit = found.get("innodb_flush_log_at_trx_commit", "")
    every = found.get("innodb_flush_log_at_timeout", "0")
    logs, sync = found.get("log_bin", "").upper() in ("ON", "1"), found.get("sync_binlog", "0")
    doublewrite, method = (found.get(name, "").upper() for name in ("innodb_doublewrite", "innodb_flush_method"))
    if method in ("NOSYNC", "LITTLESYNC"):
        tier, note = "volatile", "files are not flushed; a power failure may corrupt the database"
    elif doublewrite in ("OFF", "0", "FALSE"):
        tier = "volatile"
        note = (
            "there is no doublewrite buffer; a power failure may tear a page beyond repair, unless the disk writes pages as"
            " a whole"
        )
    elif at_commit in ("1", "3") and logs and sync != "1":
        tier = "delayed"
        note = "the binary log, which recovery follows, is not flushed at each commit; a power failure loses the last ones"
    elif at_commit in ("1", "3"):
        tier, note = "durable", "every commit is flushed before it is acknowledged"
    elif at_commit == "2":
        tier = "delayed"
        note = f"the log is written at each commit and flushed every {every} s; a power failure loses what came between"
    elif at_commit == "0":
        tier = "delayed"
        note = f"the log is written and flushed every {every} s; a crash of the server alone loses what came between"
    else:
        tier, note = "volatile", "a value that this version does not know"
    log = f"sync_binlog={sync}" if logs else "log_bin=off"
    detail = (
        f"innodb_flush_log_at_trx_commit={at_commit}, {log}, innodb_doublewrite={doublewrite},"
        f" innodb_flush_method={method}: {note}"
    )
    return {"tier": tier, "detail": detail}
