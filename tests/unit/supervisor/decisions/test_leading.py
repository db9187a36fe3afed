"""Who leads a run, and for how long it may go on without: pure functions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipelines.domain.base.states import Command
from pipelines.domain.definitions.parts.leases import TAKEOVER_MARGIN, Fence, fence_of
from pipelines.domain.hosts.capacity import Room, agent_bytes, lacking, least_loaded
from pipelines.domain.hosts.moving import stores, ties
from tests.factories import definition
from tests.unit.supervisor.decisions.test_decide import NOW, control, run, snapshot
from workers.supervisor.decisions.actions import WriteControl
from workers.supervisor.decisions.leading import led

FENCE = Fence(lease=60.0, grace=300.0)


def written(epoch: int = 3, fence: Fence | None = None, **standing: Any) -> Any:
    """The order that is given although no command is due; None where there is none."""
    found = led(snapshot(owner=epoch, fence=fence), run(control=control(**standing)), [], NOW)
    assert len(found) <= 1
    return found[0].control if found and isinstance(found[0], WriteControl) else None


def test_an_order_of_our_own_stands() -> None:
    assert written(3, owner=3) is None


def test_whoever_takes_over_gives_the_standing_order_again_in_its_own_name() -> None:
    again = written(4, owner=3, command=Command.STOP, seq=7, kill_at=1100.0)
    assert (again.owner, again.command, again.seq, again.kill_at) == (4, Command.STOP, 7, 1100.0)


def test_an_order_of_a_newer_supervisor_is_never_replaced() -> None:
    assert written(3, owner=4) is None


def test_a_lease_is_renewed_every_second_and_counted_from_the_beginning_of_the_tick() -> None:
    fresh: dict[str, Any] = {"owner": 3, "lease_until": NOW.boottime + 59.9, "fence_at": NOW.boottime + 359.9}
    assert written(fence=FENCE, **fresh) is None
    renewed = written(fence=FENCE, **(fresh | {"lease_until": NOW.boottime + 59.0}))
    assert (renewed.lease_until, renewed.fence_at) == (NOW.boottime + 60.0, NOW.boottime + 360.0)


def test_a_command_carries_the_lease() -> None:
    (given,) = led(snapshot(owner=3, fence=FENCE), run(), [WriteControl(control(Command.PAUSE, seq=2))], NOW)
    assert isinstance(given, WriteControl)
    assert (given.control.owner, given.control.lease_until) == (3, NOW.boottime + 60.0)


def test_without_a_fence_no_lease_is_written() -> None:
    taken_over = written(4, owner=3)
    assert (taken_over.lease_until, taken_over.fence_at) == (None, None)


def test_the_fence_of_a_definition_is_its_lease_and_its_longest_write() -> None:
    assert fence_of(definition().plain()) is None
    fenced = definition(lifecycle={"on_supervisor_loss": "fence", "lease": "30s"}).plain()
    fenced["sinks"]["out"]["write_deadline"] = 45.0
    fence = fence_of(fenced)
    assert fence == Fence(lease=30.0, grace=45.0)
    assert fence.proof == 75.0 + TAKEOVER_MARGIN


def test_another_host_waits_for_the_executors_of_a_cluster_too() -> None:
    fenced = definition(
        lifecycle={"on_supervisor_loss": "fence", "lease": "30s"},
        placement={"launcher": {"type": "spark", "cluster": "analytics", "executor_fence": "90s"}},
    ).plain()
    fence = fence_of(fenced)
    assert fence is not None
    assert fence.proof == fence.lease + fence.grace + TAKEOVER_MARGIN + 90.0


class TestRoom:
    empty = Room(host="a", cores=2, installed=8 << 30, slots=None, memory=None)

    def test_without_limits_nothing_is_refused(self) -> None:
        assert replace(self.empty, agents=500, taken=1 << 40).lacks(1 << 30) == ""

    @pytest.mark.parametrize(
        ("room", "words"),
        [
            (replace(empty, slots=2, agents=2), "a has 2 of 2 slots used"),
            (replace(empty, memory=1 << 30, taken=1 << 29), "a has 512 MiB of 1024 MiB free"),
        ],
    )
    def test_what_is_lacking_is_said(self, room: Room, words: str) -> None:
        assert room.lacks(1 << 30) == words
        assert words in lacking([room], 1 << 30)
        assert least_loaded([room], 1 << 30) is None

    def test_the_scarcer_of_slots_and_memory_decides(self) -> None:
        few_slots = replace(self.empty, host="a", slots=2, agents=1)
        little_memory = replace(self.empty, host="b", memory=4 << 30, taken=1 << 30)
        assert least_loaded([few_slots, little_memory], 1 << 20) == little_memory

    def test_an_agent_takes_its_heap_and_more(self) -> None:
        assert agent_bytes("512m") == 768 << 20
        assert agent_bytes(None) == 768 << 20
        assert agent_bytes("2048m") == (2048 + 256) << 20


class TestTies:
    def test_kafka_to_kafka_goes_anywhere(self) -> None:
        assert ties(definition()) == []

    def test_a_named_host_ties(self) -> None:
        assert ties(definition(placement={"host": "alpha"})) == ["placement.host is alpha"]

    def test_files_and_stores_on_the_host_tie(self) -> None:
        local = definition(
            sources={"drop": {"type": "spooldir", "directory": "/data/in"}},
            channels={"main": {"type": "file"}},
            sinks={"out": {"type": "file", "channel": "main", "path": "/data/out"}},
        )
        assert stores(local) == ["sources.drop", "channels.main"]
        assert len(ties(local)) == 3
