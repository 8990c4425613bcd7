"""PostgreSQL through asyncpg: a session's settings, what its errors mean, and what is in force."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from typing import Any

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement
from asyncpg.transaction import Transaction

from stackmark_server.database_url import DatabaseUrl
from stackmark_server.problem import Conflict, Defect, InDoubt, Problem, Refused
from stackmark_server.stack import Stack, adapter
from stackmark_server.statements import Statement
from stackmark_server.store import ONE_WRITE, READ, WRITE, Kind, PlainSession, Row, Session, Unreachable, Unusable

CONNECT_S = 10
VERSION_MIN = 130_000
# What a server calls itself, and the isolation in effect, as SQL: the same in all servers.
ITSELF = (
    "current_setting('server_version')"
    " || coalesce(', ' || substring(version() from '^CockroachDB [^ ]* [^ ]*'), '')"
    " || coalesce((select ', Citus ' || extversion from pg_extension where extname = 'citus'), '')"
)
IN_EFFECT = (
    "coalesce(current_setting('yb_effective_transaction_isolation_level', true), current_setting('transaction_isolation'))"
)
# What may change a figure, in the order of reports.
SETTINGS = (
    "shared_buffers",
    "max_connections",
    "max_prepared_transactions",
    "wal_level",
    "wal_sync_method",
    "wal_compression",
    "max_wal_size",
    "checkpoint_timeout",
    "commit_delay",
    "autovacuum",
    "jit",
    "effective_io_concurrency",
    "max_parallel_workers_per_gather",
    "plan_cache_mode",
    "work_mem",
    "huge_pages",
    "track_io_timing",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "synchronous_standby_names",
)


async def connect(url: DatabaseUrl) -> asyncpg.Connection:
    """Connects, in UTC and at the isolation of the URL, and reads both back.

    A server that takes no writes, or is too old, is `Unusable`.
    """
    try:
        connection = await asyncpg.connect(
            host=url.socket or url.host,
            port=url.port,
            user=url.user,
            password=url.password if url.password is not None else "",
            database=url.database,
            ssl=False,
            timeout=CONNECT_S,
            statement_cache_size=0,
            server_settings={"application_name": "stackmark", **session_settings(url)},
        )
    except asyncpg.PostgresError as error:
        raise opening(url, error) from None
    except (TimeoutError, OSError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise Unreachable(f"could not connect to {url.place}: {error or 'no answer in time'}") from None
    try:
        await check(url, connection)
    except BaseException:
        connection.terminate()
        raise
    return connection


def session_settings(url: DatabaseUrl) -> dict[str, str]:
    """Nothing may depend on the defaults of the server, the database or the role."""
    return {
        "TimeZone": "UTC",
        "default_transaction_isolation": url.isolation.replace("-", " "),
        "default_transaction_read_only": "off",
        "default_transaction_deferrable": "off",
        "statement_timeout": str(url.statement_timeout_ms),
        "lock_timeout": "0",
        "idle_in_transaction_session_timeout": "0",
    }


async def check(url: DatabaseUrl, connection: asyncpg.Connection) -> None:
    """Whether the server can be used as the URL says. What a pool between us and it would swallow is read back."""
    # No version before 17 knows the first, and the second is left alone where it names a schema.
    await connection.execute(
        "select set_config(name, '0', false) from pg_settings where name = 'transaction_timeout';"
        " select set_config('search_path', '\"$user\", public', false)"
        " where coalesce(current_schema(), 'pg_catalog') in ('pg_catalog', 'information_schema')"
    )
    row = await connection.fetchrow(
        "select current_setting('server_version_num')::int as version, pg_is_in_recovery() as replica,"
        " current_setting('transaction_read_only') = 'on' as read_only,"
        f" {IN_EFFECT} as isolation, current_setting('TimeZone') as zone"
    )
    if row["version"] < VERSION_MIN:
        raise Unusable(f"{url.place} is older than PostgreSQL {VERSION_MIN // 10_000}, the oldest that is supported")
    if row["replica"] or row["read_only"]:
        raise Unusable(f"{url.place} takes no writes: it is a replica, or read-only")
    if row["isolation"].replace(" ", "-") != url.isolation or row["zone"] != "UTC":
        asked = f"isolation {url.isolation} and UTC"
        raise Unusable(f"{url.place} was asked for {asked}, in force are {row['isolation']} and {row['zone']}")


def opening(url: DatabaseUrl, error: asyncpg.PostgresError) -> Exception:
    """What an error means for somebody who connects. None of them holds a password."""
    state = error.sqlstate or ""
    why = f"could not use {url.place}: {error.message or error} (SQLSTATE {state})"
    return Unreachable(why) if state[:2] in ("08", "53", "57", "58") else Unusable(why)


# SQLSTATEs of attempts that were undone, and may be repeated.
CONFLICTS = {"40001": "serialization", "40000": "serialization", "40P01": "deadlock", "55P03": "busy", "57014": "busy"}
# The server ended the session: shutdown, crash of another process, database dropped, idle too long.
LOST = ("57P01", "57P02", "57P04", "57P05", "25P03", "40003")


def fault(error: Exception, at_commit: bool) -> Problem:
    """What an error means for a call. `at_commit` says whether a commit had been sent: where its answer is lost, nobody knows
    whether it was made. One that the server answers means that nothing was applied.
    """
    if not isinstance(error, asyncpg.PostgresError):
        return lost(at_commit) if is_connection(error) else Defect(f"asyncpg: {error!r}")
    state, message = error.sqlstate or "", error.message or str(error)
    if state in CONFLICTS:
        return Conflict(CONFLICTS[state])
    if state in LOST or state[:2] == "08":
        return lost(at_commit)
    if state in ("53300", "57P03"):
        return Refused("unreachable")
    if state == "25006" or state[:2] == "53":
        return Refused("unwritable", message)
    if state[:2] == "58":
        return InDoubt("commit-unanswered") if at_commit else Refused("unwritable", message)
    return Defect(f"PostgreSQL {state}: {message}")


def is_connection(error: Exception) -> bool:
    """Whether the connection broke, or was found broken."""
    if isinstance(error, asyncpg.InterfaceError):
        return "clos" in str(error)
    # The driver's own confusion comes of an operation that was cut off.
    return isinstance(error, (OSError, asyncio.IncompleteReadError, asyncpg.InternalClientError))


def lost(at_commit: bool) -> InDoubt:
    return InDoubt("commit-unanswered" if at_commit else "connection-lost")


def unreached(problem: Problem) -> Problem:
    """Of a connection that was found gone before anything of the transaction was done: the call was never attempted."""
    return Refused("unreachable") if isinstance(problem, InDoubt) else problem


def is_lost(connection: asyncpg.Connection) -> bool:
    """Whether a connection is known to be gone."""
    return connection.is_closed()


async def connect_for_orm(url: DatabaseUrl) -> asyncpg.Connection:
    return await connect(url)


ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)


class PostgresSession(PlainSession):
    """A connection whose statements are prepared once, or parsed at each call."""

    has_returning = True

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._prepared: dict[str, PreparedStatement] = {}
        self._transaction: Transaction | None = None
        self._commits_itself = False

    @classmethod
    async def open(cls, url: DatabaseUrl, statements: dict[str, Statement]) -> "PostgresSession":
        session = cls(await connect(url))
        try:
            for statement in statements.values():
                session._prepared[statement.name] = await session._connection.prepare(statement.text)
            # The driver prepares without a `Sync` of the protocol, and its snapshot would be in the way of the first `begin`.
            await session._connection.execute("select 1")
        except asyncpg.PostgresError as error:
            session._connection.terminate()
            raise opening(url, error) from None
        except ERRORS as error:
            raise Unreachable(f"could not use {url.place}: {error}") from None
        return session

    async def begin(self, kind: Kind) -> None:
        self._commits_itself = kind is ONE_WRITE
        if kind is READ:
            transaction = self._connection.transaction(isolation="repeatable_read", readonly=True)
        elif kind is WRITE:
            # At the isolation of the session, which is that of the URL.
            transaction = self._connection.transaction()
        else:
            return
        try:
            await transaction.start()
        except ERRORS as error:
            raise unreached(fault(error, at_commit=False)) from error
        self._transaction = transaction

    async def commit(self) -> None:
        transaction, self._transaction = self._transaction, None
        if transaction is not None:
            try:
                await transaction.commit()
            except ERRORS as error:
                raise fault(error, at_commit=True) from error

    async def rollback(self) -> None:
        transaction, self._transaction = self._transaction, None
        if transaction is not None:
            try:
                await transaction.rollback()
            except ERRORS as error:
                raise fault(error, at_commit=False) from error

    async def rows(self, name: str, *params: Any) -> Sequence[Row]:
        try:
            found = await self._prepared[name].fetch(*params)
        except ERRORS as error:
            raise fault(error, self._commits_itself) from error
        self.work.statements += 1
        self.work.rows += len(found)
        return found

    async def change(self, name: str, *params: Any) -> int:
        statement = self._prepared[name]
        try:
            await statement.fetch(*params)
        except ERRORS as error:
            raise fault(error, self._commits_itself) from error
        return self._count(statement.get_statusmsg())

    def _count(self, status: str) -> int:
        """Of `UPDATE 1` and `INSERT 0 1` the number that comes last."""
        changed = int(status.rpartition(" ")[2])
        self.work.statements += 1
        self.work.rows += changed
        return changed

    @staticmethod
    def decimal(cents: int) -> Decimal:
        return Decimal(cents).scaleb(-2)

    @property
    def is_lost(self) -> bool:
        return is_lost(self._connection)

    async def close(self) -> None:
        self._connection.terminate()


class UnpreparedSession(PostgresSession):
    """Nothing is kept prepared: the driver has each statement parsed and described at each call, in a round trip of its own."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        super().__init__(connection)
        self._texts: dict[str, str] = {}

    @classmethod
    async def open(cls, url: DatabaseUrl, statements: dict[str, Statement]) -> "UnpreparedSession":
        session = cls(await connect(url))
        session._texts = {statement.name: statement.text for statement in statements.values()}
        return session

    async def rows(self, name: str, *params: Any) -> Sequence[Row]:
        try:
            found = await self._connection.fetch(self._texts[name], *params)
        except ERRORS as error:
            raise fault(error, self._commits_itself) from error
        self.work.statements += 1
        self.work.rows += len(found)
        return found

    async def change(self, name: str, *params: Any) -> int:
        try:
            status = await self._connection.execute(self._texts[name], *params)
        except ERRORS as error:
            raise fault(error, self._commits_itself) from error
        return self._count(status)


def opener(url: DatabaseUrl, statements: dict[str, Statement], how: str) -> Callable[[], Awaitable[Session]]:
    session = UnpreparedSession if how.endswith("/unprepared") else PostgresSession
    return lambda: session.open(url, statements)


async def read_back(url: DatabaseUrl, how: str) -> tuple[Stack, str]:
    """What is in force, and what the database says of what was loaded into it."""
    connection = await connect(url)
    try:
        names = "', '".join(SETTINGS)
        rows = await connection.fetch(
            f"select name, current_setting(name) from unnest(array['{names}']) as name"
            " where current_setting(name, true) is not null"
        )
        version, isolation, timeout = await connection.fetchrow(
            f"select {ITSELF}, {IN_EFFECT}, (select setting from pg_settings where name = 'statement_timeout')"
        )
        contents = await connection.fetchval("select value from stackmark_load where name = 'contents'")
    except asyncpg.PostgresError as error:
        raise opening(url, error) from None
    finally:
        connection.terminate()
    settings = [(name, value) for name, value in rows]
    prepared = not how.endswith("/unprepared")
    protocol = "extended, prepared, binary" if prepared else "extended, parsed at each call, binary"
    transport = "tcp" if url.socket is None else "unix"
    settings += [("protocol", protocol), ("transport", transport), ("tls", "off"), ("statement_timeout_ms", timeout)]
    stack = Stack(
        engine="postgres",
        engine_version=version,
        **adapter("asyncpg", how),
        isolation=f"{isolation}; repeatable read where only read",
        durability=durability(dict(settings)),
        settings=settings,
    )
    return stack, contents


def durability(settings: dict[str, str]) -> dict[str, str]:
    """What an acknowledged commit survives: PostgreSQL's chapters "Asynchronous Commit" and "Write Ahead Log"."""
    fsync, commit, full, method = (
        settings.get(name, "") for name in ("fsync", "synchronous_commit", "full_page_writes", "wal_sync_method")
    )
    if fsync == "off":
        tier, note = "volatile", "nothing is flushed; a power failure may corrupt the database"
    elif full == "off":
        tier, note = "volatile", "a power failure may leave a torn page that the log cannot repair"
    elif commit == "off":
        tier, note = "delayed", "the log is flushed a moment later; a crash loses the last commits, and no more"
    elif commit in ("on", "local", "remote_write", "remote_apply") and full == "on":
        tier, note = "durable", "every commit is flushed before it is acknowledged"
    else:
        tier, note = "volatile", "settings that this version does not know"
    detail = f"fsync={fsync}, synchronous_commit={commit}, full_page_writes={full}, wal_sync_method={method}: {note}"
    return {"tier": tier, "detail": detail}
