from datetime import datetime
from decimal import Decimal

import msgspec
import pytest

from stackmark_server.calls import decode
from stackmark_server.mariadb import MariaDbSession
from stackmark_server.postgres import PostgresSession
from stackmark_server.problem import Problem
from stackmark_server.tpcc import plain, routes
from stackmark_server.tpcc.words import Line, Payment


@pytest.mark.parametrize(
    ("amounts", "discount", "w_tax", "d_tax", "expected"),
    [(10_000, 0, 0, 0, 10_000), (10_000, 5_000, 2_000, 2_000, 7_000), (1, 5_000, 0, 0, 1), (1, 5_001, 0, 0, 0)],
)
def test_a_total_is_exact_and_rounds_half_up(amounts, discount, w_tax, d_tax, expected):
    assert plain.order_total(amounts, discount, w_tax, d_tax) == expected


@pytest.mark.parametrize("cents", [0, 5, -5, 123_405, 10**12 - 1, -(10**12) + 1])
def test_amounts_are_exact_both_ways(cents):
    assert plain.cents(PostgresSession.decimal(cents)) == cents
    assert plain.cents(Decimal(MariaDbSession.decimal(cents))) == cents


def test_decimals_and_times_become_whole_numbers():
    assert plain.rate(Decimal("0.1250")) == 1250
    assert plain.seconds(datetime(2024, 1, 1, 0, 0, 0, 999_999)) == 1704067200


def test_the_fact_of_a_bad_credit_payment_goes_in_front():
    asked = Payment(w_id=1, d_id=2, c_w_id=3, c_d_id=4, c_id=5, h_amount=123_405)
    data = plain.bad_credit_data(asked, 5, "x" * 500)
    assert (data[:22], len(data)) == ("5 4 3 2 1 1234.05 xxxx", 500)


def test_lines_are_worked_in_the_order_of_their_stock_rows():
    lines = [Line(i, w, 1) for i, w in ((7, 2), (7, 1), (3, 9), (7, 2), (100_001, 1))]
    assert plain.working_order(lines) == [2, 1, 0, 3, 4]


@pytest.mark.parametrize("lines", [4, 16])
def test_an_order_has_5_to_15_lines(lines):
    line = {"i_id": 1, "supply_w_id": 1, "quantity": 1}
    body = msgspec.json.encode({"w_id": 1, "d_id": 1, "c_id": 1, "lines": [line] * lines})
    with pytest.raises(Problem) as found:
        decode(routes.new_order_call, body)
    assert found.value.kind == "invalid"
