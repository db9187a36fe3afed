"""What the supervisor may expect of a `ProcessWatch`, of the real one alone: fakes have no ends between two ticks."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator

import pytest

from pipelines.domain.runs.protocol import ProcessIdentity
from tests.waiting import wait_for
from workers.adapters.process_watch import PidfdWatch


class Bell:
    """Counts its rings."""

    def __init__(self) -> None:
        self.rings = 0
        self._rung = threading.Condition()

    def __call__(self) -> None:
        with self._rung:
            self.rings += 1


@pytest.fixture
def sleepers() -> Iterator[list[subprocess.Popen[bytes]]]:
    found = [subprocess.Popen(["sleep", "1000"]) for _ in range(3)]
    yield found
    for each in found:
        each.kill()
        each.wait()


def identity(process: subprocess.Popen[bytes]) -> ProcessIdentity:
    return ProcessIdentity(pid=process.pid, start_time=1, boot_id="b")


def test_the_end_of_a_process_rings_once(sleepers: list[subprocess.Popen[bytes]]) -> None:
    bell = Bell()
    watch = PidfdWatch(bell)
    known = [identity(each) for each in sleepers]
    watch.watch(known)
    watch.watch(known)
    sleepers[0].kill()
    wait_for(lambda: bell.rings, "the first ring")
    sleepers[1].kill()
    wait_for(lambda: bell.rings >= 2, "the second ring")
    watch.watch(known[2:])
    assert bell.rings == 2


def test_what_is_no_longer_watched_does_not_ring(sleepers: list[subprocess.Popen[bytes]]) -> None:
    bell = Bell()
    watch = PidfdWatch(bell)
    known = [identity(each) for each in sleepers]
    watch.watch(known)
    watch.watch(known[1:])
    sleepers[0].kill()
    sleepers[0].wait()
    sleepers[1].kill()
    wait_for(lambda: bell.rings, "the ring of the other one")
    assert bell.rings == 1


def test_what_has_ended_before_it_is_watched_rings_at_once(sleepers: list[subprocess.Popen[bytes]]) -> None:
    bell = Bell()
    sleepers[0].kill()
    sleepers[0].wait()
    PidfdWatch(bell).watch([identity(sleepers[0])])
    assert bell.rings == 1


def test_more_processes_than_descriptors_allow_are_left_to_the_ticks(
    sleepers: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.adapters.process_watch.resource.getrlimit", lambda _: (4, 4))
    bell = Bell()
    watch = PidfdWatch(bell)
    watch.watch([identity(each) for each in sleepers])
    for each in sleepers:
        each.kill()
        each.wait()
    wait_for(lambda: bell.rings, "the ring of the one that is watched")
    assert bell.rings == 1
