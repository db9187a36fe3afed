"""A standby's keeper with real processes: promoted, it takes the pipeline's lock and hands it to its driver."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.keeper.test_keeper import SLEEPER, Kept, alive, wait_for

LISTENER = """
    import os, socket, struct, threading, time
    from workers.agent.run_dir import watch
    watch.handover()
    def promoted(epoch, lock):
        print("promoted", epoch, os.pread(lock, 9, 0).decode(), os.get_inheritable(lock), flush=True)
    watch.keeper(promoted, lambda: open("keeper-lost", "w").close())
    print("up", flush=True)
    time.sleep(60)
"""
MakeStandby = Callable[..., Kept]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MakeStandby]:
    made: list[Kept] = []

    def standby(number: int = 2, driver: str = LISTENER, **launch: Any) -> Kept:
        kept = Kept(tmp_path / "runs" / "p" / str(number), **{"role": "STANDBY", "epoch": 0, **launch})
        made.append(kept.start(driver))
        kept.said("up")
        return kept

    yield standby
    for kept in made:
        for pid in kept.holders():
            os.kill(pid, signal.SIGKILL)


def promote(kept: Kept, epoch: int, token: str | None = None) -> None:
    kept.write("promote.json", {"token": token or kept.token, "epoch": epoch})


def lock_of(kept: Kept) -> Path:
    return kept.dir.parent / "active.lock"


def is_taken(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def test_a_standby_does_not_touch_the_lock_of_the_pipeline(make: MakeStandby) -> None:
    active = make(number=1, driver=SLEEPER, role="ACTIVE", epoch=1)
    standby = make()
    assert lock_of(active).read_text() == "1"
    assert standby.identity().driver is not None
    standby.order(command="run")
    standby.order(seq=2, kill_at=0)
    standby.exit()
    assert lock_of(active).read_text() == "1"
    assert is_taken(lock_of(active))
    assert {path.name for path in standby.dir.parent.iterdir()} == {"1", "2", "active.lock"}


def test_a_promoted_standby_gets_the_lock_and_its_driver_keeps_it_without_the_keeper(make: MakeStandby) -> None:
    standby = make()
    promote(standby, 7)
    standby.said("promoted 7 7 False")
    driver = standby.driver()
    os.kill(standby.identity().keeper.pid, signal.SIGKILL)
    standby_lock = lock_of(standby)
    wait_for(lambda: not alive(standby.identity().keeper.pid))
    assert is_taken(standby_lock)
    os.kill(driver, signal.SIGKILL)
    wait_for(lambda: not is_taken(standby_lock))


def test_a_driver_learns_of_the_end_of_its_keeper_before_and_after_a_promotion(make: MakeStandby) -> None:
    for number, promoted in ((2, False), (3, True)):
        standby = make(number=number)
        if promoted:
            promote(standby, 8)
            standby.said("promoted 8")
        os.kill(standby.identity().keeper.pid, signal.SIGKILL)
        wait_for((standby.dir / "keeper-lost").exists)
        os.kill(standby.driver(), signal.SIGKILL)


def test_the_promotion_of_another_run_or_half_a_file_is_none(make: MakeStandby) -> None:
    standby = make()
    promote(standby, 7, token="another")
    standby.write("promote.json", '{"token": "')
    promote(standby, 0)
    promote(standby, 9)
    standby.said("promoted 9")
    assert "promoted 7" not in standby.log


def test_a_promotion_waits_for_the_lock_until_it_is_free(make: MakeStandby) -> None:
    standby = make()
    with lock_of(standby).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        promote(standby, 7)
        standby.said("waiting for the pipeline's lock")
        assert "promoted 7" not in standby.log
    standby.said("promoted 7 7 False")


def test_a_promotion_that_a_newer_epoch_has_overtaken_ends_the_run(make: MakeStandby) -> None:
    standby = make()
    lock_of(standby).write_text("9")
    promote(standby, 8)
    record = standby.exit()
    assert "epoch 9 has started since" in record.reason
    assert lock_of(standby).read_text() == "9"


def test_a_second_keeper_leaves_a_standby_alone(make: MakeStandby) -> None:
    standby = make()
    driver = standby.driver()
    standby.start(LISTENER)
    standby.said("was already started" if not alive(driver) else "already has a keeper")
    assert alive(driver)
    assert standby.driver() == driver
    assert not (standby.dir / "exit.json").exists()
