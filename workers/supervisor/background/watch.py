"""Watches, in a thread of its own beside the ticks: lag, rules of alerts, consumer groups, replays of ranges.

Nothing depends on it: a watch that is late or dies makes a series less exact and an alert later.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from django.db import close_old_connections, connections

from pipelines.foundation import clock
from pipelines.services.monitoring import alerts
from pipelines.services.monitoring import lag as series
from pipelines.services.monitoring.alerts import Patience
from workers.ports import Exclusive
from workers.supervisor.background.brokers import Brokers
from workers.supervisor.background.watch_groups import GroupWatch
from workers.supervisor.background.watch_lag import LagWatch
from workers.supervisor.background.watch_replays import ReplayWatch
from workers.supervisor.launch.references import References

LOOK_SECONDS = 10.0
ROLL_UP_SECONDS = 60.0
LOOKS_AT_ONCE = 4
"""Clusters that are asked at the same time; one that is away holds up one of them."""

log = structlog.get_logger(__name__)


@dataclass
class Watch:
    """Everything that is watched for a host, and when it was last."""

    lag: LagWatch
    groups: GroupWatch
    replays: ReplayWatch
    executor: Executor
    patience: Patience = field(default_factory=Patience)
    _look_due: float = 0.0
    _roll_up_due: float = 0.0

    def turn(self, now: float) -> float:
        """Do what is due; `now`: seconds of a monotonic clock. Returns the seconds until something is due again."""
        if now >= self._look_due:
            self._look_due = now + LOOK_SECONDS
            alerts.evaluate(facts=self.lag.look(time.time()), patience=self.patience, now=now)
        if now >= self._roll_up_due:
            self._roll_up_due = now + ROLL_UP_SECONDS
            series.roll_up(clock.now(), self.lag.host)
            self.replays.sweep()
        self.replays.turn()
        return min(self.groups.turn(), max(0.0, self._look_due - time.monotonic()))

    def close(self) -> None:
        """Begin nothing more; what is being asked ends by its own deadline."""
        self.executor.shutdown(wait=False, cancel_futures=True)


def watch(host: str, state_dir: Path, brokers: Brokers, references: References) -> Watch:
    """The watch of a host, with threads of its own for what may take long."""
    executor = _Threads(max_workers=LOOKS_AT_ONCE, thread_name_prefix="watch")
    return Watch(
        LagWatch(host, brokers, references, executor),
        GroupWatch(host, brokers, references, executor),
        ReplayWatch(host, state_dir),
        executor,
    )


class _Threads(ThreadPoolExecutor):
    """Threads that keep no connection to the database between two tasks."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(_with_own_connection, fn, *args, **kwargs)


def _with_own_connection(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    try:
        return fn(*args, **kwargs)
    finally:
        connections.close_all()


class Watcher(threading.Thread):
    """Turns the watch of a host. `lock`: one per host, however many workers it has."""

    def __init__(self, watch: Watch, lock: Exclusive) -> None:
        super().__init__(name="watch", daemon=True)
        self._watch = watch
        self._lock = lock
        self._stopping = threading.Event()

    def run(self) -> None:
        """The loop. No error ends it."""
        while not self._stopping.wait(self._once()):
            pass
        self._watch.close()
        self._lock.release()
        connections.close_all()

    def stop(self, timeout: float) -> None:
        """End after the present turn; waits for that at most `timeout` seconds."""
        self._stopping.set()
        self.join(timeout)

    def _once(self) -> float:
        close_old_connections()
        try:
            return self._watch.turn(time.monotonic()) if self._lock.acquire() else LOOK_SECONDS
        except Exception:
            log.exception("watching_failed")
            return LOOK_SECONDS
        finally:
            close_old_connections()
