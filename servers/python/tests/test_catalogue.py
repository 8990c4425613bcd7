import msgspec
import pytest

from stackmark_server.calls import decode, whole
from stackmark_server.catalogue import routes
from stackmark_server.catalogue.plain import grouped
from stackmark_server.catalogue.words import Wanted
from stackmark_server.problem import Problem

FOOD = {"id": 7, "category": 1, "name": "a b", "kcal": 900, "protein": 1000, "fat": 0, "carbs": 0, "fibre": None, "price": 5}


def refused(read):
    with pytest.raises(Problem) as found:
        read()
    return found.value.status, found.value.kind


@pytest.mark.parametrize("name", ["a", "-", "a-b c", "9", "x" * 48])
def test_a_name_is_taken(name):
    assert decode(routes.category_change, msgspec.json.encode({"name": name})).name == name


@pytest.mark.parametrize("name", ["", " a", "a ", "A", "a\n", "é", "x" * 49, "a\0", 7, None, True, ["a"], "a' or '1'='1"])
def test_what_is_no_name_is_invalid(name):
    body = msgspec.json.encode({"name": name})
    assert refused(lambda: decode(routes.category_change, body)) == (422, "invalid")


@pytest.mark.parametrize("fibre", [{}, {"fibre": None}, {"fibre": 1000}])
def test_fibre_may_be_left_out(fibre):
    food = {**{name: value for name, value in FOOD.items() if name != "fibre"}, **fibre}
    assert decode(routes.new_food, msgspec.json.encode(food)).fibre == fibre.get("fibre")


@pytest.mark.parametrize(
    "change",
    [
        {"id": 0},
        {"id": 2**53},
        {"id": "7"},
        {"id": True},
        {"id": 1.0},
        {"kcal": 901},
        {"kcal": -1},
        {"kcal": None},
        {"protein": 1, "fat": 1000},
        {"price": 1_000_001},
        {"nonsense": 1},
    ],
)
def test_a_food_out_of_its_ranges_is_invalid(change):
    body = msgspec.json.encode({**FOOD, **change})
    assert refused(lambda: decode(routes.new_food, body)) == (422, "invalid")


@pytest.mark.parametrize("body", [b"", b"{", b'{"name":"a"}}', b'{"name":"\xff"}', b'{"x":"\xff"}', b'{"name":NaN}'])
def test_what_is_no_json_is_malformed(body):
    assert refused(lambda: decode(routes.category_change, body)) == (400, "malformed")


def test_a_number_that_no_parser_can_hold_is_malformed():
    body = msgspec.json.encode({**FOOD, "kcal": 1}).replace(b'"kcal":1', b'"kcal":1e400')
    assert refused(lambda: decode(routes.new_food, body)) == (400, "malformed")


def test_many_foods_have_an_id_each_and_are_50_at_most():
    food = {name: value for name, value in FOOD.items() if name != "category"}

    def body(ids):
        return msgspec.json.encode({"category": 1, "foods": [{**food, "id": id} for id in ids]})

    assert len(decode(routes.new_foods, body(range(1, 51))).foods) == 50
    for ids in ([], [1, 1], range(1, 52)):
        assert refused(lambda: decode(routes.new_foods, body(ids))) == (422, "invalid")  # noqa: B023


def test_a_query_is_read():
    assert Wanted.read("") == Wanted(None, (), "name", 1, None, 20)
    wanted = Wanted.read("search=a%20b&order=kcal&after=7,9&size=100")
    assert wanted == Wanted("search", ("a b", "a b{"), "kcal", 1, (7, 9), 100)
    assert Wanted.read("category=5&page=3&size=10").offset == 20
    assert Wanted.read("after=a+b,9").after == ("a b", 9)


@pytest.mark.parametrize("body", [b'{"name":"a","name":"a"}', b'{"name":"b","name":"a"}'])
def test_a_field_that_is_there_twice_is_invalid(body):
    assert refused(lambda: decode(routes.category_change, body)) == (422, "invalid")


@pytest.mark.parametrize(
    "query",
    [
        "nonsense=1",
        "page=1&page=1",
        "page=0",
        "page=01",
        "page=1000001",
        "size=101",
        "size=",
        "order=price",
        "category=1&search=a",
        "page=1&after=a,1",
        "after=a",
        "after=a,0",
        "order=kcal&after=901,1",
        "search=%ff",
        "search=A",
    ],
)
def test_a_query_that_is_none_is_invalid(query):
    assert refused(lambda: Wanted.read(query)) == (422, "invalid")


def test_rows_of_the_join_become_a_template():
    rows = [
        ("t", 1, 1, "m", 5, "f", 10, 20),
        ("t", 1, 1, "m", 6, "g", 11, 21),
        ("t", 1, 2, "n", None, "", 0, 0),
        ("t", 2, None, "", None, "", 0, 0),
        ("t", 3, 2, "o", 5, "f", 10, 22),
    ]
    found = msgspec.to_builtins(grouped(9, rows))
    assert [len(day["meals"]) for day in found["days"]] == [2, 0, 1]
    assert [len(meal["items"]) for meal in found["days"][0]["meals"]] == [2, 0]
    assert found["days"][2]["meals"][0]["items"] == [{"food": 5, "name": "f", "kcal": 10, "grams": 22}]
    assert msgspec.to_builtins(grouped(9, [("t", None, None, "", None, "", 0, 0)])) == {"id": 9, "name": "t", "days": []}


@pytest.mark.parametrize(
    ("text", "expected"), [("1", 1), ("0", None), ("01", None), ("+1", None), ("1_0", None), ("٣", None), ("9" * 20, None)]
)
def test_a_whole_number_has_digits_alone(text, expected):
    assert whole(text, 1, 100) == expected
