"""A fixed number of connections: who waits longest gets the next free one, and no more than so many may wait.

The drivers' own pools reset a connection when it comes back, which is one more round trip and ends its prepared statements; and
none of them bounds its waiting line.
"""

import asyncio
from collections import deque
from time import perf_counter_ns as now
from typing import Generic, TypeVar

from stackmark_server.problem import Refused

T = TypeVar("T")


class Slot(Generic[T]):
    """A place for a connection: empty after one was lost, and filled by the next call that takes it."""

    __slots__ = ("connection", "since")

    def __init__(self, connection: T | None) -> None:
        self.connection = connection
        # When it was last put back, or made.
        self.since = now()


class Pool(Generic[T]):
    """The slots of one worker."""

    def __init__(self, connections: list[T], waiting_max: int) -> None:
        self.slots = [Slot(connection) for connection in connections]
        self._free = deque(self.slots)
        self._waiting: deque[asyncio.Future[Slot[T]]] = deque()
        self._waiting_max = waiting_max
        self._closed = False

    async def take(self, timeout_s: float) -> Slot[T]:
        """A slot, as soon as one is free.

        Raises `Refused` where too many wait already, and where none was free in time.
        """
        if self._closed:
            raise Refused("shedding")
        if self._free:
            return self._free.pop()
        if len(self._waiting) >= self._waiting_max:
            raise Refused("queue-full")
        handed: asyncio.Future[Slot[T]] = asyncio.get_running_loop().create_future()
        self._waiting.append(handed)
        try:
            async with asyncio.timeout(timeout_s):
                return await handed
        except TimeoutError:
            self._abandon(handed)
            raise Refused("no-session") from None
        except asyncio.CancelledError:
            self._abandon(handed)
            raise

    def give(self, slot: Slot[T]) -> None:
        """Puts a slot back, or hands it to who has waited longest."""
        slot.since = now()
        while self._waiting:
            handed = self._waiting.popleft()
            if not handed.done():
                handed.set_result(slot)
                return
        self._free.append(slot)

    def close(self) -> list[T]:
        """Gives nothing any more; the connections, to be closed."""
        self._closed = True
        for handed in self._waiting:
            if not handed.done():
                handed.set_exception(Refused("shedding"))
        self._waiting.clear()
        return [slot.connection for slot in self.slots if slot.connection is not None]

    def _abandon(self, handed: "asyncio.Future[Slot[T]]") -> None:
        """Leaves the line. A slot that was handed over at the same moment goes to the next."""
        if handed.done() and not handed.cancelled() and handed.exception() is None:
            self.give(handed.result())
        elif handed in self._waiting:
            self._waiting.remove(handed)
