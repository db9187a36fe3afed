"""The background loop that ticks: soon after a wake-up, through every error, and never after it was stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import pytest

from tests.waiting import wait_for
from workers.supervisor.background import ticker
from workers.supervisor.background.ticker import Ticker
from workers.supervisor.tick.tick import Supervisor, Ticked

pytestmark = pytest.mark.django_db(transaction=True)


class Counter:
    """Stands for a supervisor; `answer` is what its ticks do."""

    def __init__(self, answer: Callable[[], Ticked]) -> None:
        self.answer = answer
        self.ticks = 0
        self.inside = 0
        self.overlapped = False
        self.released = False

    def tick(self) -> Ticked:
        self.inside += 1
        self.overlapped |= self.inside > 1
        self.ticks += 1
        try:
            return self.answer()
        finally:
            self.inside -= 1

    def release(self) -> None:
        self.released = True


@contextmanager
def ticking(counter: Counter) -> Iterator[threading.Event]:
    wake = threading.Event()
    loop = Ticker(cast(Supervisor, counter)).loop(wake)
    loop.start()
    try:
        yield wake
    finally:
        assert loop.stop(10)


def test_a_wake_up_brings_the_next_tick_and_a_stop_gives_the_lease_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticker, "INTERVAL", 3600.0)
    counter = Counter(lambda: Ticked(supervising=True))
    with ticking(counter) as wake:
        wait_for(lambda: counter.ticks == 1, "the first tick")
        wake.set()
        wait_for(lambda: counter.ticks == 2, "the tick after the wake-up")
    assert counter.released


def test_no_error_ends_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticker, "INTERVAL", 0.001)

    def fail() -> Ticked:
        raise RuntimeError("the database is away")

    counter = Counter(fail)
    with ticking(counter):
        wait_for(lambda: counter.ticks > 3, "ticks go on")


def test_ticks_never_overlap_however_often_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticker, "HURRIED_INTERVAL", 0.0)
    counter = Counter(lambda: Ticked(supervising=True, hurry=True))
    with ticking(counter) as wake:
        wakers = [threading.Thread(target=_ring, args=(wake, 1000)) for _ in range(4)]
        for waker in wakers:
            waker.start()
        for waker in wakers:
            waker.join()
        wait_for(lambda: counter.ticks > 20, "many ticks")
    assert not counter.overlapped


def _ring(wake: threading.Event, times: int) -> None:
    for _ in range(times):
        wake.set()
