"""From the environment to processes that answer, and to their end."""

import asyncio
import contextlib
import ctypes
import gc
import mmap
import os
import resource
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NoReturn

import uvicorn
import uvloop

from stackmark_server import settings as limits
from stackmark_server.http import Acceptor, ContractProtocol, uvicorn_settings, watch
from stackmark_server.settings import BadSettings, Settings
from stackmark_server.store import Unreachable, Unusable

BACKLOG = 1_024
# For calls in flight, and then for connections to the engine to close.
END_S = limits.DRAIN_S + 3
LINES_MAX = 100
PR_SET_PDEATHSIG = 1

Worker = Callable[[Settings, int, Callable[[str], None]], Awaitable[tuple[Any, Callable[[], Awaitable[None]]]]]
"""Makes the application of a worker by its number, and what closes it."""


class Operator:
    """Speaks to whoever runs the server: line by line until there are many, and then ever more rarely.

    So a broken database under full load does not turn into gigabytes of log.
    """

    def __init__(self) -> None:
        self.lines = 0

    def say(self, line: str) -> None:
        self.lines += 1
        if self.lines <= LINES_MAX:
            print(line, file=sys.stderr, flush=True)
        elif self.lines & (self.lines - 1) == 0:
            print(f"{line} (line {self.lines}; most lines are left out by now)", file=sys.stderr, flush=True)


def main() -> None:
    """The server."""
    # Here and not above: the minimal server has workers too, and none of this.
    from stackmark_server.worker import make

    run(make)


def run(make: Worker) -> None:
    """Serves until it is told to stop."""
    try:
        settings = limits.from_environment()
        listener = listen(settings)
    except BadSettings as error:
        fail(str(error), 2)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The soft limit is there for old programs; each connection is a file.
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # Until there is something to be ended in order.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    shares = ", ".join(str(settings.connections_of(worker)) for worker in range(settings.workers))
    print(f"workers: {settings.workers}, connections of each: {shares}", file=sys.stderr, flush=True)
    if settings.workers < settings.workers_asked:
        line = f"as many workers as connections, and not {settings.workers_asked}: one without could answer nothing"
        print(line, file=sys.stderr, flush=True)
    # What has been loaded by now stays: no collection has to look at it, and processes share it.
    gc.collect()
    gc.freeze()
    if settings.workers == 1:
        end_with_input()
        sys.exit(serve(settings, 0, listener, make, lambda: announce(listener)))
    Parent(settings, listener, make).run()


def listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(BACKLOG)
    except OSError as error:
        raise BadSettings(f"could not listen on {settings.host}:{settings.port}: {error.strerror or error}") from None
    listener.setblocking(False)
    return listener


def announce(listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    print(f"listening on http://{f'[{host}]' if ':' in host else host}:{port}", flush=True)


def fail(why: str, status: int) -> NoReturn:
    print(f"error: {why}", file=sys.stderr, flush=True)
    sys.exit(status)


def end_with_input() -> None:
    """Standard input has nothing to say: it ends when nobody is left who would stop this server."""

    def wait() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 4_096):
                pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


class Server(uvicorn.Server):
    """uvicorn without its signals: what ends it is decided here, and the status is 0."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.listener, self.ready = listener, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.acceptor = Acceptor(self.listener, self.protocol)
        self.ready()

    def protocol(self) -> ContractProtocol:
        return ContractProtocol(self.config, self.server_state, self.lifespan.state)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.acceptor.close()
        self.listener.close()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(settings: Settings, worker: int, listener: socket.socket, make: Worker, ready: Callable[[], None]) -> int:
    """Serves in this process; the exit status."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(answer(settings, worker, listener, make, ready))
        except (Unreachable, Unusable) as error:
            print(f"error: {error}", file=sys.stderr, flush=True)
            return 2
    return 0


async def answer(settings: Settings, worker: int, listener: socket.socket, make: Worker, ready: Callable[[], None]) -> None:
    server: Server | None = None
    asked_to_stop = False

    def stop() -> None:
        nonlocal asked_to_stop
        asked_to_stop = True
        if server is not None:
            server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    app, close = await make(settings, worker, Operator().say)
    gc.freeze()
    ContractProtocol.worker = worker
    ContractProtocol.connections_max = settings.share(limits.CONNECTIONS_MAX)
    config = uvicorn.Config(app, backlog=BACKLOG, timeout_graceful_shutdown=limits.DRAIN_S, **uvicorn_settings())
    server = Server(config, listener, ready)
    server.should_exit = asked_to_stop
    watching = asyncio.create_task(watch(server.server_state))
    await server.serve(sockets=[])
    watching.cancel()
    await close()


class Parent:
    """Starts the workers, and ends with them: when it is told to, or when one of them has died."""

    def __init__(self, settings: Settings, listener: socket.socket, make: Worker) -> None:
        self.settings, self.listener, self.make = settings, listener, make
        self.workers: set[int] = set()
        self.stopping = False

    def run(self) -> NoReturn:
        ContractProtocol.counts = memoryview(mmap.mmap(-1, 4 * self.settings.workers)).cast("I")
        read, write = os.pipe()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())
        signal.signal(signal.SIGALRM, lambda *_: self.kill())
        for worker in range(self.settings.workers):
            if not self.stopping:
                self.start(worker, read, write)
        if self.stopping:
            # One of them may have begun after the others were told.
            self.tell(signal.SIGTERM)
        os.close(write)
        end_with_input()
        # One byte from each that answers; less where one has ended before.
        answering = 0
        while answering < self.settings.workers and (told := os.read(read, self.settings.workers)):
            answering += len(told)
            if self.gone():
                break
        os.close(read)
        if answering == self.settings.workers and not self.stopping:
            announce(self.listener)
        self.listener.close()
        sys.exit(self.wait())

    def start(self, worker: int, read: int, write: int) -> None:
        parent, pid = os.getpid(), os.fork()
        if pid:
            self.workers.add(pid)
            return
        os.close(read)
        die_with(parent)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        status = 1
        try:
            status = serve(self.settings, worker, self.listener, self.make, lambda: told(write))
        except BaseException:  # noqa: BLE001 — whatever it is, nobody else would say so
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)

    def gone(self) -> bool:
        """Whether a worker has ended; it stays to be waited for."""
        with contextlib.suppress(ChildProcessError):
            return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return True

    def wait(self) -> int:
        """Until all have ended; the exit status."""
        status = 0
        while self.workers:
            pid, ended = os.wait()
            self.workers.discard(pid)
            code = os.waitstatus_to_exitcode(ended)
            if not self.stopping:
                # One that could not begin has said why.
                if code != 2:
                    print(f"error: worker {pid} ended by itself ({code}); so ends the server", file=sys.stderr, flush=True)
                status = code if code > 0 else 1
                self.stop()
            # One that had not begun yet ends by the signal itself.
            elif code not in (0, -signal.SIGTERM) and status == 0:
                status = code if code > 0 else 1
        return status

    def stop(self) -> None:
        if not self.stopping:
            self.stopping = True
            signal.alarm(END_S)
        self.tell(signal.SIGTERM)

    def kill(self) -> None:
        self.tell(signal.SIGKILL)

    def tell(self, number: signal.Signals) -> None:
        for pid in self.workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def told(write: int) -> None:
    os.write(write, b".")
    os.close(write)


def die_with(parent: int) -> None:
    """No worker outlives its parent, however that ends."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
