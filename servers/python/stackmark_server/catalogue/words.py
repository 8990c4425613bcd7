"""What the catalogue is asked and what it answers, and the rules of reading: spec/openapi/catalogue.yaml."""

import re
from typing import Annotated, Any, NamedTuple
from urllib.parse import parse_qsl

from msgspec import Meta, Struct

from stackmark_server.calls import ID_MAX, whole
from stackmark_server.problem import invalid

BULK_MAX = 50
PAGE_MAX, PAGE_SIZE, PAGE_SIZE_MAX = 1_000_000, 20, 100
KCAL_MAX, NUTRIENT_MAX, PRICE_MAX = 900, 1_000, 1_000_000

FIELDS = ("name", "kcal", "protein", "fat", "carbs", "fibre", "price")

Why = tuple[int, str, str]
NO_CATEGORY = (404, "no-such-category", "there is no such category")
NO_FOOD = (404, "no-such-food", "there is no such food")
NO_TEMPLATE = (404, "no-such-template", "there is no such template")
STALE = (412, "stale-version", "it has another version by now")
CATEGORY_EXISTS = (409, "category-exists", "a category with this id is there already")
FOOD_EXISTS = (409, "food-exists", "a food with this id is there already")
CATEGORY_IN_USE = (409, "category-in-use", "foods belong to this category")
FOOD_IN_USE = (409, "food-in-use", "templates use this food")
UNKNOWN_CATEGORY = (422, "unknown-category", "the category that the food is to belong to does not exist")

PARAMETERS = ("category", "search", "order", "page", "after", "size")
NAME = re.compile("[a-z0-9-]([a-z0-9 -]{0,46}[a-z0-9-])?")

Id = Annotated[int, Meta(ge=1, le=ID_MAX)]
Name = Annotated[str, Meta(min_length=1, max_length=48, pattern=r"\A[a-z0-9-]([a-z0-9 -]*[a-z0-9-])?\Z")]
Kcal = Annotated[int, Meta(ge=0, le=KCAL_MAX)]
Nutrient = Annotated[int, Meta(ge=0, le=NUTRIENT_MAX)]
Price = Annotated[int, Meta(ge=0, le=PRICE_MAX)]


class NewCategory(Struct, forbid_unknown_fields=True):
    id: Id
    name: Name


class CategoryChange(Struct, forbid_unknown_fields=True):
    name: Name


class FoodChange(Struct, forbid_unknown_fields=True, kw_only=True):
    name: Name
    kcal: Kcal
    protein: Nutrient
    fat: Nutrient
    carbs: Nutrient
    fibre: Nutrient | None = None
    price: Price

    def __post_init__(self) -> None:
        if self.protein + self.fat + self.carbs > NUTRIENT_MAX:
            raise ValueError(f"protein, fat and carbs are {NUTRIENT_MAX} at most together")

    def facts(self) -> tuple[Any, ...]:
        return (self.name, self.kcal, self.protein, self.fat, self.carbs, self.fibre, self.price)


class NewFoodOfMany(FoodChange, kw_only=True):
    id: Id


class NewFood(NewFoodOfMany, kw_only=True):
    category: Id


class NewFoods(Struct, forbid_unknown_fields=True):
    category: Id
    foods: Annotated[list[NewFoodOfMany], Meta(min_length=1, max_length=BULK_MAX)]

    def __post_init__(self) -> None:
        if len({food.id for food in self.foods}) < len(self.foods):
            raise ValueError("two foods have the same id")


class Category(Struct):
    """As it is answered; the fields are in the order of the columns."""

    id: int
    name: str
    version: int


class Food(Struct):
    """As it is answered; the fields are in the order of the columns."""

    id: int
    category: int
    name: str
    kcal: int
    protein: int
    fat: int
    carbs: int
    fibre: int | None
    price: int
    version: int


class Item(Struct):
    food: int
    name: str
    kcal: int
    grams: int


class Meal(Struct):
    meal: int
    name: str
    items: list[Item]


class Day(Struct):
    day: int
    meals: list[Meal]


class Template(Struct):
    id: int
    name: str
    days: list[Day]


class Wanted(NamedTuple):
    """What is asked of the list."""

    filter: str | None
    filtered: tuple[Any, ...]
    """The parameters of the filter: all that counting needs."""
    order: str
    page: int
    after: tuple[Any, int] | None
    size: int

    @classmethod
    def read(cls, query: str) -> "Wanted":
        """Each parameter once at most, and none that the list has not."""
        given: dict[str, str] = {}
        for name, value in parse_qsl(query, keep_blank_values=True):
            if name not in PARAMETERS:
                raise invalid(f"the query has a parameter that is none of {', '.join(PARAMETERS)}")
            if name in given:
                raise invalid(f"{name} is given twice")
            given[name] = value
        order = given.get("order", "name")
        if order not in ("name", "kcal"):
            raise invalid("order is neither name nor kcal")
        if "page" in given and "after" in given:
            raise invalid("page and after exclude each other")
        after = behind(given["after"], order) if "after" in given else None
        page = within("page", given.get("page", "1"), PAGE_MAX)
        size = within("size", given.get("size", str(PAGE_SIZE)), PAGE_SIZE_MAX)
        return cls(*filter_of(given), order, page, after, size)

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.size


def filter_of(given: dict[str, str]) -> tuple[str | None, tuple[Any, ...]]:
    if "category" in given and "search" in given:
        raise invalid("category and search exclude each other")
    if "category" in given:
        return "category", (within("category", given["category"], ID_MAX),)
    if "search" in given:
        begin = given["search"]
        if not NAME.fullmatch(begin):
            raise invalid("search is 1 to 48 of a-z, 0-9, space and hyphen, with no space at either end")
        # `{` follows `z`, the last of the characters that names are made of.
        return "search", (begin, begin + "{")
    return None, ()


def within(name: str, text: str, most: int) -> int:
    number = whole(text, 1, most)
    if number is None:
        raise invalid(f"{name} is not a number of 1 to {most}")
    return number


def behind(after: str, order: str) -> tuple[Any, int]:
    """Where a list goes on: the key and the id of the food before."""
    key, _, text = after.partition(",")
    id = whole(text, 1, ID_MAX)
    found = whole(key, 0, KCAL_MAX) if order == "kcal" else (key if NAME.fullmatch(key) else None)
    if id is None or found is None:
        raise invalid(f"after is not the {order} and the id of a food with a comma between them, as this order asks for")
    return found, id
