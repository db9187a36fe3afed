"""Background loops: a pass again and again, through every error, until the stop."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import InterfaceError, OperationalError
from structlog.testing import capture_logs

from tests.waiting import wait_for
from workers.supervisor.background.loop import SLOWEST_RETRY, BackgroundLoop

LONG = 3600.0


@dataclass
class Work:
    """Counts its passes; `act` is what one does."""

    act: Callable[[], float] = lambda: LONG
    passes: int = 0
    threads: set[str] = field(default_factory=set)
    closed: int = 0

    def turn(self) -> float:
        self.passes += 1
        self.threads.add(threading.current_thread().name)
        return self.act()

    def close(self) -> None:
        self.closed += 1

    def loop(self, **more: Any) -> BackgroundLoop:
        return BackgroundLoop("work", self.turn, close=self.close, **{"pause": 0.001, **more})


def test_a_database_that_is_away_is_said_once_and_without_a_traceback() -> None:
    failing = iter([OperationalError("locked"), InterfaceError("closed"), OperationalError("locked")])

    def act() -> float:
        if (error := next(failing, None)) is not None:
            raise error
        return LONG

    work = Work(act)
    with capture_logs() as logged:
        loop = work.loop()
        loop.start()
        wait_for(lambda: any(each["event"] == "background_loop_recovered" for each in logged), "it has recovered")
        assert loop.stop(60)
    said = [each for each in logged if each["log_level"] in ("warning", "error")]
    assert [(each["event"], each["cause"], "exc_info" in each) for each in said] == [
        ("database_unavailable", "it does not answer", False)
    ]


@dataclass
class Lock:
    """A lock that another holds until it is `free`."""

    free: bool = False
    asked: int = 0
    released: int = 0

    def acquire(self) -> bool:
        self.asked += 1
        return self.free

    def release(self) -> None:
        self.released += 1


class Failing:
    """Raises the next of its errors; None is a pass that succeeds. The last one stays."""

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = itertools.chain(errors, itertools.repeat(errors[-1]))

    def __call__(self) -> float:
        if error := next(self.errors):
            raise error
        return LONG


@contextmanager
def running(loop: BackgroundLoop) -> Iterator[None]:
    loop.start()
    try:
        yield
    finally:
        assert loop.stop(60)


def waits(count: int, act: Callable[[], float], **more: Any) -> list[float]:
    """The seconds that a loop waits after each of its first passes; in a thread, as ever, which has no connection to a
    database that an earlier test has left."""
    loop = Work(act).loop(**more)
    with ThreadPoolExecutor(1) as thread:
        return [thread.submit(loop._once).result() for _ in range(count)]


def test_passes_follow_one_another_in_a_daemon_thread_of_the_loops_name() -> None:
    work = Work(lambda: 0.0)
    with running(work.loop()):
        wait_for(lambda: work.passes > 3, "passes")
        assert next(thread for thread in threading.enumerate() if thread.name == "work").daemon
    assert work.threads == {"work"}


def test_the_bell_brings_the_next_pass_at_once() -> None:
    work, bell = Work(), threading.Event()
    with running(work.loop(bell=bell)):
        wait_for(lambda: work.passes == 1, "the first pass")
        bell.set()
        wait_for(lambda: work.passes == 2, "the pass after the bell")


def test_a_bell_that_rings_during_a_pass_brings_another_one() -> None:
    work, bell = Work(), threading.Event()
    work.act = lambda: bell.set() or LONG if work.passes == 1 else LONG  # type: ignore[func-returns-value]
    with running(work.loop(bell=bell)):
        wait_for(lambda: work.passes == 2, "the pass after the bell")


def test_a_loop_that_begins_later_is_stopped_before_its_first_pass() -> None:
    work = Work()
    with running(work.loop(first_after=LONG)):
        pass
    assert (work.passes, work.closed) == (0, 1)


def test_an_error_does_not_end_the_loop() -> None:
    work = Work(Failing(RuntimeError("the database is away")))
    with running(work.loop()):
        wait_for(lambda: work.passes > 3, "passes go on")


def test_errors_in_a_row_are_logged_once_of_each_kind_with_the_traceback() -> None:
    with capture_logs() as logs:
        waits(4, Failing(OSError("a"), OSError("b"), KeyError("c"), OSError("d")))
    assert [(log["event"], log["loop"], str(log["exc_info"])) for log in logs] == [
        ("background_loop_failed", "work", "a"),
        ("background_loop_failed", "work", "'c'"),
    ]
    assert all(log["exc_info"].__traceback__ for log in logs)


def test_the_end_of_errors_is_logged_and_a_later_one_is_logged_anew() -> None:
    with capture_logs() as logs:
        waits(5, Failing(OSError("a"), OSError("b"), None, None, OSError("c")))
    assert [(log["event"], log.get("failures")) for log in logs] == [
        ("background_loop_failed", None),
        ("background_loop_recovered", 2),
        ("background_loop_failed", None),
    ]


def test_the_pause_doubles_while_passes_fail_and_is_bounded() -> None:
    assert waits(5, Failing(OSError()), pause=1.0) == [1.0, 2.0, 4.0, SLOWEST_RETRY, SLOWEST_RETRY]
    assert waits(4, Failing(OSError(), OSError(), None, OSError()), pause=1.0) == [1.0, 2.0, LONG, 1.0]
    assert waits(2, Failing(OSError()), pause=1.0, slowest=1.0) == [1.0, 1.0]
    assert waits(2, Failing(OSError()), pause=300.0) == [300.0, 300.0]
    assert waits(2000, Failing(OSError()), pause=1.0)[-1] == SLOWEST_RETRY


def test_a_stop_during_a_pass_waits_for_it_and_tells_the_pass() -> None:
    inside, go_on, stopping = threading.Event(), threading.Event(), threading.Event()

    def act() -> float:
        inside.set()
        go_on.wait(60)
        return 0.0

    work = Work(act)
    loop = work.loop(stopping=stopping)
    loop.start()
    assert inside.wait(60)
    assert not loop.stop(0.01), "it is still in its pass"
    assert stopping.is_set()
    go_on.set()
    assert loop.stop(60)
    assert (work.passes, work.closed) == (1, 1)


def test_a_loop_may_be_stopped_twice() -> None:
    work = Work()
    loop = work.loop()
    loop.start()
    assert loop.stop(60)
    assert loop.stop(60)
    assert work.closed == 1


def test_a_loop_that_was_never_started_can_be_stopped() -> None:
    work = Work()
    assert work.loop().stop(60)
    assert (work.passes, work.closed) == (0, 0)


def test_nothing_is_done_until_the_lock_is_free_and_the_end_gives_it_back() -> None:
    work, lock = Work(lambda: 0.0), Lock()
    with running(work.loop(lock=lock)):
        wait_for(lambda: lock.asked > 2, "it asks again")
        assert work.passes == 0
        lock.free = True
        wait_for(lambda: work.passes > 0, "a pass")
    assert lock.released == 1


def test_a_close_that_fails_is_logged_and_the_lock_is_given_back() -> None:
    work, lock = Work(), Lock(free=True)
    loop = BackgroundLoop("work", work.turn, pause=LONG, lock=lock, close=Failing(OSError("the disk is full")))
    with capture_logs() as logs, running(loop):
        wait_for(lambda: work.passes == 1, "the pass")
    assert [log["event"] for log in logs] == ["background_loop_not_closed"]
    assert lock.released == 1
