"""The database from asynchronous code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from asgiref.sync import sync_to_async
from django.db import connections

from pipelines.foundation.availability import bounded

T = TypeVar("T")


async def in_database(read: Callable[[], T]) -> T:
    """Call `read` in the request's own thread, with an allowance of its own, and keep no connection for the time until
    the next call."""

    def probe() -> T:
        try:
            with bounded():
                return read()
        finally:
            release_connections()

    return await sync_to_async(probe)()


def release_connections() -> None:
    """Close this thread's connections as at the end of a request, but none that is inside a transaction."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
