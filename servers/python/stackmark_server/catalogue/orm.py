"""The catalogue's transactions through SQLAlchemy's ORM: the statements are its own. Each gets the session that it runs on."""

from typing import Any

import msgspec
from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import selectinload
from sqlalchemy.orm.attributes import flag_modified
from sqlalchemy.orm.exc import StaleDataError

from stackmark_server.catalogue import models, words
from stackmark_server.catalogue.words import (
    CATEGORY_EXISTS,
    CATEGORY_IN_USE,
    FIELDS,
    FOOD_EXISTS,
    FOOD_IN_USE,
    NO_CATEGORY,
    NO_FOOD,
    NO_TEMPLATE,
    STALE,
    UNKNOWN_CATEGORY,
    CategoryChange,
    FoodChange,
    NewCategory,
    NewFood,
    NewFoodOfMany,
    NewFoods,
    Wanted,
    Why,
)
from stackmark_server.problem import Decline
from stackmark_server.sqlalchemy_session import OrmSession
from stackmark_server.store import READ, WRITE, transaction

Row = models.Category | models.Food

a_template = select(models.Template).options(
    selectinload(models.Template.days)
    .selectinload(models.Day.meals)
    .selectinload(models.Meal.items)
    .joinedload(models.Item.food, innerjoin=True)
)


@transaction(READ)
async def read_categories(session: OrmSession) -> list[words.Category]:
    rows = await session.orm.scalars(select(models.Category).order_by(models.Category.id))
    return [category_of(row) for row in rows]


@transaction(READ)
async def read_category(session: OrmSession, id: int) -> words.Category:
    return category_of(await found(session.orm, models.Category, NO_CATEGORY, id))


@transaction(WRITE)
async def insert_category(session: OrmSession, new: NewCategory) -> None:
    await add(session.orm, CATEGORY_EXISTS, models.Category(id=new.id, name=new.name))


@transaction(WRITE)
async def update_category(session: OrmSession, id: int, version: int, change: CategoryChange) -> None:
    await changed(session.orm, models.Category, NO_CATEGORY, id, version, {"name": change.name})


@transaction(WRITE)
async def remove_category(session: OrmSession, id: int, version: int) -> None:
    row = await locked(session.orm, models.Category, NO_CATEGORY, id, version)
    if await session.orm.scalar(select(exists().where(models.Food.category == id))):
        raise Decline(*CATEGORY_IN_USE)
    await session.orm.delete(row)
    await session.orm.flush()


@transaction(READ)
async def read_food(session: OrmSession, id: int) -> words.Food:
    return food_of(await found(session.orm, models.Food, NO_FOOD, id))


@transaction(WRITE)
async def insert_food(session: OrmSession, new: NewFood) -> None:
    await hold_category(session.orm, new.category)
    await add(session.orm, FOOD_EXISTS, food_from(new.category, new))


@transaction(WRITE)
async def insert_foods(session: OrmSession, new: NewFoods) -> None:
    await hold_category(session.orm, new.category)
    await add(session.orm, FOOD_EXISTS, *(food_from(new.category, food) for food in new.foods))


@transaction(WRITE)
async def update_food(session: OrmSession, id: int, version: int, change: FoodChange) -> None:
    await changed(session.orm, models.Food, NO_FOOD, id, version, dict(zip(FIELDS, change.facts(), strict=True)))


@transaction(WRITE)
async def remove_food(session: OrmSession, id: int, version: int) -> None:
    row = await locked(session.orm, models.Food, NO_FOOD, id, version)
    if await session.orm.scalar(select(exists().where(models.Item.food_id == id))):
        raise Decline(*FOOD_IN_USE)
    await session.orm.delete(row)
    await session.orm.flush()


@transaction(READ)
async def read_page(session: OrmSession, wanted: Wanted) -> dict[str, Any]:
    """A page with the total of all pages, both of one moment."""
    filtered = condition(wanted)
    total = await session.orm.scalar(select(func.count()).select_from(models.Food).where(*filtered))
    foods = select(models.Food).where(*filtered).order_by(key_of(wanted), models.Food.id)
    rows = await session.orm.scalars(foods.limit(wanted.size).offset(wanted.offset))
    return {"total": total, "foods": [food_of(row) for row in rows]}


@transaction(READ)
async def read_behind(session: OrmSession, wanted: Wanted) -> dict[str, Any]:
    """What comes behind a food."""
    key, (value, id) = key_of(wanted), wanted.after or (None, 0)
    behind = and_(key >= value, or_(key > value, models.Food.id > id))
    foods = select(models.Food).where(*condition(wanted), behind).order_by(key, models.Food.id)
    return {"foods": [food_of(row) for row in await session.orm.scalars(foods.limit(wanted.size))]}


@transaction(READ)
async def read_template(session: OrmSession, id: int) -> words.Template:
    row = await session.orm.scalar(a_template.where(models.Template.id == id))
    if row is None:
        raise Decline(*NO_TEMPLATE)
    return words.Template(row.id, row.name, [day_of(day) for day in row.days])


# What they have in common.


async def found(session: AsyncSession, of: type[Any], absent: Why, id: int) -> Any:
    row = await session.get(of, id)
    if row is None:
        raise Decline(*absent)
    return row


async def locked(session: AsyncSession, of: type[Any], absent: Why, id: int, version: int) -> Any:
    """A row at its version, which nobody comes to use before it is removed."""
    row = await session.get(of, id, with_for_update=True)
    if row is None:
        raise Decline(*absent)
    if row.version != version:
        raise Decline(*STALE)
    return row


async def changed(session: AsyncSession, of: type[Any], absent: Why, id: int, version: int, values: dict[str, Any]) -> None:
    """Gives a row at its version new values and the next version, also where the values are the same."""
    row = await found(session, of, absent, id)
    if row.version != version:
        raise Decline(*STALE)
    for name, value in values.items():
        setattr(row, name, value)
    flag_modified(row, "name")
    try:
        await session.flush()
    except StaleDataError:
        # Somebody else has changed or removed it since it was read.
        raise Decline(*STALE) from None


async def hold_category(session: AsyncSession, id: int) -> None:
    """A category that is there stays until the transaction has ended."""
    if await session.get(models.Category, id, with_for_update={"read": True, "key_share": True}) is None:
        raise Decline(*UNKNOWN_CATEGORY)


async def add(session: AsyncSession, exists: Why, *rows: Row) -> None:
    session.add_all(rows)
    try:
        await session.flush()
    except IntegrityError:
        raise Decline(*exists) from None


def food_from(category: int, new: NewFoodOfMany) -> models.Food:
    return models.Food(id=new.id, category=category, **dict(zip(FIELDS, new.facts(), strict=True)))


def key_of(wanted: Wanted) -> Any:
    return models.Food.name if wanted.order == "name" else models.Food.kcal


def condition(wanted: Wanted) -> tuple[ColumnElement[bool], ...]:
    if wanted.filter == "category":
        return (models.Food.category == wanted.filtered[0],)
    if wanted.filter == "search":
        return (models.Food.name >= wanted.filtered[0], models.Food.name < wanted.filtered[1])
    return ()


def category_of(row: models.Category) -> words.Category:
    return words.Category(row.id, row.name, row.version)


def food_of(row: models.Food) -> words.Food:
    return msgspec.convert(row, words.Food, from_attributes=True)


def day_of(day: models.Day) -> words.Day:
    return words.Day(day.day, [meal_of(meal) for meal in day.meals])


def meal_of(meal: models.Meal) -> words.Meal:
    items = [words.Item(item.food_id, item.food.name, item.food.kcal, item.grams) for item in meal.items]
    return words.Meal(meal.meal, meal.name, items)
