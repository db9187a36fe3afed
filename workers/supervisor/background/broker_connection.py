"""Whether this worker hears: a canary message to each of its queues every second, and what its silence means.

A process that lives proves nothing; a worker can stay deaf after its broker came back. A canary that was accepted by
the broker and is not heard means that: the worker ends itself, and whatever runs it starts it again. Silence counts
only while the broker takes messages, while the worker's task slots are not all taken, and while this thread itself gets
the processor. Each canary goes through a connection of its own, which also binds the queues anew in a broker that was
emptied.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import structlog

from pipelines.domain.base.causes import explain
from workers.ports import Clock, Now
from workers.supervisor.background.loop import BackgroundLoop

INTERVAL = 1.0
UNRESPONSIVE_AFTER = 8.0
"""Seconds of silence after which a worker that has heard before is deaf."""
FIRST_WITHIN = 60.0
"""Seconds that a worker which has just started has for the first canary."""
BUSY_LIMIT = 600.0
"""Seconds after which a worker whose task slots are all taken is as good as deaf."""
REFUSED_AFTER = 3.0
"""Seconds of refusals before they are told; a restart of the broker is shorter."""
REPORT_INTERVAL = 10.0

EXIT_BROKER_UNRESPONSIVE = 75
"""EX_TEMPFAIL: whatever runs the worker is to start it again."""

log = structlog.get_logger(__name__)


class BrokerConnection(StrEnum):
    """HEALTHY: every canary comes back. WAITING: one has not come back yet. BUSY: every task slot is taken. AWAY: the
    broker does not answer. FULL: it answers and takes nothing more. REFUSED: it takes nothing for one of the queues.
    UNRESPONSIVE: canaries are taken and never heard."""

    HEALTHY = "HEALTHY"
    WAITING = "WAITING"
    BUSY = "BUSY"
    AWAY = "AWAY"
    FULL = "FULL"
    REFUSED = "REFUSED"
    UNRESPONSIVE = "UNRESPONSIVE"


@dataclass
class _Queue:
    """One queue. Times are CLOCK_BOOTTIME; `heard`: when the newest canary that came back was sent. `silent` and
    `busy`: seconds of silence while task slots were free, and while all were taken. `refused_since` and `refusal`:
    since when the broker takes nothing for it, and why."""

    name: str
    received: float | None = None
    unanswered_since: float | None = None
    silent: float = 0.0
    busy: float = 0.0
    refused_since: float | None = None
    refusal: str = ""


@dataclass
class BrokerMonitor:
    """Judges what is told to it: canaries sent, refused and heard."""

    names: Sequence[str]
    round_trip: float | None = None
    _queues: dict[str, _Queue] = field(init=False)
    _checked_at: float | None = None

    def __post_init__(self) -> None:
        self._queues = {name: _Queue(name) for name in self.names}

    def sent(self, name: str, sent_at: float) -> None:
        """The broker took a canary, which may have come back already."""
        queue = self._queues[name]
        queue.refused_since = None
        if queue.unanswered_since is None and (queue.received is None or queue.received < sent_at):
            queue.unanswered_since = sent_at

    def refused(self, name: str, cause: str, now: float) -> None:
        """The broker did not take a canary. A worker asks for all of its queues together, so that silence on any of
        them means nothing now."""
        refused = self._queues[name]
        refused.refused_since = now if refused.refused_since is None else refused.refused_since
        refused.refusal = cause
        for queue in self._queues.values():
            queue.unanswered_since, queue.silent, queue.busy = None, 0.0, 0.0

    def received(self, name: str, sent_at: float, now: float) -> None:
        """A canary came back."""
        queue = self._queues[name]
        queue.received, queue.unanswered_since, queue.silent, queue.busy = sent_at, None, 0.0, 0.0
        self.round_trip = now - sent_at

    def check(self, now: float, *, busy: bool) -> tuple[BrokerConnection, str]:
        """What it amounts to, and in words."""
        passed = min(now - (self._checked_at or now), 2 * INTERVAL)
        self._checked_at = now
        if refused := [each for each in self._queues.values() if each.refused_since is not None]:
            return self._refused(refused, now)
        for queue in self._queues.values():
            if queue.unanswered_since is not None and now - queue.unanswered_since >= INTERVAL / 2:
                queue.silent += 0.0 if busy else passed
                queue.busy += passed if busy else 0.0
        return self._worst()

    def _refused(self, refused: Sequence[_Queue], now: float) -> tuple[BrokerConnection, str]:
        queue = min(refused, key=lambda each: each.refused_since or now)
        if now - (queue.refused_since or now) < REFUSED_AFTER:
            return BrokerConnection.WAITING, ""
        if "OOM" in queue.refusal or "maxmemory" in queue.refusal:
            return BrokerConnection.FULL, f"Redis accepts no messages, since its memory is full: {queue.refusal}"
        if len(refused) < len(self._queues):
            return BrokerConnection.REFUSED, f"Redis refuses messages on the queue {queue.name}: {queue.refusal}"
        return BrokerConnection.AWAY, f"Redis does not answer: {queue.refusal}"

    def _worst(self) -> tuple[BrokerConnection, str]:
        queue = max(self._queues.values(), key=lambda each: (each.silent, each.busy))
        if queue.silent >= (FIRST_WITHIN if queue.received is None else UNRESPONSIVE_AFTER):
            return (
                BrokerConnection.UNRESPONSIVE,
                f"No message arrived on the queue {queue.name} for {queue.silent:.0f} s.",
            )
        if queue.busy >= BUSY_LIMIT:
            return BrokerConnection.UNRESPONSIVE, f"Every task slot has been busy for {queue.busy:.0f} s."
        if queue.busy >= UNRESPONSIVE_AFTER:
            return BrokerConnection.BUSY, "Every task slot is busy; messages wait."
        if queue.silent or queue.received is None:
            return BrokerConnection.WAITING, ""
        return BrokerConnection.HEALTHY, ""


class Canary:
    """Sends canaries and acts on what becomes of them.

    `send(queue, sent_at)` is bounded and raises whatever it likes; `busy` says whether every task slot is taken;
    `report(state, words, round_trip)` stores what changed, and every few seconds what did not; `unresponsive(words)`
    ends the process.
    """

    def __init__(
        self,
        queues: Sequence[str],
        *,
        clock: Clock,
        send: Callable[[str, float], None],
        busy: Callable[[], bool],
        report: Callable[[BrokerConnection, str, float | None, Now], None],
        unresponsive: Callable[[str], None],
    ) -> None:
        self._queues = queues
        self._monitor = BrokerMonitor(queues)
        self._lock = threading.Lock()
        self._clock = clock
        self._send = send
        self._busy = busy
        self._report = report
        self._unresponsive = unresponsive
        self._stopping = threading.Event()
        self._described: tuple[BrokerConnection | None, float] = None, 0.0

    def loop(self) -> BackgroundLoop:
        """A pass that failed is repeated after a second, always: time without canaries is not judged."""
        return BackgroundLoop(
            "canary", self.turn, pause=INTERVAL, slowest=INTERVAL, first_after=INTERVAL, stopping=self._stopping
        )

    def received(self, queue: str, sent_at: float) -> None:
        """A canary of ours was heard. Safe from every thread."""
        if queue in self._queues:
            with self._lock:
                self._monitor.received(queue, sent_at, self._clock.now().boottime)

    def turn(self) -> float:
        """Send a canary to each queue, judge, tell."""
        for queue in self._queues:
            self._send_to(queue)
        now = self._clock.now()
        with self._lock:
            state, words = self._monitor.check(now.boottime, busy=self._busy())
            round_trip = self._monitor.round_trip
        if state is not BrokerConnection.WAITING:
            self._notify(state, words, round_trip, now)
        if state is BrokerConnection.UNRESPONSIVE and not self._stopping.is_set():
            self._unresponsive(words)
        return INTERVAL

    def _send_to(self, queue: str) -> None:
        sent_at = self._clock.now().boottime
        try:
            self._send(queue, sent_at)
        except Exception as error:
            with self._lock:
                self._monitor.refused(queue, f"{error}" or explain(error), self._clock.now().boottime)
        else:
            with self._lock:
                self._monitor.sent(queue, sent_at)

    def _notify(self, state: BrokerConnection, words: str, round_trip: float | None, now: Now) -> None:
        """The database may be away: then the log has it, and it is told again at the next turn."""
        before, at = self._described
        if state is before and now.boottime - at < REPORT_INTERVAL:
            return
        if state is not before:
            log.info("broker_connection", state=state.value, words=words)
        try:
            self._report(state, words, round_trip, now)
            self._described = state, now.boottime
        except Exception as error:
            log.warning("broker_connection_not_recorded", cause=explain(error))
