"""Answers that are no outcomes (RFC 9457), and the faults that lead to them."""

import msgspec

URN = "urn:stackmark:problem:"
RETRY_AFTER_S = "1"


class Problem(Exception):
    """An answer other than an outcome. Its type says what it means, its detail is for people."""

    applied = "no"
    reason: str | None = None
    close = False
    """Whether the connection is closed: the rest of the request will not be read."""

    def __init__(self, status: int, kind: str, title: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.kind, self.title, self.detail = status, kind, title, detail

    def document(self) -> bytes:
        members = {
            "type": URN + self.kind,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "applied": self.applied,
        }
        if self.reason is not None:
            members["reason"] = self.reason
        return msgspec.json.encode(members)

    def headers(self) -> dict[str, str]:
        headers = {}
        if self.status == 503:
            headers["retry-after"] = RETRY_AFTER_S
        if self.close:
            headers["connection"] = "close"
        return headers


class Decline(Problem):
    """The workload's rules say no, and nothing was changed."""

    def __init__(self, status: int, kind: str, title: str) -> None:
        super().__init__(status, kind, title, "the call was declined, and changed nothing")


class Conflict(Problem):
    """An attempt met another transaction and was undone: it may be repeated."""

    def __init__(self, reason: str) -> None:
        super().__init__(409, "conflict", "conflict", "the engine refused every attempt; repeating is safe")
        self.reason = reason


class Refused(Problem):
    """Not attempted, or not applied for sure."""

    def __init__(self, reason: str, detail: str = "the call was not attempted; trying again later may help") -> None:
        super().__init__(503, "refused", "refused", detail)
        self.reason = reason


class InDoubt(Problem):
    """Nobody knows whether it was applied."""

    applied = "unknown"

    def __init__(self, reason: str) -> None:
        status = 504 if reason == "deadline" else 500
        super().__init__(status, "in-doubt", "in doubt", "the call may or may not have been applied")
        self.reason = reason


class Defect(Problem):
    """A bug, here or in the data. `what` is for standard error alone."""

    applied = "unknown"

    def __init__(self, what: str) -> None:
        super().__init__(500, "defect", "defect", "internal error; see the server log")
        self.what = what


def malformed(detail: str, *, title: str = "malformed call", close: bool = False) -> Problem:
    problem = Problem(400, "malformed", title, detail)
    problem.close = close
    return problem


def invalid(detail: str) -> Problem:
    return Problem(422, "invalid", "invalid call", detail)


def unknown_id(detail: str) -> Problem:
    return Problem(404, "unknown-id", "unknown id", detail)


def unknown_path() -> Problem:
    return Problem(404, "unknown-path", "unknown path", "nothing is served at this path; the contract lists what is")


def method_not_allowed() -> Problem:
    detail = "this path exists with another method; see the allow header"
    return Problem(405, "method-not-allowed", "method not allowed", detail)


def too_slow() -> Problem:
    problem = Problem(408, "too-slow", "body too slow", "the body did not arrive in time")
    problem.close = True
    return problem


def too_large(most: int) -> Problem:
    problem = Problem(413, "too-large", "body too large", f"the body is over {most} bytes")
    problem.close = True
    return problem


def unsupported_type() -> Problem:
    detail = "the content type must be application/json, once, and in no other charset than utf-8"
    return Problem(415, "unsupported-type", "unsupported content type", detail)


def unconditional() -> Problem:
    detail = 'if-match is missing; it names the version to be changed, as etag does: "1"'
    return Problem(428, "unconditional", "unconditional change", detail)
