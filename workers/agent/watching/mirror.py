"""Beside the records, in threads of their own: looks at the source's ends, and the mirror for lag tools."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from pipelines.domain.base.causes import explain
from pipelines.domain.runs.protocol import IngestBufferStatus
from workers.agent.base.log import say
from workers.agent.delivery.ledger import ChannelLedger
from workers.agent.delivery.real_time import Query
from workers.agent.graph.component import SourceBuilder
from workers.agent.positions.checkpoint import Offsets, positions
from workers.agent.watching.absence import Absence

_INTERVAL = 1.0
_FAILURES_BETWEEN_COMPLAINTS = 30
_LASTS = 3600.0
"""Seconds after which everything is written again, so that commits of a source at rest do not expire."""


def slowest(channel_positions: Sequence[Offsets]) -> Offsets:
    """Per partition the lowest position; a partition that one position has not met is left out."""
    shared = set.intersection(*(set(position) for position in channel_positions)) if channel_positions else set()
    return {key: min(position[key] for position in channel_positions) for key in shared}


class SourceWatch:
    """Looks at the ends of one source about once a second, for as long as the agent lives, also while it is paused."""

    def __init__(self, source: SourceBuilder, queries: list[Query]) -> None:
        self._path = source.place.path
        self._source = source
        self._queries = queries
        self.absence = Absence("source")
        self.ingest_buffer: IngestBufferStatus | None = None

    def start(self) -> None:
        """Begin, in a daemon thread."""
        self.absence.watch(f"ends of {self._path}", self.check)

    def check(self) -> None:
        """One look; several failures in a row mean that the source is away."""
        try:
            channel_positions = [position for query in self._queries for position in query.channel_positions()]
            partitions = sorted(set().union(*channel_positions))
            self.ingest_buffer = self._source.ingest_buffer()
            ends = self._source.ends(partitions)
        except Exception as error:
            if away := self.absence.missed(self._path, error):
                for query in self._queries:
                    query.source_away = away
            return
        self.absence.answered()
        for query in self._queries:
            query.saw_ends(ends)


class Mirror:
    """Commits the minimum over the required channels to the declared group. Nobody recovers from it. `rounds`: how
    often everything was written again."""

    def __init__(self, source: SourceBuilder, required: list[ChannelLedger]) -> None:
        self._source = source
        self._required = required
        self._written: Offsets = {}
        self._anew_at = time.monotonic() + _LASTS
        self._failures = 0
        self.rounds = 0

    @property
    def written(self) -> Offsets:
        """What was written last."""
        return dict(self._written)

    def forget(self, since: int) -> None:
        """Write everything again with the next commit, unless that was done since there were so many rounds: somebody
        else may have committed something after it, which is to be noticed first."""
        if since == self.rounds:
            self._anew_at = 0.0

    def start(self) -> None:
        """Begin, in a daemon thread."""
        if self._required:
            threading.Thread(target=_every, args=(_INTERVAL, self.commit), name="mirror", daemon=True).start()

    def commit(self) -> None:
        """Write what has moved since the last time, and who is behind."""
        reached = slowest([ledger.positions for ledger in self._required])
        anew = time.monotonic() >= self._anew_at
        moved = {key: offset for key, offset in reached.items() if anew or self._written.get(key) != offset}
        try:
            self._source.held_up(*self._slowest())
            if moved:
                self._source.acknowledge(positions(moved))
        except Exception as error:
            self._failures += 1
            if self._failures % _FAILURES_BETWEEN_COMPLAINTS == 0:
                say(f"committed offsets could not be written: {explain(error)}", "WARNING")
        else:
            self._failures = 0
            self._written.update(moved)
            if anew:
                self._anew_at = time.monotonic() + _LASTS
                self.rounds += 1

    def _slowest(self) -> tuple[str, str, str]:
        """The channel that is furthest behind, and the component that holds it with its cause; empty where none is."""
        ledger = min(self._required, key=lambda each: sum(each.positions.values()))
        if not ledger.lag:
            return "", "", ""
        if holding := next(iter(ledger.holdings), None):
            return ledger.channel, holding.component, holding.cause
        if writing := ledger.group.writing:
            cause = f"a write has been running for {time.monotonic() - writing.since:.0f} s"
            return ledger.channel, f"sinks.{writing.sink}", cause
        return ledger.channel, "", ""


def _every(seconds: float, action: Callable[[], None]) -> None:
    while True:
        action()
        time.sleep(seconds)
