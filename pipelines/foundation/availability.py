"""A database that is away or locked: how long a request waits for it, and by what that is recognized.

A request has one allowance for everything that it asks the database, so that it answers within `REQUEST_SECONDS` even
where several statements meet a lock one after another. Workers and commands have none and wait as the settings say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from time import monotonic
from typing import Any

from django.db import InterfaceError, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from pipelines.foundation.errors import Unavailable

REQUEST_SECONDS = 3.0
"""What a request waits in sum; with a connection that is opened meanwhile it answers within 5 s."""
WORKER_SECONDS = 10.0
RETRY_AFTER_SECONDS = 2
_LEAST_SECONDS = 0.1
"""What is left for a statement when the allowance is spent: one that need not wait works."""

_AWAY_SQLITE = tuple(
    f"SQLITE_{name}" for name in ("BUSY", "LOCKED", "CANTOPEN", "IOERR", "FULL", "READONLY", "PROTOCOL")
)
_AWAY_POSTGRES = ("08", "53", "57", "40", "55P03")
"""Classes of SQLSTATE: connection, resources, operator (shutdown, timeout), rollback; and a lock that was not got."""
_WORDS = {
    "SQLITE_BUSY": "another process has locked it",
    "SQLITE_LOCKED": "another process has locked it",
    "SQLITE_CANTOPEN": "its file cannot be opened",
    "SQLITE_IOERR": "its file cannot be read or written",
    "SQLITE_FULL": "its disk is full",
    "SQLITE_READONLY": "its file cannot be written",
    "53": "the server has run out of a resource",
    "57014": "it did not answer in time",
    "55P03": "another process has locked the rows",
    "40": "another process has changed the same rows",
}


class DatabaseUnavailable(Unavailable):
    """The database is away or locked; the request was not carried out."""

    code = "database_unavailable"
    title = "The database is unavailable"


class _Allowance:
    """The seconds that a request may still wait."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def spend(self, seconds: float) -> None:
        self.left = max(0.0, self.left - seconds)


_allowance: ContextVar[_Allowance | None] = ContextVar("database_allowance", default=None)


@contextmanager
def bounded(seconds: float = REQUEST_SECONDS) -> Iterator[None]:
    """Whatever is asked of the database within waits no longer than this in sum."""
    token = _allowance.set(_Allowance(seconds))
    try:
        yield
    finally:
        _allowance.reset(token)


def is_unavailable(error: BaseException | None) -> bool:
    """Whether the database is away or locked; what is wrong with a statement is another matter."""
    if isinstance(error, InterfaceError):
        return True
    if not isinstance(error, OperationalError):
        return False
    code = _code(error)
    if code is None:  # a connection that is not made has none
        return not str(error).startswith("no such ")
    return code.startswith(_AWAY_SQLITE + _AWAY_POSTGRES)


def why_unavailable(error: BaseException) -> str:
    """The reason as part of a sentence."""
    code = _code(error) or ""
    return next((words for known, words in _WORDS.items() if code.startswith(known)), "it does not answer")


def unavailable(error: BaseException) -> DatabaseUnavailable:
    """What a caller is told."""
    return DatabaseUnavailable(
        f"The database cannot be used: {why_unavailable(error)}.",
        hint="Nothing was changed. Try again in a few seconds; /readyz shows when the database answers.",
        retry_after=RETRY_AFTER_SECONDS,
    )


def _code(error: BaseException) -> str | None:
    cause = error.__cause__
    return getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)


def limit_waits(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Have every statement of a new connection observe the allowance of its request."""
    if _observing not in connection.execute_wrappers:
        connection.execute_wrappers.append(_observing)


def _observing(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    allowance = _allowance.get()
    _limit(context["connection"], allowance)
    if allowance is None:
        return execute(sql, params, many, context)
    started = monotonic()
    try:
        return execute(sql, params, many, context)
    finally:
        allowance.spend(monotonic() - started)


def _limit(connection: BaseDatabaseWrapper, allowance: _Allowance | None) -> None:
    """Tell the database, where it was told something else before. Seconds are rounded, so that this is rare."""
    raw: Any = connection.connection
    database: Any = connection
    if connection.vendor == "sqlite":
        seconds = WORKER_SECONDS if allowance is None else max(_LEAST_SECONDS, round(allowance.left, 1))
    elif allowance is None:
        return  # the connection's options bound it
    else:
        seconds = max(1.0, float(round(allowance.left)))
    told = (id(raw), seconds)
    if getattr(connection, "headgate_limit", None) == told:
        return
    milliseconds = round(seconds * 1000)
    if connection.vendor == "sqlite":
        raw.execute(f"PRAGMA busy_timeout = {milliseconds}")
    else:
        with suppress(database.Database.Error):  # a transaction that has failed takes no more statements
            raw.execute(f"SET lock_timeout = {milliseconds}; SET statement_timeout = {milliseconds}")
    connection.headgate_limit = told  # type: ignore[attr-defined]
