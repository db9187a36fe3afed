"""The background loop: a thread of a worker that repeats a pass until it is stopped."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, field
from uuid import UUID

import structlog
from django.db import OperationalError, close_old_connections, connections

from pipelines.foundation.availability import is_unavailable, why_unavailable
from workers.ports import Exclusive

SLOWEST_RETRY = 5.0
_DOUBLINGS = 8

log = structlog.get_logger(__name__)


@dataclass
class BackgroundLoop:
    """`turn` does one pass and returns the seconds until the next; a ring of `bell` brings that one at once.

    `pause`: the seconds until the next pass after one that failed; they double while passes fail one after another, up
    to `slowest`. No error ends the loop. `lock`: without it nothing is done, and it is asked for again after `pause`.
    `stopping` tells a long pass that the loop is to end; `close` then ends what the passes have left open.
    """

    name: str
    turn: Callable[[], float]
    _: KW_ONLY
    pause: float
    slowest: float = SLOWEST_RETRY
    first_after: float = 0.0
    lock: Exclusive | None = None
    close: Callable[[], object] = lambda: None
    bell: threading.Event = field(default_factory=threading.Event)
    stopping: threading.Event = field(default_factory=threading.Event)
    _failures: Counter[type[Exception]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)

    def start(self) -> None:
        """Begin, with the first pass after `first_after` seconds."""
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """End after the present pass; waits for that at most `timeout` seconds, and returns whether it has ended."""
        self.stopping.set()
        self.bell.set()
        if self._thread.is_alive():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        pause = self.first_after
        while self._goes_on_after(pause):
            pause = self._once()
        self._end()

    def _goes_on_after(self, pause: float) -> bool:
        """The bell is cleared before the look at `stopping`, and before a pass: no ring is lost."""
        self.bell.wait(pause)
        self.bell.clear()
        return not self.stopping.is_set()

    def _once(self) -> float:
        try:
            pause = self._pass()
        except Exception as error:
            return self._failed(error)
        if self._failures:
            log.info("background_loop_recovered", loop=self.name, failures=self._failures.total())
            self._failures.clear()
        return pause

    def _pass(self) -> float:
        """Connections to the database that broke or are too old are replaced before and after."""
        close_old_connections()
        try:
            return self.turn() if self.lock is None or self.lock.acquire() else self.pause
        finally:
            close_old_connections()

    def _failed(self, error: Exception) -> float:
        """Log the first error of its kind since the last pass that succeeded; returns the seconds until the next."""
        kind = OperationalError if is_unavailable(error) else type(error)
        self._failures[kind] += 1
        if self._failures[kind] == 1 and is_unavailable(error):
            log.warning("database_unavailable", loop=self.name, cause=why_unavailable(error))
        elif self._failures[kind] == 1:
            log.error("background_loop_failed", loop=self.name, exc_info=error)
        doubled = self.pause * 2.0 ** min(self._failures.total() - 1, _DOUBLINGS)
        return min(doubled, max(self.pause, self.slowest))

    def _end(self) -> None:
        try:
            self.close()
        except Exception:
            log.exception("background_loop_not_closed", loop=self.name)
        finally:
            if self.lock is not None:
                self.lock.release()
            connections.close_all()


class UnderWay:
    """What a loop finds in the database and has made beside its passes, a few at once. `name`: of the threads."""

    def __init__(self, name: str, *, at_once: int) -> None:
        self._pool = ThreadPoolExecutor(max_workers=at_once, thread_name_prefix=name)
        self._tasks: set[UUID] = set()

    def begin(self, task: UUID, make: Callable[[], object]) -> None:
        """Have `make` called soon, unless the task is under way."""
        if task not in self._tasks:
            self._tasks.add(task)
            self._pool.submit(self._run, task, make)

    def close(self) -> None:
        """End; what is under way is made again by the next worker."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, task: UUID, make: Callable[[], object]) -> None:
        try:
            make()
        finally:
            self._tasks.discard(task)
            connections.close_all()
