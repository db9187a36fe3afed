"""When a component that does not answer counts as away, and how often it is asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from pipelines.domain.base.causes import explain
from pipelines.domain.runs.protocol import Holding

_FAILURES_BEFORE_AWAY = 2
_INTERVAL = 1.0
_AGAIN = 0.2
"""Seconds after which a look that failed is repeated: what hangs answers no sooner, and each look takes its time."""


class Absence:
    """Looks in a row that failed. `what`: the kind of component, for the cause."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._failures = 0
        self._since = 0.0

    @property
    def pause(self) -> float:
        """Seconds until the next look."""
        return _AGAIN if 0 < self._failures < _FAILURES_BEFORE_AWAY else _INTERVAL

    def answered(self) -> None:
        """One look that did not fail ends it."""
        self._failures = 0

    def missed(self, path: str, error: Exception) -> Holding | None:
        """A look failed; what is held up by the component, once it counts as away."""
        self._failures += 1
        if self._failures == 1:
            self._since = time.time()
        if self._failures < _FAILURES_BEFORE_AWAY:
            return None
        cause = f"The {self._what} cannot be reached: {explain(error)}"
        return Holding(component=path, cause=cause, attempts=self._failures, since=self._since)

    def watch(self, name: str, look: Callable[[], None]) -> None:
        """Look again and again, in a daemon thread of that name."""

        def run() -> None:
            while True:
                look()
                time.sleep(self.pause)

        threading.Thread(target=run, name=name, daemon=True).start()
