import pytest

from stackmark_server import statements
from stackmark_server.catalogue import plain

TEXT = """-- Where it comes from.

-- name: one
-- params: 3 1 1
update t
set a = ?
where b = ? or c = ?

-- name: two
-- params:
select 1
"""


def test_a_file_is_read_statement_by_statement():
    one, two = statements.parse(TEXT)
    assert (one.name, one.text, one.order) == ("one", "update t\nset a = ?\nwhere b = ? or c = ?", (2, 0, 0))
    assert one.arranger()(("x", "y", "z")) == ("z", "x", "x")
    assert (two.name, two.text, two.order) == ("two", "select 1", ())
    assert two.arranger() is None


def test_a_single_parameter_that_is_not_the_first_is_found():
    [one] = statements.parse("-- name: one\n-- params: 2\nselect ?\n")
    assert one.arranger()(("x", "y")) == ("y",)


def test_a_statement_without_its_parameters_is_refused():
    with pytest.raises(ValueError, match="does not say its parameters"):
        statements.parse("-- name: one\nselect 1\n")


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_the_files_have_what_is_sent(engine):
    found = statements.read("catalogue", engine)
    assert set(plain.STATEMENTS) <= set(found)
    assert len(found["insert_foods"].order) == 450
    assert "warehouse_tax" in statements.read("tpcc", engine)
