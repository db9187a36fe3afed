"""Which files may go: by age and by size, and never what somebody may still need."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from workers.ports import CheckpointDir, RunDir
from workers.supervisor.background.pruning import (
    DUMPS_KEPT,
    Known,
    KnownRun,
    Limits,
    expendable_checkpoints,
    expendable_dumps,
    expendable_runs,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LIMITS = Limits(runs=timedelta(days=30), run_bytes=1000, checkpoints=timedelta(days=7))


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def on_disk(number: int, *, size: int = 10, journal: int = 5, name: str = "orders", changed: float = 100) -> RunDir:
    return RunDir(Path(f"/runs/{name}/{number}"), name, number, size, journal, ago(changed))


def known(*runs: KnownRun, **more: Any) -> Known:
    return Known({(run.name, run.number): run for run in runs}, **more)


def run(number: int, *, days: float | None = 100, taken_in: int = 5, lineage: int = 1, **changes: Any) -> KnownRun:
    over, ended = days is not None, None if days is None else ago(days)
    return KnownRun("orders", number, lineage, over, ended, taken_in, **changes)


def gone(found: list[RunDir], facts: Known) -> list[int]:
    return sorted(int(path.name) for path in expendable_runs(found, facts, LIMITS, NOW))


def test_runs_that_ended_long_ago_go_and_the_last_one_stays() -> None:
    facts = known(run(1), run(2), run(3, days=2), run(4))
    assert gone([on_disk(n) for n in (1, 2, 3, 4)], facts) == [1, 2]


def test_the_last_run_of_a_deleted_pipeline_goes_with_its_age() -> None:
    assert gone([on_disk(1)], known(run(1, archived=True))) == [1]


def test_a_run_that_is_not_over_stays_however_old() -> None:
    assert gone([on_disk(1), on_disk(2)], known(run(1, days=None), run(2))) == []


def test_a_journal_that_was_not_taken_in_to_its_end_stays() -> None:
    assert gone([on_disk(1, journal=6), on_disk(2)], known(run(1), run(2))) == []


def test_beyond_the_size_the_oldest_go_first_and_only_as_many_as_needed() -> None:
    facts = known(*(run(n, days=10 - n) for n in (1, 2, 3, 4)))
    assert gone([on_disk(n, size=400) for n in (1, 2, 3, 4)], facts) == [1, 2]


def test_what_the_database_does_not_know_stays_unless_it_knows_later_runs() -> None:
    facts = known(run(5, days=1))
    assert gone([on_disk(4), on_disk(5), on_disk(6), on_disk(1, name="stranger")], facts) == [4]


def test_runs_of_a_purged_pipeline_go_at_once_and_those_of_its_successor_stay() -> None:
    facts = known(run(4, days=1), purged={"orders": 3})
    assert gone([on_disk(n, changed=0) for n in (1, 2, 3, 4)], facts) == [1, 2, 3]


def checkpoint(lineage: int, *, changed: float = 100) -> CheckpointDir:
    return CheckpointDir(Path(f"/checkpoints/orders/{lineage}"), "orders", lineage, ago(changed))


def lineages_gone(found: list[CheckpointDir], facts: Known) -> list[int]:
    return sorted(int(path.name) for path in expendable_checkpoints(found, facts, LIMITS, NOW))


def test_the_checkpoint_that_goes_on_stays_and_ended_ones_go_after_their_time() -> None:
    facts = known(run(1, lineage=1), run(2, lineage=2, days=3), run(3, lineage=3))
    assert lineages_gone([checkpoint(n) for n in (1, 2, 3)], facts) == [1]


def test_a_lineage_with_an_open_batch_stays() -> None:
    facts = known(run(1, lineage=1), run(2, lineage=2), open_lineages=frozenset({("orders", 1)}))
    assert lineages_gone([checkpoint(1), checkpoint(2)], facts) == []


def test_a_lineage_that_a_living_run_has_stays_and_an_unknown_one_too() -> None:
    facts = known(run(1, lineage=1, days=None), run(2, lineage=2))
    assert lineages_gone([checkpoint(1), checkpoint(2), checkpoint(9)], facts) == []


def test_checkpoints_of_purged_and_of_deleted_pipelines_go() -> None:
    assert lineages_gone([checkpoint(2, changed=0)], known(purged={"orders": 3})) == [2]
    assert lineages_gone([checkpoint(1)], known(run(1, archived=True))) == [1]


def test_dumps_beyond_the_newest_go_and_those_of_this_hour_stay() -> None:
    found = [(Path(f"{n}.txt"), 10, ago(n)) for n in range(DUMPS_KEPT + 3)]
    assert expendable_dumps(found, NOW) == [Path(f"{n}.txt") for n in range(DUMPS_KEPT, DUMPS_KEPT + 3)]
    young = [(Path(f"{n}.txt"), 10, NOW) for n in range(DUMPS_KEPT + 3)]
    assert expendable_dumps(young, NOW) == []
