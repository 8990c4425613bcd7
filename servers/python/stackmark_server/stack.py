"""What stands behind the server, as `/about` says it: read back from the engine, and not assumed."""

from importlib.metadata import version as version_of
from typing import Any

import msgspec


class Stack(msgspec.Struct, kw_only=True):
    """In the words in which results are compared."""

    engine: str
    engine_version: str
    adapter: str
    adapter_version: str
    style: str
    route: str = "direct"
    server: str | None = None
    isolation: str
    durability: dict[str, str]
    settings: list[tuple[str, str]]


def adapter(driver: str, how: str) -> dict[str, str]:
    """What stands between server and engine, and in which style."""
    if how == "sqlalchemy/orm":
        version = f"{version_of('sqlalchemy')} ({driver} {version_of(driver)})"
        return {"adapter": "sqlalchemy", "adapter_version": version, "style": "orm"}
    return {"adapter": driver, "adapter_version": version_of(driver), "style": how.partition("/")[2] or "plain"}


class Loaded(msgspec.Struct):
    """What was loaded: its scale in the workload's unit, and its size in the workload's own account."""

    scale: int
    size: dict[str, Any]


def loaded(contents: str) -> Loaded:
    """From the record that a load leaves in the database."""
    record = msgspec.json.decode(contents)["record"]
    return Loaded(record["scale"], msgspec.json.decode(record["size"]))
