import asyncio
import socket

import pytest
import uvloop

from stackmark_server.pool import Pool
from stackmark_server.problem import Conflict, Decline, InDoubt, Problem, Refused
from stackmark_server.store import ATTEMPTS_MAX, WRITE, RollBack, Session, Store, Unreachable, catch_up, transaction
from stackmark_server.work import Work


class Scripted(Session):
    """Notes what is sent, and fails at a commit where it is told to."""

    def __init__(self, commit=None):
        self.sent, self.lost, self.failing = [], False, commit

    async def begin(self, kind):
        self.sent.append("begin")

    async def commit(self):
        self.sent.append("commit")
        if self.failing:
            raise self.failing

    async def rollback(self):
        self.sent.append("rollback")

    @property
    def is_lost(self):
        return self.lost

    async def close(self):
        self.lost = True


def run(session, body, opener=None):
    work = Work()

    async def call():
        store = Store(Pool([session], 1), opener, lambda line: None)
        return await store.run(work, transaction(WRITE)(body))

    try:
        return asyncio.run(call()), work
    except Problem as problem:
        return problem, work


def raising(*problems):
    left = list(problems)

    async def body(session):
        if left:
            raise left.pop(0)
        return "done"

    return body


def test_a_conflict_is_repeated_and_its_work_is_added():
    session = Scripted()
    outcome, work = run(session, raising(Conflict("deadlock"), Conflict("busy")))
    assert (outcome, work.attempts, work.commits) == ("done", 3, 1)
    assert session.sent == ["begin", "rollback"] * 2 + ["begin", "commit"]


def test_conflicts_are_repeated_no_more_than_so_often():
    outcome, work = run(Scripted(), raising(*[Conflict("deadlock")] * 50))
    assert (outcome.kind, outcome.reason, work.attempts, work.commits) == ("conflict", "deadlock", ATTEMPTS_MAX, 0)


def test_what_is_declined_is_rolled_back_and_not_repeated():
    session = Scripted()
    outcome, work = run(session, raising(Decline(404, "no-such-food", "")))
    assert (outcome.status, work.attempts, work.commits, session.lost) == (404, 1, 0, False)
    assert session.sent == ["begin", "rollback"]


def test_an_outcome_can_be_that_everything_is_undone():
    session = Scripted()
    outcome, work = run(session, raising(RollBack("item-not-valid")))
    assert (outcome, work.commits, session.sent) == ("item-not-valid", 0, ["begin", "rollback"])


def test_a_lost_commit_is_in_doubt_and_its_connection_is_given_up():
    session = Scripted(commit=InDoubt("commit-unanswered"))
    outcome, work = run(session, raising())
    assert (outcome.status, outcome.reason, work.attempts, session.lost) == (500, "commit-unanswered", 1, True)


def test_a_connection_that_is_gone_is_replaced_before_it_is_used():
    async def reopened():
        return Scripted()

    async def refused():
        raise Unreachable("nobody answers")

    gone = Scripted()
    gone.lost = True
    outcome, work = run(gone, raising(), reopened)
    assert (outcome, work.reconnects) == ("done", 1)
    assert gone.sent == []
    outcome, _ = run(gone, raising(), refused)
    assert isinstance(outcome, Refused)
    assert outcome.reason == "unreachable"


@pytest.mark.parametrize("body", [raising(RuntimeError("a bug"))])
def test_after_a_bug_the_connection_is_given_up(body):
    session = Scripted()
    with pytest.raises(RuntimeError):
        run(session, body)
    assert session.lost


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_that_a_connection_was_closed_is_known_however_late_the_event_loop_is(loop):
    class Client(asyncio.Protocol):
        closed = False

        def connection_lost(self, _error):
            self.closed = True

    async def closed_while_nothing_runs():
        with socket.create_server(("127.0.0.1", 0)) as server:
            _, client = await asyncio.get_running_loop().create_connection(Client, *server.getsockname())
            peer, _ = server.accept()
            await asyncio.sleep(0.01)
            assert not client.closed
            peer.close()
            assert not client.closed
            await catch_up()
            return client.closed

    with asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(closed_while_nothing_runs())
