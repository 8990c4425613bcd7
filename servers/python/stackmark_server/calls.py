"""From a request to an answer: FastAPI's custom request and route, with the contract's rules of reading."""

import asyncio
import json as stdlib_json
import re
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import ClientDisconnect

from stackmark_server import problem
from stackmark_server.problem import Defect, Problem
from stackmark_server.settings import BODY_BYTES_MAX, BODY_READ_S
from stackmark_server.work import Work

# Read past a body that is too large, so that its client, which is still sending, gets to read why.
READ_PAST_MAX = 1 << 20
ID_MAX = 2**53 - 1
VERSION_MAX = 2**63 - 2
WHOLE = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
CHARSET = re.compile(rb"charset\s*=\s*\"?([^\"\s]*)\"?", re.IGNORECASE)


class IdConvertor(StringConvertor):
    """Of what stands in the place of an id."""

    regex = "[^/]+"


class FoodIdConvertor(StringConvertor):
    """The same among foods, where `bulk` is a path of its own."""

    regex = "(?!bulk$)[^/]+"


register_url_convertor("id", IdConvertor())
register_url_convertor("food", FoodIdConvertor())

T = TypeVar("T")
Say = Callable[[str], None]


class Call(Request):
    """A request with its account."""

    work: Work

    @property
    def size(self) -> dict[str, int]:
        """Of the loaded data, in the workload's own account."""
        return self.app.state.size

    async def run(self, name: str, *args: Any) -> Any:
        """Runs a transaction of the workload."""
        state = self.app.state
        return await state.store.run(self.work, getattr(state.transactions, name), *args)

    def id(self) -> int:
        """The id in the path. What is no id names nothing; and `%31` is no other way to write one."""
        number = whole(self.path_params["id"], 1, ID_MAX)
        if number is None or b"%" in self.scope["raw_path"]:
            raise problem.unknown_id(f"the id in the path is not a number of 1 to {ID_MAX}")
        return number

    def version(self) -> int:
        """The version that a change is for: one strong entity tag (RFC 9110 13.1.1)."""
        tags = self.headers.getlist("if-match")
        if not tags:
            raise problem.unconditional()
        tag = tags[0] if len(tags) == 1 else ""
        quoted = len(tag) > 2 and tag[0] == tag[-1] == '"'
        version = whole(tag[1:-1], 1, VERSION_MAX) if quoted else None
        if version is None:
            raise problem.invalid('if-match is not the etag of an answer: a version in quotes, such as "1"')
        return version

    async def body(self) -> bytes:
        """The body, never more of it than the limit."""
        if not self._is_json():
            raise problem.unsupported_type()
        length = self.headers.get("content-length", "0")
        if len(length) > 9 or int(length) > READ_PAST_MAX:
            raise problem.too_large(BODY_BYTES_MAX)
        try:
            async with asyncio.timeout(BODY_READ_S):
                body = await self._read()
        except TimeoutError:
            raise problem.too_slow() from None
        if len(body) > BODY_BYTES_MAX:
            raise problem.too_large(BODY_BYTES_MAX)
        return body

    async def _read(self) -> bytes:
        chunks, size = [], 0
        async for chunk in self.stream():
            size += len(chunk)
            if size > READ_PAST_MAX:
                raise problem.too_large(BODY_BYTES_MAX)
            chunks.append(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _is_json(self) -> bool:
        """`application/json`, once, and in UTF-8 where it says in what: RFC 8259 8.1 knows nothing else."""
        types = [value for name, value in self.scope["headers"] if name == b"content-type"]
        if types == [b"application/json"]:
            return True
        if len(types) != 1:
            return False
        media, *parameters = types[0].split(b";")
        charsets = [CHARSET.fullmatch(parameter.strip()) for parameter in parameters]
        return media.strip().lower() == b"application/json" and all(
            found is None or found[1].lower() == b"utf-8" for found in charsets
        )


class CallRoute(APIRoute):
    """Gives its endpoint a `Call`, and every answer its footnotes; what the endpoint raises becomes a problem document.

    An endpoint takes its call and nothing else. So what FastAPI does to find the arguments of others, a sixth of a whole call's
    time where there are none, is left out.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        endpoint = self.endpoint

        async def handle(request: Request) -> Response:
            work = Work()
            call = Call(request.scope, request.receive)
            call.work = work
            try:
                response: Response = await endpoint(call)
            except Problem as found:
                response = refusal(found, request.app.state.say)
            except ClientDisconnect:
                # Nobody is left who would read it.
                response = refusal(problem.malformed("the body ended before it was complete", close=True))
            except Exception as error:  # noqa: BLE001 — what else it may be is a bug, and the client gets no more than that
                response = refusal(Defect(f"{type(error).__name__}: {error}"), request.app.state.say)
            response.raw_headers += work.headers()
            return response

        return handle


# What msgspec says of 1e400. No parser can say what such a number is, and it is answered as the other servers answer it.
BEYOND_FLOATS = "Number out of range"


def is_utf_8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, each of whose members is there once."""
    found = dict(members)
    if len(found) != len(members):
        raise problem.invalid("a field is there twice")
    return found


def decode(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """What a body says: it has all fields of its type, each of them once, and no others, in exactly their types."""
    try:
        call = decoder.decode(body)
        # Of a field that is there twice that decoder takes the second one.
        stdlib_json.loads(body, object_pairs_hook=once)
        return call
    except msgspec.ValidationError as error:
        if str(error).startswith(BEYOND_FLOATS) or not is_utf_8(body):
            raise problem.malformed(f"the body is not JSON: {error}") from None
        raise problem.invalid(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise problem.malformed(f"the body is not JSON: {error}") from None


def refusal(found: Problem, say: Say | None = None) -> Response:
    """A problem document."""
    if isinstance(found, Defect) and say is not None:
        say(f"defect: {found.what}")
    return Response(found.document(), found.status, found.headers(), "application/problem+json")


def json(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer."""
    return Response(msgspec.json.encode(document), status, headers, "application/json")


def etag(version: int) -> dict[str, str]:
    return {"etag": f'"{version}"'}


def whole(text: str, least: int, most: int) -> int | None:
    """Digits without a sign and without zeros before them, or nothing."""
    number = int(text) if WHOLE.fullmatch(text) else None
    return number if number is not None and least <= number <= most else None
