"""Sessions of SQLAlchemy's ORM over either driver."""

from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine

from stackmark_server.database_url import DatabaseUrl
from stackmark_server.problem import InDoubt, Problem, Refused
from stackmark_server.store import READ, Kind, Session, Unreachable, Unusable

DIALECTS = {"postgres": "postgresql+asyncpg://", "mariadb": "mysql+asyncmy://"}
# Reads see one moment. MariaDB's transactions do so at their own level, or at the one that the URL asks for.
READS: dict[str, dict[str, Any]] = {
    "postgres": {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
    "mariadb": {},
}


def engine_of(url: DatabaseUrl, driver: ModuleType, connections: int) -> AsyncEngine:
    """An engine with as many connections as a worker has, opened as those of the plain sessions are."""
    engine = create_async_engine(
        DIALECTS[url.engine],
        async_creator=lambda *_, **__: driver.connect_for_orm(url),
        pool_size=connections,
        max_overflow=0,
        # A session has always committed or rolled back; to roll back once more would be a round trip for nothing.
        pool_reset_on_return=None,
    )

    @event.listens_for(engine.sync_engine, "checkout")
    def check(connection: Any, _record: Any, _proxy: Any) -> None:
        """One that is known to be gone is replaced before anything is sent on it."""
        if driver.is_lost(connection.driver_connection):
            raise DisconnectionError

    @event.listens_for(engine.sync_engine, "after_cursor_execute")
    def count(connection: Any, cursor: Any, *_: Any) -> None:
        work = connection.info.get("work")
        if work is not None:
            work.statements += 1
            work.rows += max(cursor.rowcount, 0)

    return engine


class OrmSession(Session):
    """A place for a session of the ORM: each transaction has one of its own, and a connection of the engine's pool."""

    def __init__(self, url: DatabaseUrl, driver: ModuleType, sessions: async_sessionmaker[AsyncSession]) -> None:
        self._driver, self._sessions = driver, sessions
        self._reads = READS[url.engine]
        self.orm = sessions()

    async def begin(self, kind: Kind) -> None:
        self.orm = self._sessions()
        try:
            connection = await self.orm.connection(execution_options=self._reads if kind is READ else {})
        except (Unreachable, PoolTimeoutError):
            raise Refused("unreachable") from None
        except Unusable:
            raise Refused("no-session") from None
        except DBAPIError as error:
            problem = self.fault(error, at_commit=False)
            raise (Refused("unreachable") if isinstance(problem, InDoubt) else problem) from error
        connection.sync_connection.info["work"] = self.work  # type: ignore[union-attr]

    async def commit(self) -> None:
        try:
            await self.orm.commit()
        except DBAPIError as error:
            raise self.fault(error, at_commit=True) from error
        finally:
            await self.orm.close()

    async def rollback(self) -> None:
        try:
            await self.orm.rollback()
        except DBAPIError as error:
            raise self.fault(error, at_commit=False) from error
        finally:
            await self.orm.close()

    def fault(self, error: Exception, at_commit: bool) -> Problem:
        """What the driver's own error means, which SQLAlchemy has wrapped."""
        inner = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        while inner.__cause__ is not None:
            inner = inner.__cause__  # type: ignore[assignment]
        return self._driver.fault(inner, at_commit)

    def translated(self, error: BaseException) -> BaseException:
        return self.fault(error, at_commit=False) if isinstance(error, DBAPIError) else error

    @property
    def is_lost(self) -> bool:
        # The engine's pool looks after the connections.
        return False

    async def close(self) -> None:
        await self.orm.invalidate()


async def opener_of(url: DatabaseUrl, driver: ModuleType, connections: int) -> Callable[[], Awaitable[Session]]:
    """Opens all connections of a worker, and then gives places for sessions on them."""
    engine = engine_of(url, driver, connections)
    opened = [await engine.connect() for _ in range(connections)]
    for connection in opened:
        await connection.close()
    sessions = async_sessionmaker(engine, expire_on_commit=False)

    async def open_session() -> Session:
        return OrmSession(url, driver, sessions)

    return open_session
