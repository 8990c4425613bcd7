"""The statements of `servers/sql`, as they are resolved there for each engine."""

from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parent.parent.parent / "sql"
NAME, PARAMS = "-- name: ", "-- params:"


class Statement(NamedTuple):
    """A statement as its engine takes it."""

    name: str
    text: str
    order: tuple[int, ...]
    """Of the parameters that are sent, the place of each among those that are given, from 0."""

    def arranger(self) -> Callable[[tuple[Any, ...]], tuple[Any, ...]] | None:
        """Puts given parameters into the order in which they are sent; nothing where that is the same."""
        if self.order == tuple(range(len(self.order))):
            return None
        return itemgetter(*self.order) if len(self.order) > 1 else lambda given: (given[self.order[0]],)


def read(workload: str, engine: str) -> dict[str, Statement]:
    """All statements of a workload, by name."""
    path = FOLDER / f"{workload}.{engine}.sql"
    return {statement.name: statement for statement in parse(path.read_text(encoding="utf-8"))}


def parse(text: str) -> list[Statement]:
    """The statements of a file, each behind its name and the numbers of its parameters."""
    statements = []
    for part in text.split(NAME)[1:]:
        name, params, *lines = part.splitlines()
        if not params.startswith(PARAMS):
            raise ValueError(f"statement `{name}` does not say its parameters")
        order = tuple(int(number) - 1 for number in params.removeprefix(PARAMS).split())
        statements.append(Statement(name.strip(), "\n".join(lines).strip(), order))
    return statements
