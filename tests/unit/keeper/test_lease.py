"""A keeper whose supervisor is gone, was replaced, or starts it a second time; real processes, tiny drivers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.runs.protocol import ExitRecord, boot_id, boottime
from tests.unit.keeper.test_keeper import SLEEPER, STUBBORN, Kept, alive, kept, wait_for

__all__ = ["kept"]


def order(run: Kept, **fields: Any) -> None:
    run.write("control.json", {"seq": 1, "command": "run", "boot_id": boot_id(), "reason": "start", **fields})


@pytest.fixture
def numbered(tmp_path: Path) -> Iterator[Kept]:
    run = Kept(tmp_path / "runs" / "p" / "7", epoch=7)
    yield run
    order(run, seq=9, owner=99, fence_at=0.0)
    wait_for(lambda: not run.holders())


def test_a_run_whose_lease_is_not_renewed_is_killed_when_its_grace_has_passed(kept: Kept) -> None:
    order(kept, owner=1, fence_at=boottime() + 60.0)
    kept.start(STUBBORN)
    kept.said("up")
    order(kept, owner=1, lease_until=boottime(), fence_at=boottime() + 1.0)
    record = kept.exit()
    assert (record.killed_by, record.stop_stage, record.signal) == ("keeper", "KILL", 9)


def test_a_run_whose_lease_is_renewed_goes_on(kept: Kept) -> None:
    order(kept, owner=1, fence_at=boottime() + 60.0)
    kept.start(SLEEPER)
    kept.said("up")
    end = boottime() + 2.0
    order(kept, owner=1, fence_at=end)
    while boottime() < end + 0.5:
        time.sleep(0.05)
        order(kept, owner=1, fence_at=boottime() + 60.0)
    assert alive(kept.driver())
    assert ExitRecord.load(kept.dir / "exit.json") is None


def test_an_order_of_an_older_supervisor_is_ignored(kept: Kept) -> None:
    order(kept, owner=6)
    kept.start(SLEEPER)
    kept.said("up")
    order(kept, owner=5, seq=40, command="stop", term_at=0.0, kill_at=0.0)
    kept.said("control.json is ignored")
    assert "has lost its lease" in kept.log
    assert alive(kept.driver())


def test_a_second_keeper_of_a_living_run_leaves_it_alone(numbered: Kept) -> None:
    order(numbered, owner=1)
    first = numbered.start(SLEEPER).identity()
    numbered.start(SLEEPER)
    numbered.said("run 7 already has a keeper")
    wait_for(lambda: len(numbered.holders()) == 2)
    assert numbered.identity() == first
    assert not (numbered.dir / "exit.json").exists()


def test_a_run_begins_once_also_where_its_end_was_not_recorded(numbered: Kept) -> None:
    order(numbered, owner=1)
    numbered.start("print('up')").said("up")
    numbered.exit()
    wait_for(lambda: not numbered.holders())
    (numbered.dir / "exit.json").unlink()
    numbered.start(SLEEPER)
    numbered.said("was already started")
    wait_for(lambda: not numbered.holders())
    assert not (numbered.dir / "exit.json").exists()


def test_a_run_that_was_ended_before_it_began_never_begins(numbered: Kept) -> None:
    record = {"token": numbered.token, "revoked": True, "reason": "stopped", "boottime": 1.0, "at": 1.0}
    numbered.write("exit.json", record)
    numbered.start(SLEEPER)
    numbered.said("was already started")
    wait_for(lambda: not numbered.holders())
    assert json.loads((numbered.dir / "exit.json").read_text()) == record


def test_a_run_of_an_older_epoch_never_begins_after_a_newer_one(numbered: Kept) -> None:
    (numbered.dir.parent / "active.lock").write_text("8")
    numbered.start(SLEEPER)
    numbered.said("was already started")
    wait_for(lambda: not numbered.holders())
