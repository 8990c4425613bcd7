import pytest

from stackmark_server import settings

ENVIRONMENT = {
    "STACKMARK_WORKLOAD": "catalogue",
    "STACKMARK_ADAPTER": "",
    "STACKMARK_DB": "postgres://a@localhost/b",
    "STACKMARK_POOL": "8",
    "STACKMARK_THREADS": "3",
    "STACKMARK_LISTEN": "127.0.0.1:0",
}


def told(monkeypatch, **others):
    for name, value in {**ENVIRONMENT, **others}.items():
        monkeypatch.setenv(name, value)
    return settings.from_environment()


def test_a_pool_is_split_over_the_workers_and_stays_whole(monkeypatch):
    found = told(monkeypatch)
    assert [found.connections_of(worker) for worker in range(3)] == [3, 3, 2]
    assert found.limits()["connections-per-worker"] == 3
    assert found.how == "asyncpg"


def test_there_are_no_more_workers_than_connections(monkeypatch):
    found = told(monkeypatch, STACKMARK_POOL="2")
    assert (found.workers, found.workers_asked) == (2, 3)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("STACKMARK_WORKLOAD", "", "is missing"),
        ("STACKMARK_WORKLOAD", "bank", "this server has"),
        ("STACKMARK_ADAPTER", "asyncmy", "catalogue on postgres has asyncpg"),
        ("STACKMARK_DB", "", "is missing"),
        ("STACKMARK_POOL", "0", "1 to 4096"),
        ("STACKMARK_POOL", "1e3", "1 to 4096"),
        ("STACKMARK_THREADS", "65", "1 to 64"),
        ("STACKMARK_LISTEN", "8080", "an address and a port"),
        ("STACKMARK_LISTEN", "127.0.0.1:65536", "an address and a port"),
    ],
)
def test_what_is_missing_or_wrong_is_said(monkeypatch, name, value, expected):
    with pytest.raises(settings.BadSettings, match=expected):
        told(monkeypatch, **{name: value})
