"""The least that FastAPI and the driver can do for a call: one prepared point read, and a fixed answer. What the server is
measured against; it reads the same environment."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Response

from stackmark_server import mariadb, postgres, statements
from stackmark_server.serve import run
from stackmark_server.settings import Settings

BODY = (
    b'{"id":1,"category":1,"name":"a food with a name of this length","kcal":319,"protein":101,"fat":52,"carbs":77,'
    b'"fibre":null,"price":1995,"version":1}'
)


async def make(settings: Settings, worker: int, say: Callable[[str], None]) -> tuple[Any, Callable[[], Awaitable[None]]]:
    """An application over a queue of connections, each with its statement prepared."""
    url = settings.database
    text = statements.read("catalogue", url.engine)["food"].text
    connections: list[Any] = []
    free: asyncio.LifoQueue[Any] = asyncio.LifoQueue()
    for _ in range(settings.connections_of(worker)):
        connection = await (postgres if url.engine == "postgres" else mariadb).connect(url)
        connections.append(connection)
        free.put_nowait(await connection.prepare(text))

    async def point_read(id: int) -> None:
        prepared = await free.get()
        try:
            await (prepared.fetch(id) if url.engine == "postgres" else prepared.execute((id,)))
        finally:
            free.put_nowait(prepared)

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    @app.get("/foods/{id}")
    async def food(id: int) -> Response:
        await point_read(id)
        return Response(BODY, media_type="application/json")

    @app.get("/categories")
    async def categories() -> Response:
        await point_read(1)
        return Response(BODY, media_type="application/json")

    async def close() -> None:
        for connection in connections:
            connection.close() if url.engine == "mariadb" else connection.terminate()

    return app, close


if __name__ == "__main__":
    run(make)
