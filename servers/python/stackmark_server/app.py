"""The application of one worker: a workload's routes, `/health` and `/about`."""

from types import ModuleType
from typing import Any, NamedTuple

import msgspec
from fastapi import APIRouter, FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match

from stackmark_server import problem
from stackmark_server.calls import Call, CallRoute, Say, refusal
from stackmark_server.store import Store
from stackmark_server.work import Work


class Workload(NamedTuple):
    """What is served."""

    routes: APIRouter
    transactions: ModuleType
    size: dict[str, int]


def application(workload: Workload, store: Store, about: dict[str, Any], say: Say) -> FastAPI:
    """Everything that a worker answers."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.store, app.state.say = store, say
    app.state.transactions, app.state.size = workload.transactions, workload.size
    said = msgspec.json.encode(about)
    server = APIRouter(route_class=CallRoute)

    @server.get("/health")
    async def health(call: Call) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    @server.get("/about")
    async def who(call: Call) -> Response:
        return Response(said, media_type="application/json")

    # The very routes, and not routers within the application's: each would be one more layer around every call.
    app.router.routes += [*workload.routes.routes, *server.routes]
    app.add_exception_handler(HTTPException, not_routed)
    return app


async def not_routed(request: Request, error: Exception) -> Response:
    """A path or a method that there is not. The method decides only on the first route that has the path: one without an id
    in it stands before those that have one."""
    work = Work()
    allowed = methods(request)
    if allowed:
        response = refusal(problem.method_not_allowed())
        response.headers["allow"] = ", ".join(allowed)
    else:
        response = refusal(problem.unknown_path())
    response.raw_headers += work.headers()
    return response


def methods(request: Request) -> list[str]:
    """What the path of a request has."""
    fitting = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in fitting for method in getattr(route, "methods", ())})
