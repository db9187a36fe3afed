"""A warm standby with real agents: everything of the run is killed at once, and the second agent goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import EntryKind
from pipelines.domain.runs.protocol import IDENTITY, JOURNAL, Identity
from tests.chaos.installation import Installation, wait_for
from tests.chaos.stream import MOVING_WITHIN, Stream, kill, streaming
from tests.figures import RecordProperty
from workers.adapters.processes import HostProcesses


@pytest.fixture(scope="module")
def stream(installation: Installation) -> Iterator[Stream]:
    with streaming(installation, "warm", every_ms=500, lifecycle={"standby": "warm"}) as made:
        yield made


def living(stream: Stream, role: str) -> dict[str, Any] | None:
    return next((run for run in stream.runs if run["role"] == role and run["state"] == "LIVE"), None)


def standby(stream: Stream) -> dict[str, Any]:
    """The standby, once it is shown to be ready."""
    wait_for(lambda: condition(stream)["status"] == "True", MOVING_WITHIN, "the standby is ready")
    found = living(stream, "STANDBY")
    assert found is not None
    return found


def condition(stream: Stream) -> dict[str, Any]:
    status = stream.installation.api.get(f"/pipelines/{stream.demo.name}/status")
    return next(each for each in status["conditions"] if each["type"] == "Standby")


def kill_all(run: dict[str, Any]) -> None:
    identity = Identity.load(Path(run["run_dir"]) / IDENTITY)
    assert identity is not None
    for process in HostProcesses().holders()[identity.token]:
        kill(process.pid)


def test_the_second_agent_goes_on_where_the_first_was_killed(stream: Stream, record_property: RecordProperty) -> None:
    ready, active, before = standby(stream), living(stream, "ACTIVE"), stream.read
    assert active is not None
    kill_all(active)
    killed = time.time()
    stream.goes_on(before)
    taken = living(stream, "ACTIVE")
    assert taken is not None
    assert (taken["number"], taken["lineage"]) == (ready["number"], active["lineage"])
    record_property("recovery_seconds", round(first_batch_after(taken, killed) - killed, 1))


def first_batch_after(run: dict[str, Any], moment: float) -> float:
    """Wall seconds at which a run has finished its first batch."""
    entries = journal.read_entries((Path(run["run_dir"]) / JOURNAL).read_bytes())[0]
    return next(entry.at for entry in entries if entry.kind is EntryKind.DONE and entry.at > moment)


def test_another_standby_follows_whose_own_death_nobody_notices(stream: Stream) -> None:
    second, active = standby(stream), living(stream, "ACTIVE")
    kill_all(second)
    wait_for(lambda: condition(stream)["status"] != "True", MOVING_WITHIN, "the loss is shown")
    third = standby(stream)
    assert third["number"] > second["number"]
    same = living(stream, "ACTIVE")
    assert same is not None
    assert active is not None
    assert same["number"] == active["number"]


def test_nothing_is_missing_and_nothing_came_twice(stream: Stream) -> None:
    stream.delivered_once()
    wait_for(lambda: living(stream, "STANDBY") is None, MOVING_WITHIN, "the stop ends the standby, too")
