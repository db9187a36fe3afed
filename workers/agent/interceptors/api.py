"""What a Python interceptor sees: its events, and the context that it is initialised with. Imports nothing of Spark.

An interceptor is a class whose constructor takes no arguments, with `intercept(event)` or `intercept_batch(events)`,
and, where it needs them, `initialize(context)` and `close()`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LOOK = 0.2
"""Seconds between two looks at the order to stop."""


class InitializationError(Exception):
    """Raise it in `intercept` where the interceptor itself is not ready: no event is to blame, the batch fails."""


class Cancelled(Exception):
    """The run is being stopped. Let it pass: the batch is given up, and read again by the next run."""


class Event:
    """One event: `body` (bytes or None), `headers` (text by name) and `key` (bytes or None) may be changed.

    `topic`, `partition` and `offset` tell where it came from; an event that the interceptor makes has none.
    """

    __slots__ = ("_headers", "_origin", "body", "key")

    def __init__(self, body: bytes | None = None, headers: dict[str, str] | None = None, key: bytes | None = None):
        self.body = body
        self.key = key
        self._headers: dict[str, str] | None = {} if headers is None else dict(headers)
        self._origin: Origin | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The headers; decoded when they are first looked at."""
        if self._headers is None:
            self._headers = {} if self._origin is None else self._origin.headers()
        return self._headers

    @headers.setter
    def headers(self, headers: dict[str, str]) -> None:
        self._headers = headers

    @property
    def topic(self) -> str | None:
        """Topic, file or source that the record came from."""
        return None if self._origin is None else self._origin.value("topic")

    @property
    def partition(self) -> int | None:
        """Its partition."""
        return None if self._origin is None else self._origin.value("partition")

    @property
    def offset(self) -> int | None:
        """Its offset within the partition."""
        return None if self._origin is None else self._origin.value("offset")


class Origin:
    """Where an event stands in an Arrow batch. Looks a value up only when it is asked for."""

    __slots__ = ("_look_up", "row")

    def __init__(self, look_up: Callable[[str], list[Any]], row: int) -> None:
        self._look_up = look_up
        self.row = row

    def value(self, column: str) -> Any:
        """The row's value in a column."""
        return self._look_up(column)[self.row]

    def headers(self) -> dict[str, str]:
        """The headers as text; of several with one name the first. Bytes that are no UTF-8 survive a round trip."""
        pairs = self.value("headers") or []
        return {pair["key"]: decode(pair["value"]) for pair in reversed(pairs)}


def decode(value: bytes | None) -> str:
    """The text of a header's value."""
    return "" if value is None else value.decode("utf-8", "surrogateescape")


class Context:
    """What `initialize` gets. `host`: the name of the machine; `config`: the definition's, with references resolved."""

    Cancelled = Cancelled

    def __init__(self, *, host: str, config: dict[str, Any], control: Path | None = None) -> None:
        self.host = host
        self.config = config
        self._control = control
        self._checked = 0.0
        self._cancelled = False

    def cancelled(self) -> bool:
        """Whether the run is being stopped, without waiting for the batch in hand. Cheap enough for every event."""
        if not self._cancelled and time.monotonic() - self._checked > _LOOK:
            self._checked = time.monotonic()
            self._cancelled = self._was_told_to_stop()
        return self._cancelled

    def cancel(self) -> None:
        """Note that the run is being stopped."""
        self._cancelled = True

    def wait(self, seconds: float) -> None:
        """Sleep. Raises Cancelled as soon as the run is being stopped."""
        deadline = time.monotonic() + seconds
        while not self.cancelled():
            left = deadline - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, _LOOK))
        raise Cancelled("the run is being stopped")

    def _was_told_to_stop(self) -> bool:
        if self._control is None:
            return False
        try:
            return bool(json.loads(self._control.read_bytes()).get("command") == "stop")
        except (OSError, ValueError):
            return False
