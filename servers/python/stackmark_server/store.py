"""Transactions: a connection of the pool, attempts, a deadline, and what all of it took."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from time import perf_counter_ns as now
from typing import Any, TypeVar

from stackmark_server.pool import Pool
from stackmark_server.problem import Conflict, Decline, InDoubt, Problem, Refused
from stackmark_server.settings import CALL_S
from stackmark_server.work import Work

ATTEMPTS_MAX = 10
# After so long without use a connection may have been closed by the engine, and the event loop may not know yet.
IDLE_NS = 1_000_000_000

T = TypeVar("T")


class Kind(Enum):
    """What a transaction does decides how it begins."""

    ONE_READ = "a single statement that reads, sent by itself"
    ONE_WRITE = "a single statement that writes, sent by itself"
    READ = "statements that see one moment"
    WRITE = "statements that are stored as a whole or not at all"


# Looked up often, and a member of an enum is not found as fast.
ONE_READ, ONE_WRITE, READ, WRITE = Kind

Row = Sequence[Any]


def transaction(kind: Kind) -> Callable[[T], T]:
    """Marks what runs as a transaction: `Store.run` begins it as its kind asks for."""

    def mark(body: T) -> T:
        body.kind = kind  # type: ignore[attr-defined]
        return body

    return mark


class RollBack(Exception):
    """Raised by a body: its transaction is undone, and its outcome is this all the same."""

    def __init__(self, outcome: Any) -> None:
        super().__init__()
        self.outcome = outcome


class Session(ABC):
    """A connection as transactions use it. Faults of the driver become those of `problem`."""

    work: Work
    """Of the call at hand; whoever uses the session sets it."""

    @abstractmethod
    async def begin(self, kind: Kind) -> None: ...

    @abstractmethod
    async def commit(self) -> None: ...

    @abstractmethod
    async def rollback(self) -> None: ...

    def translated(self, error: BaseException) -> BaseException:
        """What an error of a body means, where the body uses something that has errors of its own."""
        return error

    @property
    @abstractmethod
    def is_lost(self) -> bool:
        """Whether the connection is known to be gone."""

    @abstractmethod
    async def close(self) -> None: ...


class PlainSession(Session):
    """A connection with a workload's statements."""

    has_returning: bool
    """Whether an update can give back rows."""

    @abstractmethod
    async def rows(self, name: str, *params: Any) -> Sequence[Row]:
        """The rows of a statement."""

    @abstractmethod
    async def change(self, name: str, *params: Any) -> int:
        """How many rows a statement has changed."""

    @staticmethod
    @abstractmethod
    def decimal(cents: int) -> Any:
        """An amount as the driver sends it exactly."""


class Unreachable(Exception):
    """The engine lets nobody in now; trying again later may help."""


class Unusable(Exception):
    """The engine cannot be used as it is; the message says why."""


Opener = Callable[[], Awaitable[Session]]


class Store:
    """The loaded database, as one worker reaches it."""

    def __init__(self, pool: Pool[Session], opener: Opener, say: Callable[[str], None]) -> None:
        self._pool, self._open, self._say = pool, opener, say

    async def run(self, work: Work, body: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Runs a transaction: `body` gets a session and `args`. A `Decline` that it raises rolls back."""
        work.started = now()
        kind: Kind = body.kind  # type: ignore[attr-defined]
        try:
            try:
                slot = await self._pool.take(CALL_S)
            finally:
                work.pool += now() - work.started
            try:
                async with asyncio.timeout(CALL_S - work.pool / 1e9):
                    # Out of its slot while it runs: a call that is cut off takes the connection with it.
                    session, slot.connection = slot.connection, None
                    if now() - slot.since > IDLE_NS:
                        await catch_up()
                    if session is None or session.is_lost:
                        was_closed = session is not None
                        session = await self._reopened()
                        work.reconnects += was_closed
                    session.work = work
                    try:
                        return await self._attempts(session, work, kind, body, args)
                    finally:
                        if not session.is_lost:
                            slot.connection = session
            except TimeoutError:
                raise InDoubt("deadline") from None
            finally:
                self._pool.give(slot)
        finally:
            work.ended = now()

    async def close(self) -> None:
        for session in self._pool.close():
            await session.close()

    async def _reopened(self) -> Session:
        try:
            return await self._open()
        except Unreachable as error:
            self._say(str(error))
            raise Refused("unreachable") from None
        except Unusable as error:
            self._say(str(error))
            raise Refused("no-session") from None

    async def _attempts(
        self, session: Session, work: Work, kind: Kind, body: Callable[..., Awaitable[T]], args: tuple[Any, ...]
    ) -> T:
        for _ in range(ATTEMPTS_MAX - 1):
            try:
                return await attempt(session, work, kind, body, args)
            except Conflict:
                # Nothing of it was applied. There is no pause: engines that lock have made the caller wait already.
                continue
        return await attempt(session, work, kind, body, args)


async def catch_up() -> None:
    """Lets the event loop read what has come over all connections.

    It takes a turn to find that something has come, one to read it, and one to say that a connection is closed; the turn that
    runs now counts for nothing.
    """
    for _ in range(4):
        await asyncio.sleep(0)


async def attempt(session: Session, work: Work, kind: Kind, body: Callable[..., Awaitable[T]], args: tuple[Any, ...]) -> T:
    """Runs a transaction once. What may be in the middle of something is closed."""
    work.attempts += 1
    asked = now()
    try:
        await session.begin(kind)
        begun = now()
        work.begin += begun - asked
        try:
            outcome = await body(session, *args)
        except BaseException as error:
            ended = now()
            work.query += ended - begun
            problem = session.translated(error)
            await undo(session, problem)
            work.commit += now() - ended
            if problem is error:
                raise
            raise problem from error
        ended = now()
        work.query += ended - begun
        try:
            await session.commit()
        finally:
            work.commit += now() - ended
    except RollBack as undone:
        return undone.outcome
    except (Decline, Conflict):
        raise
    except Refused as refused:
        if refused.reason == "unreachable":
            await session.close()
        raise
    except BaseException:
        await session.close()
        raise
    work.commits += 1
    return outcome


async def undo(session: Session, problem: BaseException) -> None:
    """Rolls back. After a fault that says more than one of the roll-back that follows it."""
    if isinstance(problem, asyncio.CancelledError):
        return
    try:
        await session.rollback()
    except Problem:
        if isinstance(problem, (Decline, RollBack)):
            raise
        await session.close()
