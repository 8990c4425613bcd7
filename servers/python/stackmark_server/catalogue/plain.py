"""The catalogue's transactions by the statements of `servers/sql`. Each gets the session that it runs on."""

from collections.abc import Sequence
from typing import Any

from stackmark_server.catalogue.words import (
    BULK_MAX,
    CATEGORY_EXISTS,
    CATEGORY_IN_USE,
    FOOD_EXISTS,
    FOOD_IN_USE,
    NO_CATEGORY,
    NO_FOOD,
    NO_TEMPLATE,
    STALE,
    UNKNOWN_CATEGORY,
    Category,
    CategoryChange,
    Day,
    Food,
    FoodChange,
    Item,
    Meal,
    NewCategory,
    NewFood,
    NewFoods,
    Template,
    Wanted,
    Why,
)
from stackmark_server.problem import Decline
from stackmark_server.store import ONE_READ, ONE_WRITE, READ, WRITE, PlainSession, Row, transaction

FILTERS = {None: "foods", "category": "category_foods", "search": "search_foods"}
COUNTS = {None: "count_foods", "category": "count_category_foods", "search": "count_search_foods"}
# What is sent: forms of templates that this server has not are left out.
STATEMENTS = (
    "categories",
    "category",
    "insert_category",
    "update_category",
    "lock_category",
    "hold_category",
    "food_of_category",
    "delete_category",
    "food",
    *(f"{foods}_by_{order}_{go}" for foods in FILTERS.values() for order in ("name", "kcal") for go in ("page", "after")),
    *COUNTS.values(),
    "insert_food",
    "insert_foods",
    "update_food",
    "lock_food",
    "item_of_food",
    "delete_food",
    "template_full",
)


@transaction(ONE_READ)
async def read_categories(session: PlainSession) -> list[Category]:
    return [Category(*row) for row in await session.rows("categories")]


@transaction(ONE_READ)
async def read_category(session: PlainSession, id: int) -> Category:
    for row in await session.rows("category", id):
        return Category(*row)
    raise Decline(*NO_CATEGORY)


@transaction(ONE_WRITE)
async def insert_category(session: PlainSession, new: NewCategory) -> None:
    if await session.change("insert_category", new.id, new.name) == 0:
        raise Decline(*CATEGORY_EXISTS)


@transaction(ONE_WRITE)
async def update_category(session: PlainSession, id: int, version: int, change: CategoryChange) -> None:
    await change_row(session, "category", NO_CATEGORY, id, version, change.name)


@transaction(ONE_WRITE)
async def update_food(session: PlainSession, id: int, version: int, change: FoodChange) -> None:
    await change_row(session, "food", NO_FOOD, id, version, *change.facts())


async def change_row(session: PlainSession, table: str, absent: Why, id: int, version: int, *values: Any) -> None:
    """What has the version is changed and gets the next. Only where nothing has it is asked why."""
    if await session.change(f"update_{table}", id, version, *values) == 0:
        raise Decline(*(STALE if await session.rows(table, id) else absent))


@transaction(WRITE)
async def remove_category(session: PlainSession, id: int, version: int) -> None:
    await lock(session, "lock_category", NO_CATEGORY, id, version)
    if await session.rows("food_of_category", id):
        raise Decline(*CATEGORY_IN_USE)
    await session.change("delete_category", id)


@transaction(WRITE)
async def remove_food(session: PlainSession, id: int, version: int) -> None:
    await lock(session, "lock_food", NO_FOOD, id, version)
    if await session.rows("item_of_food", id):
        raise Decline(*FOOD_IN_USE)
    await session.change("delete_food", id)


async def lock(session: PlainSession, statement: str, absent: Why, id: int, version: int) -> None:
    """Locks a row at its version, so that nothing comes to use it before it is removed."""
    found = await session.rows(statement, id)
    if not found:
        raise Decline(*absent)
    if found[0][0] != version:
        raise Decline(*STALE)


@transaction(ONE_READ)
async def read_food(session: PlainSession, id: int) -> Food:
    for row in await session.rows("food", id):
        return Food(*row)
    raise Decline(*NO_FOOD)


@transaction(READ)
async def read_page(session: PlainSession, wanted: Wanted) -> dict[str, Any]:
    """A page with the total of all pages, both of one moment."""
    [[total]] = await session.rows(COUNTS[wanted.filter], *wanted.filtered)
    statement = f"{FILTERS[wanted.filter]}_by_{wanted.order}_page"
    rows = await session.rows(statement, *wanted.filtered, wanted.size, wanted.offset)
    return {"total": total, "foods": [Food(*row) for row in rows]}


@transaction(ONE_READ)
async def read_behind(session: PlainSession, wanted: Wanted) -> dict[str, Any]:
    """What comes behind a food."""
    statement = f"{FILTERS[wanted.filter]}_by_{wanted.order}_after"
    rows = await session.rows(statement, *wanted.filtered, wanted.size, *(wanted.after or ()))
    return {"foods": [Food(*row) for row in rows]}


@transaction(WRITE)
async def insert_food(session: PlainSession, new: NewFood) -> None:
    await hold_category(session, new.category)
    if await session.change("insert_food", new.id, new.category, *new.facts()) == 0:
        raise Decline(*FOOD_EXISTS)


@transaction(WRITE)
async def insert_foods(session: PlainSession, new: NewFoods) -> None:
    """As many as the statement is written for go in one, and any other number one by one. Where one of them is there already,
    none is inserted."""
    await hold_category(session, new.category)
    rows = [(food.id, new.category, *food.facts()) for food in new.foods]
    if len(rows) == BULK_MAX:
        inserted = await session.change("insert_foods", *(value for row in rows for value in row))
    else:
        inserted = 0
        for row in rows:
            inserted += await session.change("insert_food", *row)
    if inserted < len(rows):
        raise Decline(*FOOD_EXISTS)


async def hold_category(session: PlainSession, id: int) -> None:
    """A category that is there stays until the transaction has ended."""
    if not await session.rows("hold_category", id):
        raise Decline(*UNKNOWN_CATEGORY)


@transaction(ONE_READ)
async def read_template(session: PlainSession, id: int) -> Template:
    rows = await session.rows("template_full", id)
    if not rows:
        raise Decline(*NO_TEMPLATE)
    return grouped(id, rows)


def grouped(id: int, rows: Sequence[Row]) -> Template:
    """The rows of the join, one below the other. What is below a day without meals, or a meal without items, is null."""
    days: list[Day] = []
    meals: list[Meal] = []
    items: list[Item] = []
    last_day = last_meal = None
    for _, day, meal, meal_name, *item in rows:
        if day != last_day:
            last_day, last_meal, meals = day, None, []
            days.append(Day(day, meals))
        if meal != last_meal:
            last_meal, items = meal, []
            meals.append(Meal(meal, meal_name, items))
        if item[0] is not None:
            items.append(Item(*item))
    return Template(id, rows[0][0], days)
