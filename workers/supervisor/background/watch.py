"""Watches, in a background loop beside the ticks: lag, output, rules of alerts, consumer groups, replays of ranges.

Nothing depends on it: a watch that is late or dies makes a series less exact and an alert later.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import connections

from pipelines.foundation import clock
from pipelines.services.monitoring import alerts
from pipelines.services.monitoring import lag as series
from pipelines.services.monitoring.alerts import Patience
from pipelines.services.monitoring.output import OutputWatch
from workers.ports import Exclusive
from workers.supervisor.background.brokers import Brokers
from workers.supervisor.background.external_groups import GroupWatch
from workers.supervisor.background.loop import BackgroundLoop
from workers.supervisor.background.retry_loop import RetryLoop
from workers.supervisor.background.watch_lag import LagWatch
from workers.supervisor.launch.references import References

CHECK_SECONDS = 3.0
ROLL_UP_SECONDS = 60.0
INSPECTIONS_AT_ONCE = 4
"""Clusters that are asked at the same time; one that is away holds up one of them."""


@dataclass
class Watch:
    """Everything that is watched for a host, and when it was last."""

    lag: LagWatch
    output: OutputWatch
    groups: GroupWatch
    replays: RetryLoop
    executor: Executor
    patience: Patience = field(default_factory=Patience)
    _check_due: float = 0.0
    _roll_up_due: float = 0.0

    def loop(self, lock: Exclusive) -> BackgroundLoop:
        """`lock`: one watch per host, however many workers it has."""
        return BackgroundLoop("watch", self.turn, pause=CHECK_SECONDS, lock=lock, close=self.close)

    def turn(self) -> float:
        """Do what is due; returns the seconds until something is due again."""
        now = time.monotonic()
        if now >= self._check_due:
            self._check_due = now + CHECK_SECONDS
            facts = self.output.add_to(self.lag.measure(time.time()), now)
            alerts.evaluate(facts=facts, patience=self.patience, now=now)
        if now >= self._roll_up_due:
            self._roll_up_due = now + ROLL_UP_SECONDS
            series.roll_up(clock.now(), self.lag.host)
            self.replays.sweep()
        self.replays.turn()
        return min(self.groups.turn(), max(0.0, self._check_due - time.monotonic()))

    def close(self) -> None:
        """Begin nothing more; what is being asked ends by its own deadline."""
        self.executor.shutdown(wait=False, cancel_futures=True)


def watch(host: str, state_dir: Path, brokers: Brokers, references: References) -> Watch:
    """The watch of a host, with threads of its own for what may take long."""
    executor = _Threads(max_workers=INSPECTIONS_AT_ONCE, thread_name_prefix="watch")
    return Watch(
        LagWatch(host, brokers, references, executor),
        OutputWatch(host),
        GroupWatch(host, brokers, references, executor),
        RetryLoop(host, state_dir),
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
