"""Errors that a caller can act upon: a stable code, words, a hint, and data where there is any."""

from __future__ import annotations

from typing import Any


class HeadgateError(Exception):
    """What went wrong (`detail`), and what to do next (`hint`). `data` is added to the answer as it is."""

    status = 500
    code = "internal_error"
    title = "Unexpected error"

    def __init__(
        self, detail: str, *, code: str | None = None, hint: str = "", findings: list[Any] | None = None, **data: Any
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.code
        self.hint = hint
        self.findings = findings or []
        self.data = data


class BadRequest(HeadgateError):
    """The request cannot be understood."""

    status = 400
    code = "bad_request"
    title = "Invalid request"


class Forbidden(HeadgateError):
    """The caller's role does not allow it."""

    status = 403
    code = "forbidden"
    title = "Not allowed"


class NotFound(HeadgateError):
    """There is no such thing."""

    status = 404
    code = "not_found"
    title = "Not found"


class Conflict(HeadgateError):
    """The request is refused in the present state; the detail names who holds it and why."""

    status = 409
    code = "conflict"
    title = "Not possible in the current state"


class PreconditionFailed(HeadgateError):
    """If-Match names another version than the present one."""

    status = 412
    code = "changed_meanwhile"
    title = "Changed in the meantime"


class Invalid(HeadgateError):
    """The content is wrong; `findings` has every problem at once."""

    status = 422
    code = "invalid"
    title = "The content is not valid"


class PreconditionRequired(HeadgateError):
    """The request needs an If-Match header."""

    status = 428
    code = "if_match_required"
    title = "If-Match is required"


class TooManyRequests(HeadgateError):
    """A limit is reached; `retry_after` in seconds."""

    status = 429
    code = "too_many_requests"
    title = "Too many requests"


class Unavailable(HeadgateError):
    """Something that the answer needs cannot be reached."""

    status = 503
    code = "unavailable"
    title = "Temporarily unavailable"
