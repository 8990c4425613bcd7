import pytest

from stackmark_server.database_url import BadUrl, parse


def test_a_url_is_read_as_drivers_read_it():
    url = parse("postgresql://b%40b:s%2Fcret@localhost:5433/tpcc?isolation=serializable&statement_timeout_ms=70")
    assert (url.engine, url.user, url.host, url.port, url.database) == ("postgres", "b@b", "localhost", 5433, "tpcc")
    assert (url.password, url.isolation, url.statement_timeout_ms) == ("s/cret", "serializable", 70)
    near = parse("mariadb://root@localhost/tpcc?socket=/run/m.sock")
    assert (near.engine, near.port, near.place, near.isolation) == ("mariadb", 3306, "/run/m.sock", "repeatable-read")
    assert parse("postgres://a@%2Frun%2Fpg/b").socket == "/run/pg"
    assert parse("postgres://a@[::1]:5/b").place == "[::1]:5"
    assert parse("mysql://a@far/b?ssl-mode=DISABLED").host == "far"


def test_a_password_beside_the_url_goes_first_and_is_not_shown():
    url = parse("postgres://a:old@localhost/b", "secret")
    assert url.password == "secret"
    assert "secret" not in repr(url)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgres://u:secret@localhost", "database is missing"),
        ("postgres://:secret@localhost/d", "user is missing"),
        ("mysql://u:secret@localhost/d?host=/run", "no option `host`"),
        ("mysql://u:secret@h:port/d", "a port that is none"),
        ("postgres://u:secret@localhost/d?sslmode=maybe", "sslmode is disable"),
        ("postgres://u:secret@localhost/d?sslmode=verify-full", "does not encrypt"),
        ("postgres://u:secret@far/d", "does not encrypt"),
        ("postgres://u:secret@localhost/d?isolation=none", "isolation is one of"),
        ("postgres://u:secret@localhost/d?statement_timeout_ms=1e3", "whole number"),
        ("postgres://u:secret@localhost/d?port=0", "whole number"),
        ("oracle://u:secret@localhost/d", "does not begin with"),
    ],
)
def test_what_is_wrong_is_said_without_the_password(text, expected):
    with pytest.raises(BadUrl, match=expected) as error:
        parse(text)
    assert "secret" not in str(error.value)
