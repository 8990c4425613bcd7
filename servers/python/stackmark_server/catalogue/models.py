"""The catalogue's tables as classes of SQLAlchemy's ORM."""

from sqlalchemy import BigInteger, ForeignKey, ForeignKeyConstraint, Integer, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Base(DeclarativeBase):
    """What all of them have in common."""


class Category(Base):
    __tablename__ = "category"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(48))
    version: Mapped[int] = mapped_column()

    # An update is for the version that was read; the next one is one more.
    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012


class Food(Base):
    __tablename__ = "food"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    category: Mapped[int] = mapped_column(BigInteger)
    name: Mapped[str] = mapped_column(String(48))
    kcal: Mapped[int]
    protein: Mapped[int]
    fat: Mapped[int]
    carbs: Mapped[int]
    fibre: Mapped[int | None]
    price: Mapped[int]
    version: Mapped[int] = mapped_column()

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012


class Template(Base):
    __tablename__ = "template"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(48))

    days: Mapped[list["Day"]] = relationship(order_by="Day.day", viewonly=True)


class Day(Base):
    __tablename__ = "template_day"

    template: Mapped[int] = mapped_column(BigInteger, ForeignKey("template.id"), primary_key=True, autoincrement=False)
    day: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)

    meals: Mapped[list["Meal"]] = relationship(order_by="Meal.meal", viewonly=True)


class Meal(Base):
    __tablename__ = "template_meal"

    template: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    day: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    meal: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(48))

    items: Mapped[list["Item"]] = relationship(order_by="Item.item", viewonly=True)

    __table_args__ = (ForeignKeyConstraint(["template", "day"], ["template_day.template", "template_day.day"]),)


class Item(Base):
    __tablename__ = "template_item"

    template: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    day: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    meal: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    item: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    food_id: Mapped[int] = mapped_column("food", BigInteger, ForeignKey("food.id"))
    grams: Mapped[int]

    food: Mapped[Food] = relationship(viewonly=True)

    __table_args__ = (
        ForeignKeyConstraint(
            ["template", "day", "meal"], ["template_meal.template", "template_meal.day", "template_meal.meal"]
        ),
    )
