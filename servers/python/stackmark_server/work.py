"""What a call took: the footnotes of its answer."""

from time import perf_counter_ns as now

TIMING = "queue;dur=0.000000, pool;dur=%.6f, begin;dur=%.6f, query;dur=%.6f, commit;dur=%.6f, encode;dur=%.6f, total;dur=%.6f"
WORK = "attempts=%d, statements=%d, rows=%d, commits=%d"


class Work:
    """Counts and times of one call, summed over its attempts; times are nanoseconds.

    What is neither waiting nor the engine's is `encode`: reading the call and writing the answer.
    """

    __slots__ = (
        "attempts",
        "begin",
        "begun",
        "commit",
        "commits",
        "ended",
        "pool",
        "query",
        "reconnects",
        "rows",
        "started",
        "statements",
    )

    def __init__(self) -> None:
        self.begun = now()
        self.started = self.ended = 0
        self.attempts = self.statements = self.rows = self.commits = 0
        self.reconnects = 0
        """Connections that were opened again because they had been closed between calls."""
        self.pool = self.begin = self.query = self.commit = 0

    def headers(self) -> list[tuple[bytes, bytes]]:
        """As an answer carries them. To be called last of all."""
        total = now() - self.begun
        encode = total - (self.ended - self.started)
        timing = TIMING % (
            self.pool / 1e6,
            self.begin / 1e6,
            self.query / 1e6,
            self.commit / 1e6,
            encode / 1e6,
            total / 1e6,
        )
        work = WORK % (self.attempts, self.statements, self.rows, self.commits)
        if self.reconnects:
            work += f", reconnects={self.reconnects}"
        return [(b"server-timing", timing.encode()), (b"stackmark-work", work.encode())]
