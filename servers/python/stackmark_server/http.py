"""HTTP/1.1 as uvicorn speaks it, and what the contract asks beyond that.

One host a request, limits on heads and connections, and problem documents for what is no request at all.
"""

import asyncio
import re
import socket
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from stackmark_server.problem import Problem, Refused, malformed
from stackmark_server.settings import HEAD_READ_S, IDLE_S

if TYPE_CHECKING:
    from uvicorn.server import ServerState

HEAD_BYTES_MAX = 32_768
HEADERS_MAX = 64
# How often connections are looked at: limits are kept to within this.
LOOK_S = 0.5
# For a client to read a refusal before its connection goes.
LINGER_S = 1.0
# For a worker with fewer connections to take one; and after there were no file descriptors.
YIELD_S, PAUSE_S = 0.01, 0.05
# RFC 3986 3.2.2 and 3.2.3: names, numbers, IPv6 in brackets, and a port behind a colon.
HOST = re.compile(rb"[A-Za-z0-9\-._~%!$&'()*+,;=:\[\]]*")

BROKEN = malformed("the request is not HTTP/1.1, or its framing is broken", title="malformed request", close=True)
BAD_HOST = malformed(
    "the request must have one host header with a host, and a port if it has one (RFC 9112 3.2)",
    title="malformed request",
    close=True,
)
LONG_HEAD = malformed(
    f"the head of the request is over {HEAD_BYTES_MAX} bytes or {HEADERS_MAX} lines", title="malformed request", close=True
)
NO_ROOM = Refused("shedding")
NO_ROOM.close = True


class Rejected(Exception):
    """Ends the reading of a request."""


class ContractProtocol(HttpToolsProtocol):
    """One client's connection."""

    connections_max = 1 << 30
    """Of a worker; set before it serves."""
    counts: "memoryview[int]" = memoryview(bytearray(4)).cast("I")
    """Connections of each worker, which all of them see."""
    worker = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.opened = time.monotonic()
        self.head_since = 0.0
        self.head_bytes = 0
        self.in_message = False
        self.hosts: list[bytes] = []
        self.rejection = BROKEN
        self.ended = False
        self.lingering: asyncio.TimerHandle | None = None
        if len(self.connections) > self.connections_max:
            self.refuse(NO_ROOM)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        # uvicorn leaves its timer to run where a connection was reset, and all of the connection's memory with it.
        self._unset_keepalive_if_required()
        if self.lingering is not None:
            self.lingering.cancel()
        self.counts[self.worker] -= 1

    def data_received(self, data: bytes) -> None:
        if self.ended:
            return
        # What is left of a body that nobody waits for any more is no head.
        if self.head_since == 0.0 and not self.in_message and (self.cycle is None or self.cycle.response_complete):
            self.head_since = time.monotonic()
            self.head_bytes = 0
        super().data_received(data)
        if self.head_since:
            self.head_bytes += len(data)
            if self.head_bytes > HEAD_BYTES_MAX and not self.ended:
                self.refuse(LONG_HEAD)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.in_message = True
        self.hosts = []

    def on_message_complete(self) -> None:
        self.in_message = False
        super().on_message_complete()

    def on_header(self, name: bytes, value: bytes) -> None:
        # Blanks behind a value are none of it (RFC 9110 5.5); the parser leaves them on.
        value = value.rstrip(b" \t")
        super().on_header(name, value)
        if self.headers[-1][0] == b"host":
            self.hosts.append(value)
        elif len(self.headers) > HEADERS_MAX:
            self.rejection = LONG_HEAD
            raise Rejected

    def on_headers_complete(self) -> None:
        self.head_since = 0.0
        if not self.names_its_host():
            self.rejection = BAD_HOST
            raise Rejected
        super().on_headers_complete()
        if self.parser.should_upgrade():
            # Nothing here speaks another protocol: what follows such a head would not be read as a request.
            self.cycle.keep_alive = False

    def names_its_host(self) -> bool:
        """One `host` of characters that a host and a port may have; HTTP/1.0 asks for none."""
        if len(self.hosts) == 1:
            return HOST.fullmatch(self.hosts[0]) is not None
        return not self.hosts and self.parser.get_http_version() == "1.0"

    def send_400_response(self, msg: str) -> None:
        # What breaks off a body that is being waited for has no answer of its own.
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        self.refuse(self.rejection)

    def refuse(self, problem: Problem) -> None:
        """Answers without a call, and closes as soon as the client has had time to read it.

        A connection that is closed with bytes of the client's still unread would be reset, and the answer with it.
        """
        self.ended = True
        document = problem.document()
        head = [
            STATUS_LINE[problem.status],
            b"content-type: application/problem+json\r\nconnection: close\r\n",
            b"content-length: %d\r\n" % len(document),
            *(b"%s: %s\r\n" % (name, value) for name, value in self.server_state.default_headers),
        ]
        if problem.status == 503:
            head.append(b"retry-after: 1\r\n")
        self.transport.write(b"".join([*head, b"\r\n", document]))
        self.transport.write_eof()
        self.lingering = self.loop.call_later(LINGER_S, self.transport.close)

    def is_too_slow(self, at: float) -> bool:
        """Whether a head has not come in time, or nothing has for very long."""
        if self.head_since:
            return at - self.head_since > HEAD_READ_S
        # Once it has been called uvicorn's own timer runs between calls.
        cycle: object = self.cycle
        return cycle is None and at - self.opened > IDLE_S


class Acceptor:
    """Takes connections from the socket that all workers share, so that each gets as many.

    An event loop by itself takes all that it finds, and eight clients that come together often meet one worker.
    """

    def __init__(self, listener: socket.socket, make: Callable[[], asyncio.Protocol]) -> None:
        self.listener, self.make = listener, make
        self.loop = asyncio.get_running_loop()
        self.connecting: set[asyncio.Task[Any]] = set()
        self.closed = False
        self.resume()

    def resume(self) -> None:
        if not self.closed:
            self.loop.add_reader(self.listener, self.readable)

    def readable(self) -> None:
        counts = ContractProtocol.counts
        if counts[ContractProtocol.worker] <= min(counts):
            self.accept()
        else:
            # One that has fewer comes first, unless it is busy.
            self.loop.remove_reader(self.listener)
            self.loop.call_later(YIELD_S, self.accept_late)

    def accept_late(self) -> None:
        if not self.closed:
            self.accept()
            self.resume()

    def accept(self) -> None:
        try:
            connection, _ = self.listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            # No file descriptors: asking again at once would spin.
            print(f"could not take a connection: {error}", file=sys.stderr, flush=True)
            self.loop.remove_reader(self.listener)
            self.loop.call_later(PAUSE_S, self.resume)
            return
        connection.setblocking(False)
        # An answer is one write: waiting for more would only delay it.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = self.loop.create_task(self.loop.connect_accepted_socket(self.make, connection))
        ContractProtocol.counts[ContractProtocol.worker] += 1
        self.connecting.add(task)
        task.add_done_callback(self.connected)

    def connected(self, task: asyncio.Task[Any]) -> None:
        self.connecting.discard(task)
        if not task.cancelled() and task.exception() is not None:
            # It was gone before it was here, and no protocol will say so.
            ContractProtocol.counts[ContractProtocol.worker] -= 1

    def close(self) -> None:
        self.closed = True
        self.loop.remove_reader(self.listener)


async def watch(state: "ServerState") -> None:
    """Closes connections that are too slow, for as long as the server runs."""
    while True:
        await asyncio.sleep(LOOK_S)
        at = time.monotonic()
        for connection in list(state.connections):
            if isinstance(connection, ContractProtocol) and connection.is_too_slow(at):
                connection.transport.close()


def uvicorn_settings() -> dict[str, Any]:
    """What this server and the minimal one tell uvicorn alike."""
    return {
        "loop": "uvloop",
        "http": ContractProtocol,
        "ws": "none",
        "lifespan": "off",
        "log_config": None,
        # What clients do wrong is answered to them; a line for each would fill any log.
        "log_level": "error",
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": IDLE_S,
    }
