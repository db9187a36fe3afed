"""A worker that is stopped at a chosen instant of its tick, and continued after others have gone on without it.

An instant is a step on the host (`SimulatedHost.point`) or a statement that begins outside a transaction; inside one,
the database lets nobody else write, and so the worker cannot be overtaken there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection

from workers.simulated.host import SimulatedHost


@dataclass
class Freezer:
    """Calls `meanwhile` at the instant number `instant` of what runs under it; `happened`: it came to that."""

    host: SimulatedHost
    instant: int
    meanwhile: Callable[[], None]
    happened: bool = False
    _seen: int = 0

    def _reach(self) -> None:
        if self.happened:
            return
        if self._seen == self.instant:
            self.happened = True
            self.meanwhile()
        self._seen += 1

    def _before_statement(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if not connection.savepoint_ids:
            self._reach()
        return execute(sql, params, many, context)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count the instants of a tick."""
        before = self.host.point
        self.host.point = lambda _name: self._reach()
        try:
            with connection.execute_wrapper(self._before_statement):
                yield
        finally:
            self.host.point = before
