"""Beside the records, in a thread of its own: whether a sink answers whose write takes long.

A client of a sink tries again for as long as its time limit, half a minute or more, before the write fails. That the
sink is away can be known long before.
"""

from __future__ import annotations

import time

from workers.agent.base.frames import within
from workers.agent.delivery.ledger import ChannelLedger
from workers.agent.watching.absence import Absence

_SLOW = 1.0
"""Seconds that a write may take before its sink is asked."""


class SinkWatch:
    """Asks the sink of one channel about once a second while a write to it is slow."""

    def __init__(self, ledger: ChannelLedger) -> None:
        self._ledger = ledger
        self._absence = Absence("sink")

    def start(self) -> None:
        """Begin, in a daemon thread."""
        self._absence.watch(f"sinks of {self._ledger.name}", self.check)

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
        self._absence.answered()
        self._ledger.sink_away = None

    def _missed(self, path: str, error: Exception) -> None:
        if away := self._absence.missed(path, error):
            first, self._ledger.sink_away = self._ledger.sink_away is None, away
            if first:
                self._ledger.on_change()
