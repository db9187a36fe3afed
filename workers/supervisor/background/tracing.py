"""Exports traces, in a background loop beside the ticks, which never wait for a collector.

What has to be exported stands in the database, where operations and migrations put it as they end. A worker that ends
leaves it there for its successor. The queue is bounded in number and age; what is given up is counted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path

import structlog

from pipelines.domain.ledger.journal import Entry, JournalCorrupt, decode
from pipelines.domain.monitoring.spans import Trace, agent_spans, spans_of
from pipelines.foundation import clock
from pipelines.models import PendingTrace
from pipelines.selectors.migration import tracing as selecting
from pipelines.services.base import tracing
from workers.ports import Exclusive, RunDirs, SpanExport
from workers.supervisor.background.loop import BackgroundLoop

INTERVAL = 5.0
RETRY_SECONDS = 30.0
SETTLED = timedelta(seconds=5)
"""What the agent does at once after an operation has ended, such as its first batch, is in the journal by then."""
KEPT_FOR = timedelta(hours=1)
MOST_KEPT = 2048
AT_ONCE = 50
JOURNAL_PART = 1024 * 1024
"""Bytes that are read of a journal's begin, and of its end: starts and stops are there."""

log = structlog.get_logger(__name__)


class TraceSender:
    """Derives and sends what this host has of the traces that wait."""

    def __init__(
        self,
        host: str,
        rundirs: RunDirs,
        connect: Callable[[], SpanExport],
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._host = host
        self._rundirs = rundirs
        self._connect = connect
        self._chance = chance
        self._connected: SpanExport | None = None
        self._away = False
        self._most = AT_ONCE

    @property
    def _export(self) -> SpanExport:
        """Made by the first turn, so that variables that cannot be used keep no worker from its agents."""
        if self._connected is None:
            self._connected = self._connect()
        return self._connected

    def loop(self, lock: Exclusive) -> BackgroundLoop:
        """`lock`: one sender per host, however many workers it has."""
        return BackgroundLoop("traces", self.turn, pause=INTERVAL, slowest=RETRY_SECONDS, lock=lock, close=self.close)

    def close(self) -> None:
        """Let the connection go."""
        if self._connected is not None:
            self._connected.close()

    def turn(self) -> float:
        """Give up what waits for too long, then send what is due; returns the seconds until the next turn."""
        now = clock.now()
        self._give_up(
            tracing.overdue(host=self._host, before=now - KEPT_FOR, kept=MOST_KEPT, most=AT_ONCE),
            "not exported in time",
        )
        waiting = tracing.due(host=self._host, before=now - SETTLED, most=AT_ONCE)
        if not waiting:
            return INTERVAL
        rows = self._some(waiting)
        taken = self._send(rows)
        self._note(taken)
        if not taken:
            return RETRY_SECONDS
        return 0.0 if len(waiting) > len(rows) or len(rows) == AT_ONCE else INTERVAL

    def _some(self, waiting: list[PendingTrace]) -> list[PendingTrace]:
        """After a failure fewer at once, by chance, so that a trace that is never taken does not hold up the others."""
        if self._most >= len(waiting):
            return waiting
        return sorted(waiting, key=lambda _: self._chance())[: self._most]

    def _note(self, taken: bool) -> None:
        """Log when the collector takes no spans, and when it does again; once each."""
        if not taken and not self._away:
            log.warning("traces_not_exported", retry_seconds=RETRY_SECONDS)
        elif taken and self._away:
            log.info("traces_exported_again")
        self._away = not taken
        self._most = min(AT_ONCE, self._most * 2) if taken else max(1, self._most // 2)

    def _send(self, rows: Sequence[PendingTrace]) -> bool:
        """Send all of them together; where one makes that impossible, each alone, and give that one up."""
        traces = self._traces(rows)
        try:
            return self._send_together(rows, traces)
        except Exception as error:
            if len(rows) == 1:
                log.error("trace_not_exportable", subject=str(rows[0].subject), exc_info=error)
                self._give_up(rows, "not exportable")
                return True
        return sum(self._send([row]) for row in rows) == len(rows)

    def _send_together(self, rows: Sequence[PendingTrace], traces: Sequence[Trace]) -> bool:
        number = _number(traces)
        if number and not self._export.export(traces):
            return False
        tracing.take_out(host=self._host, rows=rows, exported=number)
        return True

    def _give_up(self, rows: Sequence[PendingTrace], why: str) -> None:
        if not rows:
            return
        number = _number(self._traces(rows))
        log.warning("spans_dropped", traces=len(rows), spans=number, cause=why)
        tracing.take_out(host=self._host, rows=rows, dropped=number)

    def _traces(self, rows: Sequence[PendingTrace]) -> list[Trace]:
        """What is to be exported of them; nothing of what was purged, or is not sampled."""
        found = selecting.subjects(row.subject for row in rows)
        traces = []
        for row in rows:
            if (known := found.get(row.subject)) is not None and self._export.is_sampled(known[0]):
                subject, pipeline_id = known
                runs = selecting.runs_within(subject, pipeline_id, self._host)
                agents = [span for run, path in runs for span in agent_spans(subject, run, self._entries(path))]
                own = spans_of(subject, [span.start for span in agents]) if row.whole else []
                traces.append(Trace(subject.context, (*own, *agents)))
        return traces

    def _entries(self, run_dir: Path) -> list[Entry]:
        """The begin and the end of a journal; lines that are damaged, or cut, are left out."""
        first = self._rundirs.journal(run_dir, 0, JOURNAL_PART)
        parts = [first.data]
        if first.size > JOURNAL_PART:
            parts.append(
                self._rundirs.journal(run_dir, max(JOURNAL_PART, first.size - JOURNAL_PART), JOURNAL_PART).data
            )
        found = {entry.n: entry for part in parts for entry in _whole_lines(part)}
        return [found[number] for number in sorted(found)]


def _whole_lines(data: bytes) -> Iterable[Entry]:
    for line in data.split(b"\n"):
        try:
            yield decode(line)
        except JournalCorrupt:
            continue


def _number(traces: Sequence[Trace]) -> int:
    return sum(len(trace.spans) for trace in traces)
