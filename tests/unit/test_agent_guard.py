"""The guard's comparisons, as tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain.journal import Planned
from pipelines.domain.positions import PartitionPosition, PartitionRange
from workers.agent.checkpoint import Checkpoint, CheckpointDamaged, Offsets, View, ranges
from workers.agent.guard import Head, LogRange, compare, within_log


def at(zero: int, one: int = 0) -> Offsets:
    return {("t", 0): zero, ("t", 1): one}


def planned(batch: int, start: int, end: int) -> Planned:
    moved = [PartitionRange(topic="t", partition=0, start=start, end=end)]
    return Planned(source="s", channel="c", batch=batch, ranges=moved)


def head(positions: Offsets, done: int | None = None, plan: Planned | None = None) -> Head:
    return Head("sources.s", positions, done, plan)


NOTHING = View()
CASES: list[tuple[str, Head, View, set[str]]] = [
    ("first start", head({}), NOTHING, set()),
    ("first positions known, nothing moved", head(at(5)), NOTHING, set()),
    ("first batch planned by Spark only", head(at(5)), View(0, None, at(5), {0: at(9)}), set()),
    ("first batch planned by both", head(at(5), None, planned(0, 5, 9)), View(0, None, at(5), {0: at(9)}), set()),
    ("at rest", head(at(9), 3), View(3, 3, at(5), {2: at(7), 3: at(9)}), set()),
    ("next batch planned by Spark only", head(at(9), 3), View(4, 3, at(5), {3: at(9), 4: at(12)}), set()),
    ("next batch planned by both", head(at(9), 3, planned(4, 9, 12)), View(4, 3, at(5), {3: at(9), 4: at(12)}), set()),
    ("Spark's commit of a done batch was lost", head(at(9), 3), View(3, 2, at(5), {2: at(7), 3: at(9)}), set()),
    ("a partition was added and is unmoved", head(at(9), 3), View(3, 3, at(5), {3: {**at(9), ("t", 2): 0}}), set()),
    ("another lineage's positions", head({**at(5), ("u", 0): 4}), View(0, None, at(5), {0: at(9)}), set()),
    ("checkpoint deleted", head(at(9), 3), NOTHING, {"CHECKPOINT_LOST"}),
    ("checkpoint deleted in the first batch", head(at(5), None, planned(0, 5, 9)), NOTHING, {"CHECKPOINT_LOST"}),
    ("ledger wiped", head({}), View(3, 3, at(5), {3: at(9)}), {"LEDGER_LOST"}),
    ("ledger restored from a backup", head(at(7), 2), View(3, 3, at(5), {2: at(7), 3: at(9)}), {"LEDGER_BEHIND"}),
    ("checkpoint restored from a backup", head(at(9), 3), View(1, 1, at(5), {1: at(6)}), {"CHECKPOINT_DISAGREES"}),
    ("another checkpoint", head(at(9), 3), View(3, 3, at(5), {3: at(8)}), {"CHECKPOINT_DISAGREES"}),
    ("end of the done batch unknown", head(at(9), 3), View(3, 3, at(5), {}), {"CHECKPOINT_DISAGREES"}),
    ("first positions differ", head(at(6)), View(None, None, at(5), {}), {"CHECKPOINT_DISAGREES"}),
    (
        "the plan has another end", head(at(9), 3, planned(4, 9, 11)), View(4, 3, at(5), {3: at(9), 4: at(12)}),
        {"CHECKPOINT_DISAGREES"},
    ),
    (
        "Spark knows no such plan", head(at(9), 3, planned(4, 9, 12)), View(3, 3, at(5), {3: at(9)}),
        {"CHECKPOINT_DISAGREES"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("ledger", "checkpoint", "codes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_ledger_against_checkpoint(ledger: Head, checkpoint: View, codes: set[str]) -> None:
    findings = compare(ledger, checkpoint)
    assert {finding.code for finding in findings} == codes
    assert all(finding.path == "sources.s" and finding.suggestion for finding in findings)


@pytest.mark.parametrize(
    ("offset", "log", "code", "number"),
    [
        (5, LogRange(0, 9), None, ""),
        (0, LogRange(0, 0), None, ""),
        (9, LogRange(0, 9), None, ""),
        (5, LogRange(8, 9), "BELOW_LOG_START", "3 records"),
        (12, LogRange(0, 9), "BEYOND_LOG_END", "3 records"),
        (5, None, "PARTITION_REMOVED", "at 5"),
    ],
)
def test_position_against_log(offset: int, log: LogRange | None, code: str | None, number: str) -> None:
    position = PartitionPosition(topic="t", partition=0, offset=offset)
    findings = within_log("sources.s", [position], {("t", 0): log} if log else {})
    assert [finding.code for finding in findings] == ([code] if code else [])
    assert all(number in finding.message for finding in findings)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    for name in ("offsets", "commits", "sources/0"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "sources/0/0").write_text('0v1\n{"t":{"0":5}}')
    for batch, end in enumerate((7, 9)):
        (tmp_path / "offsets" / str(batch)).write_text(f'v1\n{{"batchTimestampMs":1}}\n{{"t":{{"0":{end}}}}}')
    (tmp_path / "commits/0").write_text("v1\n{}")
    return Checkpoint(tmp_path)


def test_a_checkpoint_is_read_as_spark_wrote_it(checkpoint: Checkpoint) -> None:
    assert checkpoint.view() == View(1, 0, {("t", 0): 5}, {0: {("t", 0): 7}, 1: {("t", 0): 9}})
    assert (checkpoint.is_committed(0), checkpoint.is_committed(1)) == (True, False)


@pytest.mark.parametrize(
    "content", ["", "v1", "v1\n{}\n{", 'v1\n{}\n{"t":{"0":-1}}', "v9\n{}\n{}", "v1\n{}\n[]", "\0\0"]
)
def test_a_damaged_offset_log_is_no_position(checkpoint: Checkpoint, content: str) -> None:
    (checkpoint.path / "offsets/1").write_text(content)
    with pytest.raises(CheckpointDamaged):
        checkpoint.view()


def test_ranges_leave_out_what_does_not_move_and_start_new_partitions_at_zero() -> None:
    moved = ranges({("t", 0): 5, ("t", 1): 3}, {("t", 0): 9, ("t", 1): 3, ("t", 2): 2})
    assert [(item.partition, item.start, item.end) for item in moved] == [(0, 5, 9), (2, 0, 2)]


def test_a_checkpoint_that_is_ahead_or_behind_names_the_records_between() -> None:
    ahead = compare(head(at(9, 4), 3), View(3, 3, at(5), {3: at(109, 4)}))
    assert [found.message for found in ahead] == ["t/0: the ledger continues at 9, the checkpoint at 109: GAP 100."]
    behind = compare(head(at(9, 4), 3), View(3, 3, at(5), {3: at(9, 1)}))
    assert [found.message for found in behind] == ["t/1: the ledger continues at 4, the checkpoint at 1: OVERLAP 3."]
    (further,) = compare(head(at(9, 4), 3), View(4, 4, at(5), {3: at(9, 4), 4: at(109, 5)}))
    assert further.message.endswith("is 3; t/0: GAP 100; t/1: GAP 1.")
