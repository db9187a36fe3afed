"""What the observer of a soak makes of processes, files, records and answers."""

from __future__ import annotations

import json
import os
import sqlite3
from array import array
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controlplane.devstack.records import body, is_noise
from tests.chaos.soak.measuring import (
    Arrival,
    Files,
    Process,
    can_be_written,
    groups,
    number_in,
    processes,
    service_lives,
)
from tests.chaos.soak.observer import Task, Watched, shown
from tests.chaos.soak.truth import Patience

RUNS = Path("/state/runs")


def process(pid: int, parent: int, *arguments: str, state: str = "S") -> Process:
    return Process(pid, state, parent, pid, arguments)


def by_pid(*found: Process) -> dict[int, Process]:
    return {each.pid: each for each in found}


KEEPER = process(10, 1, "python", "-m", "workers.keeper", "/state/runs/orders/7")
DRIVER = process(11, 10, "python", "-P", "-m", "workers.agent", "/state/runs/orders/7")
JVM = process(12, 11, "/usr/bin/java", "-cp", "x")
PYTHON = process(13, 12, "python", "-m", "workers.agent.spark.python_daemon")
OTHER = process(20, 1, "python", "-m", "workers.keeper", "/elsewhere/runs/orders/7")


def test_the_processes_of_a_run_are_known_by_their_arguments_and_parents() -> None:
    (group,) = groups(RUNS, by_pid(KEEPER, DRIVER, JVM, PYTHON, OTHER))
    assert group.run == RUNS / "orders" / "7"
    assert [each.pid for each in group.members] == [10, 11, 12, 13]
    agent = group.agent()
    assert (agent.run, agent.driver, agent.complete, agent.halted) == ("orders/7", True, True, False)


def test_a_run_without_its_keeper_or_jvm_is_not_complete() -> None:
    for left in (by_pid(DRIVER, JVM), by_pid(KEEPER, DRIVER)):
        agent = groups(RUNS, left)[0].agent()
        assert (agent.driver, agent.complete) == (True, False)
    assert not groups(RUNS, by_pid(KEEPER))[0].agent().driver


def test_one_halted_process_halts_the_agent() -> None:
    halted = process(12, 11, "/usr/bin/java", state="T")
    assert groups(RUNS, by_pid(KEEPER, DRIVER, halted))[0].agent().halted


def test_runs_of_two_pipelines_are_two() -> None:
    carts = process(30, 1, "python", "-m", "workers.agent", "/state/runs/carts/1")
    assert len(groups(RUNS, by_pid(KEEPER, DRIVER, carts))) == 2


def test_this_process_lives() -> None:
    found = processes()[os.getpid()]
    assert not found.halted
    assert found.parent == os.getppid()


def test_a_journal_only_grows_and_its_directory_stays(tmp_path: Path) -> None:
    files, run = Files(), tmp_path / "7"
    assert not files.whole(run)
    run.mkdir()
    assert files.whole(run)
    journal = run / "journal.jsonl"
    journal.write_bytes(b"12345")
    assert files.whole(run)
    journal.write_bytes(b"1234567")
    assert files.whole(run)
    os.truncate(journal, 6)
    assert [files.whole(run) for _ in range(2)] == [False, False]
    journal.unlink()
    assert not files.whole(run)


def test_a_service_lives_that_is_recorded_and_not_halted(tmp_path: Path) -> None:
    (tmp_path / "up").mkdir()
    (tmp_path / "up" / "worker.json").write_text(json.dumps({"pid": 7}))
    assert service_lives(tmp_path, "worker", by_pid(process(7, 1)))
    assert not service_lives(tmp_path, "worker", by_pid(process(7, 1, state="T")))
    assert not service_lives(tmp_path, "worker", {})
    assert not service_lives(tmp_path, "web", by_pid(process(7, 1)))


def test_a_locked_database_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "database"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (n)")
    assert can_be_written(path)
    database.isolation_level = None
    database.execute("BEGIN EXCLUSIVE")
    assert not can_be_written(path)
    database.close()
    assert can_be_written(path)


@given(st.integers(0, 10**9))
def test_every_record_that_must_arrive_has_a_number(number: int) -> None:
    assert number_in(body(number)) == (-1 if is_noise(number) else number)


def test_any_other_record_has_none() -> None:
    assert [number_in(each) for each in (b"", b"{", b"{}", b'{"poison": 1}', b"7", b'{"number": "x"}')] == [-1] * 6


def topic(**numbers: Any) -> Any:
    """A topic as it was read; keyword `p0` has the numbers of partition 0."""
    found: dict[int, array[int]] = defaultdict(lambda: array("q"))
    found |= {int(name[1:]): array("q", each) for name, each in numbers.items()}
    counts = {number: 1 for each in numbers.values() for number in each if number >= 0}
    return SimpleNamespace(numbers=found, counts=counts)


def test_a_record_below_the_position_that_the_sink_does_not_have_is_lost_until_it_comes() -> None:
    arrival, source = Arrival(), topic(p0=[1, -1, 3, 5], p1=[2, 4])
    assert arrival.lost(source, topic(p0=[1, 2, 3]), {0: 3, 1: 1}) == 0
    assert arrival.lost(source, topic(p0=[1, 2, 3]), {0: 4, 1: 2}) == 2
    assert arrival.lost(source, topic(p0=[1, 2, 3, 5]), {0: 4, 1: 2}) == 1
    assert arrival.lost(source, topic(p0=[1, 2, 3, 4, 5]), {0: 4, 1: 2}) == 0


def test_positions_that_go_back_or_beyond_what_was_read_lose_nothing() -> None:
    arrival, source = Arrival(), topic(p0=[1, 2])
    assert arrival.lost(source, topic(p0=[1, 2]), {0: 9, 7: 3}) == 0
    assert arrival.lost(source, topic(p0=[1, 2]), {0: 1}) == 0


@given(
    st.lists(st.integers(0, 50), max_size=60, unique=True), st.sets(st.integers(0, 50)), st.lists(st.integers(0, 70))
)
def test_looks_in_any_steps_find_what_one_look_finds(numbers: list[int], arrived: set[int], steps: list[int]) -> None:
    source, sink = topic(p0=numbers), topic(p0=sorted(arrived))
    stepwise = Arrival()
    for position in sorted(steps):
        stepwise.lost(source, sink, {0: position})
    last = max(steps, default=0)
    expected = len([number for number in numbers[:last] if number not in arrived])
    assert Arrival().lost(source, sink, {0: last}) == expected
    assert len(stepwise.missing) == expected


def test_the_answers_of_the_api_are_one_statement() -> None:
    status: dict[str, Any] = {
        "phase": "RUNNING",
        "desired_state": "RUNNING",
        "supervised": True,
        "live": {"lag_records": 12},
        "conditions": [{"type": "Stable", "status": "True"}],
    }
    ledger = {
        "read": 9,
        "delivered": 8,
        "balanced": True,
        "duplicates_max": 1,
        "positions": [{"partition": 0, "next_offset": 9}],
    }
    alerts = [{"rule": "lag", "state": "ACKNOWLEDGED"}, {"rule": "unknown", "state": "RESOLVED"}]
    found = shown(status, ledger, alerts)
    assert (found.phase, found.lag, found.alerts, found.positions) == ("RUNNING", 12, frozenset({"lag"}), {0: 9})
    assert (found.conditions, found.delivered, found.refused) == ({"Stable": "True"}, 8, "")


def test_the_task_of_the_observer_is_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    watched = (Watched("orders", "orders.in", "orders.out", "g"),)
    task = Task("/state", "http://x", "secret", "a:1", "b:2", "c:3", watched, 100, Patience(30.0, 90.0))
    task.store(tmp_path / "task.json")
    assert Task.load(tmp_path / "task.json") == task
    assert (tmp_path / "task.json").stat().st_mode & 0o077 == 0
