"""Beside the records, in a thread of its own: whether a sink answers whose write takes long.

A client of a sink tries again for as long as its time limit, half a minute or more, before the write fails. That the
sink is away can be known long before.
"""

from __future__ import annotations

import threading
import time

from pipelines.domain.base.causes import explain
from pipelines.domain.runs.protocol import Holding
from workers.agent.base.frames import within
from workers.agent.delivery.ledger import ChannelLedger

_INTERVAL = 1.0
_SLOW = 2.0
"""Seconds that a write may take before its sink is asked."""
_FAILURES_BEFORE_AWAY = 2


class SinkWatch:
    """Asks the sink of one channel about once a second while a write to it is slow."""

    def __init__(self, ledger: ChannelLedger) -> None:
        self._ledger = ledger
        self._failures = 0
        self._since = 0.0

    def start(self) -> None:
        """Begin, in a daemon thread."""
        threading.Thread(target=self._run, name=f"sinks of {self._ledger.name}", daemon=True).start()

    def _run(self) -> None:
        while True:
            self.check()
            time.sleep(_INTERVAL)

    def check(self) -> None:
        """One look; several failures in a row mean that the sink is away."""
        writing = self._ledger.group.writing
        if writing is None or time.monotonic() - writing.since < _SLOW:
            self._answered()
            return
        sink = self._ledger.group.sinks[writing.sink]
        try:
            within(sink.place.path, sink.reach)()
        except Exception as error:
            self._missed(sink.place.path, error)
        else:
            self._answered()

    def _answered(self) -> None:
        self._failures = 0
        self._ledger.sink_away = None

    def _missed(self, path: str, error: Exception) -> None:
        self._failures += 1
        if self._failures == 1:
            self._since = time.time()
        if self._failures >= _FAILURES_BEFORE_AWAY:
            cause = f"The sink cannot be reached: {explain(error)}"
            first = self._ledger.sink_away is None
            self._ledger.sink_away = Holding(component=path, cause=cause, attempts=self._failures, since=self._since)
            if first:
                self._ledger.on_change()
