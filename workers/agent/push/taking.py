"""Many senders, one log: what waits at one moment is appended as one transaction, with one fsync."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from workers.agent.push.event import Event, record_batch
from workers.agent.push.log import IngestBuffer, LogFull


@dataclass(frozen=True)
class _Request:
    events: Sequence[Event]
    accepted: Future[int] = field(default_factory=Future)


class IngestThread(threading.Thread):
    """The one thread that appends. What it cannot append it refuses, request by request."""

    def __init__(self, log: IngestBuffer, transaction_capacity: int) -> None:
        super().__init__(name="ingest_buffer", daemon=True)
        self._log = log
        self._most = transaction_capacity
        self._waiting: queue.SimpleQueue[_Request] = queue.SimpleQueue()
        self._kept: _Request | None = None

    def submit(self, events: Sequence[Event]) -> Future[int]:
        """The number of events once they are in the log, all of them; LogFull or LogUnwritable where none is."""
        request = _Request(events)
        self._waiting.put(request)
        return request.accepted

    def run(self) -> None:
        """Append for as long as the process lives."""
        while True:
            self._append(self._gather())

    def _gather(self) -> list[_Request]:
        group = [self._kept or self._waiting.get()]
        self._kept = None
        count = len(group[0].events)
        while not self._waiting.empty():
            request = self._waiting.get()
            count += len(request.events)
            if count > self._most:
                self._kept = request
                break
            group.append(request)
        return group

    def _append(self, group: list[_Request]) -> None:
        try:
            self._log.append(record_batch([event for request in group for event in request.events]))
        except LogFull as error:
            if len(group) == 1:
                group[0].accepted.set_exception(error)
                return
            for request in group:
                self._append_alone(request)
        except Exception as error:
            for request in group:
                request.accepted.set_exception(error)
        else:
            for request in group:
                request.accepted.set_result(len(request.events))

    def _append_alone(self, request: _Request) -> None:
        """All of them together have waited already."""
        try:
            self._log.append(record_batch(request.events), patience=0.0)
        except Exception as error:
            request.accepted.set_exception(error)
        else:
            request.accepted.set_result(len(request.events))
