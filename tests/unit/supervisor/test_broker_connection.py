"""Whether a worker hears: what canaries that come back, do not come back, or are refused amount to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from workers.ports import Now
from workers.simulated.host import SimulatedHost
from workers.supervisor.background.broker_connection import (
    BUSY_LIMIT,
    FIRST_WITHIN,
    UNRESPONSIVE_AFTER,
    BrokerConnection,
    BrokerMonitor,
    Canary,
)

QUEUES = ("control", "host.alpha")


@dataclass
class Worker:
    """A worker of a fake host whose broker and slots obey a test."""

    host: SimulatedHost = field(default_factory=SimulatedHost)
    is_healthy: Callable[[str], bool] = lambda _queue: True
    refusal: str = ""
    is_refused: Callable[[str], bool] = lambda _queue: True
    full: bool = False
    reports: list[tuple[BrokerConnection, str]] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.canary = Canary(
            QUEUES,
            clock=self.host,
            send=self.send,
            busy=lambda: self.full,
            report=self.report,
            unresponsive=self.ended.append,
        )

    def send(self, queue: str, sent_at: float) -> None:
        if self.refusal and self.is_refused(queue):
            raise ConnectionError(self.refusal)
        if self.is_healthy(queue):
            self.canary.received(queue, sent_at)

    def report(self, state: BrokerConnection, words: str, _round_trip: float | None, _now: Now) -> None:
        self.reports.append((state, words))

    def live(self, seconds: float) -> None:
        for _ in range(int(seconds)):
            self.host.advance(1)
            self.canary.turn()

    @property
    def states(self) -> list[BrokerConnection]:
        return [state for n, (state, _) in enumerate(self.reports) if n == 0 or self.reports[n - 1][0] != state]


def test_a_worker_whose_canaries_come_back_hears() -> None:
    worker = Worker()
    worker.live(60)
    assert (worker.states, worker.ended) == ([BrokerConnection.HEALTHY], [])


def test_one_deaf_queue_ends_the_worker_within_ten_seconds_and_is_named() -> None:
    worker = Worker()
    worker.live(20)
    worker.is_healthy = lambda queue: queue != "host.alpha"
    worker.live(10)
    assert worker.states == [BrokerConnection.HEALTHY, BrokerConnection.UNRESPONSIVE]
    assert "host.alpha" in worker.ended[0]


def test_a_worker_that_starts_has_longer_for_its_first_canary() -> None:
    worker = Worker(is_healthy=lambda _queue: False)
    worker.live(FIRST_WITHIN - 2)
    assert not worker.ended
    worker.live(5)
    assert worker.ended


def test_nobody_is_deaf_while_the_broker_is_away_and_ten_seconds_begin_when_it_is_back() -> None:
    worker = Worker()
    worker.live(5)
    worker.refusal = "Connection refused"
    worker.live(300)
    assert (worker.states, worker.ended) == ([BrokerConnection.HEALTHY, BrokerConnection.AWAY], [])
    worker.refusal, worker.is_healthy = "", lambda _queue: False
    worker.live(UNRESPONSIVE_AFTER - 1)
    assert not worker.ended
    worker.live(3)
    assert worker.ended


def test_a_full_broker_is_told_as_such() -> None:
    worker = Worker()
    worker.live(5)
    worker.refusal = "OOM command not allowed when used memory > 'maxmemory'."
    worker.live(10)
    assert worker.reports[-1][0] is BrokerConnection.FULL
    assert "its memory is full" in worker.reports[-1][1]
    worker.refusal = ""
    worker.live(2)
    assert (worker.reports[-1][0], worker.ended) == (BrokerConnection.HEALTHY, [])


@pytest.mark.parametrize("name", QUEUES)
def test_a_queue_that_is_refused_while_others_are_not_is_named(name: str) -> None:
    worker = Worker()
    worker.live(5)
    worker.refusal, worker.is_refused = "NOPERM no permissions to access a key", lambda queue: queue == name
    worker.is_healthy = lambda _queue: False
    worker.live(60)
    assert (worker.states, worker.ended) == ([BrokerConnection.HEALTHY, BrokerConnection.REFUSED], [])
    assert worker.reports[-1][1] == f"Redis refuses messages on the queue {name}: {worker.refusal}"
    worker.refusal, worker.is_healthy = "", lambda _queue: True
    worker.live(2)
    assert worker.states[-1] is BrokerConnection.HEALTHY


def test_a_worker_whose_slots_are_taken_is_busy_and_only_after_long_as_good_as_deaf() -> None:
    worker = Worker()
    worker.live(5)
    worker.is_healthy, worker.full = lambda _queue: False, True
    worker.live(BUSY_LIMIT - 5)
    assert (worker.states, worker.ended) == ([BrokerConnection.HEALTHY, BrokerConnection.BUSY], [])
    worker.live(10)
    assert worker.ended


def test_seconds_in_which_this_thread_did_not_run_are_not_silence() -> None:
    monitor = BrokerMonitor(QUEUES)
    for name in QUEUES:
        monitor.sent(name, 0.0)
        monitor.received(name, 0.0, 0.1)
    monitor.check(0.2, busy=False)
    monitor.sent("control", 1.0)
    assert monitor.check(500.0, busy=False)[0] is BrokerConnection.WAITING


def test_an_answer_that_is_faster_than_the_send_counts() -> None:
    monitor = BrokerMonitor(["control"])
    monitor.received("control", 5.0, 5.1)
    monitor.sent("control", 5.0)
    monitor.check(5.2, busy=False)
    assert monitor.check(6.0, busy=False)[0] is BrokerConnection.HEALTHY


def test_a_report_that_could_not_be_stored_is_stored_at_the_next_turn() -> None:
    worker = Worker()
    failures = [1, 1]

    def report(state: BrokerConnection, words: str, _round_trip: float | None, _now: Now) -> None:
        if failures:
            failures.pop()
            raise OSError("the database is away")
        worker.reports.append((state, words))

    worker.canary._report = report
    worker.live(3)
    assert worker.reports == [(BrokerConnection.HEALTHY, "")]
