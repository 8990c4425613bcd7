import asyncpg
import pytest
from asyncmy import errors

from stackmark_server import mariadb, postgres


def said(problem):
    return problem.kind if problem.reason is None else f"{problem.kind} {problem.reason}"


def postgres_error(state):
    return asyncpg.PostgresError.new({"C": state, "M": "message"})


@pytest.mark.parametrize(
    ("state", "before", "at_commit"),
    [
        ("40001", "conflict serialization", "conflict serialization"),
        ("40P01", "conflict deadlock", "conflict deadlock"),
        ("55P03", "conflict busy", "conflict busy"),
        ("57014", "conflict busy", "conflict busy"),
        ("25006", "refused unwritable", "refused unwritable"),
        ("53100", "refused unwritable", "refused unwritable"),
        ("53300", "refused unreachable", "refused unreachable"),
        ("57P01", "in-doubt connection-lost", "in-doubt commit-unanswered"),
        ("08006", "in-doubt connection-lost", "in-doubt commit-unanswered"),
        ("58030", "refused unwritable", "in-doubt commit-unanswered"),
        ("23505", "defect", "defect"),
    ],
)
def test_every_sqlstate_has_its_reaction(state, before, at_commit):
    assert said(postgres.fault(postgres_error(state), at_commit=False)) == before
    assert said(postgres.fault(postgres_error(state), at_commit=True)) == at_commit


def test_a_connection_that_broke_is_told_from_a_bug():
    for error in (ConnectionResetError(), asyncpg.InterfaceError("connection is closed")):
        assert said(postgres.fault(error, at_commit=True)) == "in-doubt commit-unanswered"
    assert said(postgres.fault(asyncpg.InterfaceError("expected 2 arguments, 1 given"), at_commit=False)) == "defect"


@pytest.mark.parametrize(
    ("code", "before", "at_commit"),
    [
        (1213, "conflict deadlock", "conflict deadlock"),
        (1205, "conflict busy", "conflict busy"),
        (1020, "conflict serialization", "conflict serialization"),
        (1969, "conflict busy", "in-doubt commit-unanswered"),
        (1180, "defect", "in-doubt commit-unanswered"),
        (2013, "in-doubt connection-lost", "in-doubt commit-unanswered"),
        (1927, "in-doubt connection-lost", "in-doubt commit-unanswered"),
        (1040, "refused no-session", "refused no-session"),
        (1290, "refused unwritable", "refused unwritable"),
        (1062, "defect", "defect"),
    ],
)
def test_every_number_has_its_reaction(code, before, at_commit):
    error = errors.OperationalError(code, "message")
    assert said(mariadb.fault(error, at_commit=False)) == before
    assert said(mariadb.fault(error, at_commit=True)) == at_commit


def test_a_full_disk_is_read_from_the_message():
    assert (
        said(mariadb.fault(errors.OperationalError(1030, "Got error 28 from engine"), at_commit=False)) == "refused unwritable"
    )
    assert said(mariadb.fault(errors.OperationalError(1030, "Got error 5"), at_commit=False)) == "defect"


def test_only_what_is_flushed_at_each_commit_is_durable():
    base = {"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "ON", "innodb_flush_method": "O_DIRECT"}
    for change, tier in (
        ({}, "durable"),
        ({"innodb_flush_log_at_trx_commit": "2"}, "delayed"),
        ({"innodb_flush_log_at_trx_commit": "9"}, "volatile"),
        ({"log_bin": "ON", "sync_binlog": "0"}, "delayed"),
        ({"log_bin": "ON", "sync_binlog": "1"}, "durable"),
        ({"innodb_doublewrite": "OFF"}, "volatile"),
        ({"innodb_flush_method": "nosync"}, "volatile"),
    ):
        assert mariadb.durability({**base, **change})["tier"] == tier, change
