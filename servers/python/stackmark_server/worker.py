"""What one worker is made of: its sessions, its pool, its application."""

import asyncio
import importlib.metadata
import os
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from stackmark_server import VERSION, mariadb, postgres
from stackmark_server.app import Workload, application
from stackmark_server.calls import Say
from stackmark_server.catalogue import plain as catalogue
from stackmark_server.catalogue.routes import routes as catalogue_routes
from stackmark_server.pool import Pool
from stackmark_server.settings import QUEUED_MAX, Settings
from stackmark_server.stack import Stack, loaded
from stackmark_server.statements import Statement, read
from stackmark_server.store import Store
from stackmark_server.tpcc import plain as tpcc
from stackmark_server.tpcc.routes import routes as tpcc_routes

DRIVERS = {"postgres": postgres, "mariadb": mariadb}


async def make(settings: Settings, worker: int, say: Say) -> tuple[Any, Callable[[], Awaitable[None]]]:
    """The application, with all of its connections open and their statements prepared, and what closes them."""
    url, connections = settings.database, settings.connections_of(worker)
    driver = DRIVERS[url.engine]
    stack, contents = await driver.read_back(url, settings.how)
    data = loaded(contents)
    workload, statements = served(settings, data.size)
    if settings.how == "sqlalchemy/orm":
        # Here and not above: it is large, and the other servers do without.
        from stackmark_server.sqlalchemy_session import opener_of

        opener = await opener_of(url, driver, connections)
    else:
        opener = driver.opener(url, statements, settings.how)
    sessions = await asyncio.gather(*(opener() for _ in range(connections)))
    store = Store(Pool(sessions, settings.share(QUEUED_MAX)), opener, say)
    return application(workload, store, about(settings, stack, data.scale), say), store.close


def served(settings: Settings, size: dict[str, int]) -> tuple[Workload, dict[str, Statement]]:
    """The workload, and the statements that it sends."""
    statements = read(settings.workload, settings.database.engine)
    if settings.workload == "tpcc":
        return Workload(tpcc_routes, tpcc, size), statements
    if settings.how == "sqlalchemy/orm":
        from stackmark_server.catalogue import orm

        return Workload(catalogue_routes, orm, size), {}
    return Workload(catalogue_routes, catalogue, size), {name: statements[name] for name in catalogue.STATEMENTS}


def about(settings: Settings, stack: Stack, scale: int) -> dict[str, Any]:
    """Who answers, and what is behind it."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("fastapi", "uvicorn"))
    return {
        "name": "stackmark-fastapi",
        "version": f"{VERSION} ({versions})",
        "contract": f"{settings.workload}/1",
        "workload": settings.workload,
        "scale": scale,
        "pool": settings.pool,
        "workers": settings.workers,
        "pid": os.getpid() if settings.workers == 1 else os.getppid(),
        "limits": settings.limits(),
        "stack": msgspec.to_builtins(stack),
    }
