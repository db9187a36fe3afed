"""The guard's comparisons, as tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.domain.base.positions import PartitionPosition, PartitionRange, SourceIdentity, TopicPartition
from pipelines.domain.ledger.journal import Planned
from workers.agent.positions.checkpoint import (
    Checkpoint,
    CheckpointDamaged,
    CheckpointState,
    LedgerBatchEnd,
    Offsets,
    ranges,
)
from workers.agent.positions.guard import (
    Head,
    LogRange,
    Mirrored,
    ahead_of_ledger,
    another_log,
    compare,
    lost_plan,
    notices,
    within_log,
)

T0, T1, T2 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("t", 2)


def at(zero: int, one: int = 0) -> Offsets:
    return {T0: zero, T1: one}


def planned(batch: int, start: int, end: int) -> Planned:
    moved = [PartitionRange(topic="t", partition=0, start=start, end=end)]
    return Planned(source="s", channel="c", batch=batch, ranges=moved)


def flowing(batch: int) -> Planned:
    return Planned(source="s", channel="c", batch=batch, ranges=[], open_ended=True)


def head(positions: Offsets, done: int | None = None, plan: Planned | None = None) -> Head:
    return Head("sources.s", positions, done, plan)


NOTHING = CheckpointState()
CASES: list[tuple[str, Head, CheckpointState, set[str]]] = [
    ("first start", head({}), NOTHING, set()),
    ("first positions known, nothing moved", head(at(5)), NOTHING, set()),
    ("first batch planned by Spark only", head(at(5)), CheckpointState(0, None, at(5), {0: at(9)}), set()),
    (
        "first batch planned by both",
        head(at(5), None, planned(0, 5, 9)),
        CheckpointState(0, None, at(5), {0: at(9)}),
        set(),
    ),
    ("at rest", head(at(9), 3), CheckpointState(3, 3, at(5), {2: at(7), 3: at(9)}), set()),
    ("next batch planned by Spark only", head(at(9), 3), CheckpointState(4, 3, at(5), {3: at(9), 4: at(12)}), set()),
    (
        "next batch planned by both",
        head(at(9), 3, planned(4, 9, 12)),
        CheckpointState(4, 3, at(5), {3: at(9), 4: at(12)}),
        set(),
    ),
    (
        "Spark's commit of a done batch was lost",
        head(at(9), 3),
        CheckpointState(3, 2, at(5), {2: at(7), 3: at(9)}),
        set(),
    ),
    (
        "Spark's commits of two done batches were lost",
        head(at(9), 3),
        CheckpointState(3, 1, at(5), {2: at(7), 3: at(9)}),
        {"CHECKPOINT_DISAGREES"},
    ),
    (
        "Spark's commit of a done batch was lost, and it has planned the next",
        head(at(9), 3),
        CheckpointState(4, 2, at(5), {3: at(9), 4: at(12)}),
        set(),
    ),
    (
        "Spark has planned two batches more",
        head(at(9), 3),
        CheckpointState(5, 3, at(5), {3: at(9), 4: at(12), 5: at(15)}),
        {"CHECKPOINT_DISAGREES"},
    ),
    (
        "Spark does not know the done batch",
        head(at(9), 3),
        CheckpointState(2, 2, at(5), {2: at(7), 3: at(9)}),
        {"CHECKPOINT_DISAGREES"},
    ),
    (
        "an open batch of real time was committed",
        head(at(9), 3, flowing(4)),
        CheckpointState(4, 4, at(5), {4: at(12)}),
        set(),
    ),
    (
        "another than the open batch of real time was committed",
        head(at(9), 3, flowing(4)),
        CheckpointState(5, 5, at(5), {5: at(12)}),
        {"LEDGER_BEHIND"},
    ),
    (
        "a batch is open that does not follow the done one",
        head(at(9), 3, flowing(5)),
        CheckpointState(5, 5, at(5), {5: at(12)}),
        {"LEDGER_BEHIND"},
    ),
    (
        "a partition was added and is unmoved",
        head(at(9), 3),
        CheckpointState(3, 3, at(5), {3: {**at(9), T2: 0}}),
        set(),
    ),
    (
        "a partition was added, and the run died before the first batch that has it was planned",
        head({**at(9), T2: 0}, 3),
        CheckpointState(4, 3, at(5), {3: at(9), 4: {**at(9), T2: 7}}),
        set(),
    ),
    (
        "a partition that moved is not in the checkpoint",
        head({**at(9), T2: 4}, 3),
        CheckpointState(3, 3, at(5), {3: at(9)}),
        {"CHECKPOINT_DISAGREES"},
    ),
    (
        "another lineage's positions",
        head({**at(5), TopicPartition("u", 0): 4}),
        CheckpointState(0, None, at(5), {0: at(9)}),
        set(),
    ),
    ("checkpoint deleted", head(at(9), 3), NOTHING, {"CHECKPOINT_LOST"}),
    ("checkpoint deleted in the first batch", head(at(5), None, planned(0, 5, 9)), NOTHING, {"CHECKPOINT_LOST"}),
    ("ledger wiped", head({}), CheckpointState(3, 3, at(5), {3: at(9)}), {"LEDGER_LOST"}),
    ("ledger wiped after the first batch", head({}), CheckpointState(0, 0, at(5), {0: at(9)}), {"LEDGER_LOST"}),
    (
        "ledger restored from a backup",
        head(at(7), 2),
        CheckpointState(3, 3, at(5), {2: at(7), 3: at(9)}),
        {"LEDGER_BEHIND"},
    ),
    (
        "checkpoint restored from a backup",
        head(at(9), 3),
        CheckpointState(1, 1, at(5), {1: at(6)}),
        {"CHECKPOINT_DISAGREES"},
    ),
    ("another checkpoint", head(at(9), 3), CheckpointState(3, 3, at(5), {3: at(8)}), {"CHECKPOINT_DISAGREES"}),
    ("end of the done batch unknown", head(at(9), 3), CheckpointState(3, 3, at(5), {}), {"CHECKPOINT_DISAGREES"}),
    ("first positions differ", head(at(6)), CheckpointState(None, None, at(5), {}), {"CHECKPOINT_DISAGREES"}),
    (
        "the plan has another end",
        head(at(9), 3, planned(4, 9, 11)),
        CheckpointState(4, 3, at(5), {3: at(9), 4: at(12)}),
        {"CHECKPOINT_DISAGREES"},
    ),
    (
        "Spark knows no such plan",
        head(at(9), 3, planned(4, 9, 12)),
        CheckpointState(3, 3, at(5), {3: at(9)}),
        {"CHECKPOINT_DISAGREES"},
    ),
    ("a commit was lost", head(at(9), 3), CheckpointState(3, 2, at(5), {2: at(7), 3: at(9)}), set()),
    (
        "two commits were lost",
        head(at(9), 3),
        CheckpointState(3, 1, at(5), {2: at(7), 3: at(9)}),
        {"CHECKPOINT_DISAGREES"},
    ),
    (
        "two batches were planned at once",
        head(at(9), 3),
        CheckpointState(5, 3, at(5), {3: at(9), 4: at(12), 5: at(15)}),
        {"CHECKPOINT_DISAGREES"},
    ),
    (
        "an open end is the next batch's",
        head(at(9), 3, flowing(4)),
        CheckpointState(4, 4, at(5), {3: at(9), 4: at(12)}),
        set(),
    ),
    (
        "an open end of a batch that is not the next one",
        head(at(9), 3, flowing(5)),
        CheckpointState(5, 5, at(5), {4: at(12), 5: at(15)}),
        {"LEDGER_BEHIND"},
    ),
]


@pytest.mark.parametrize(
    ("ledger", "checkpoint", "codes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_ledger_against_checkpoint(ledger: Head, checkpoint: CheckpointState, codes: set[str]) -> None:
    findings = compare(ledger, checkpoint)
    assert {finding.code for finding in findings} == codes
    assert all(finding.path == "sources.s" and finding.suggestion for finding in findings)


@pytest.mark.parametrize(
    ("offset", "log", "code", "number"),
    [
        (5, LogRange(0, 9), None, ""),
        (0, LogRange(0, 0), None, ""),
        (9, LogRange(0, 9), None, ""),
        (8, LogRange(8, 9), None, ""),
        (7, LogRange(8, 9), "BELOW_LOG_START", "1 records"),
        (10, LogRange(0, 9), "BEYOND_LOG_END", "1 records"),
        (5, LogRange(8, 9), "BELOW_LOG_START", "3 records"),
        (12, LogRange(0, 9), "BEYOND_LOG_END", "3 records"),
        (5, None, "PARTITION_REMOVED", "at 5"),
    ],
)
def test_position_against_log(offset: int, log: LogRange | None, code: str | None, number: str) -> None:
    position = PartitionPosition(topic="t", partition=0, offset=offset)
    findings = within_log("sources.s", [position], {T0: log} if log else {})
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
    assert checkpoint.state() == CheckpointState(1, 0, {T0: 5}, {0: {T0: 7}, 1: {T0: 9}})
    assert (checkpoint.is_committed(0), checkpoint.is_committed(1)) == (True, False)


DAMAGE = ["", "v1\n{}\n{}\n{}", "v1", "v1\n{}\n{", 'v1\n{}\n{"t":{"0":-1}}', "v9\n{}\n{}", "v1\n{}\n[]", "\0\0"]


@pytest.mark.parametrize("content", DAMAGE)
def test_a_damaged_entry_in_the_middle_is_no_position(checkpoint: Checkpoint, content: str) -> None:
    (checkpoint.path / "offsets/0").write_text(content)
    with pytest.raises(CheckpointDamaged, match="offsets/0"):
        checkpoint.state()


@pytest.mark.parametrize("content", DAMAGE)
def test_a_torn_newest_plan_that_touched_no_sink_is_planned_anew(checkpoint: Checkpoint, content: str) -> None:
    (checkpoint.path / "offsets/1").write_text(content)
    state = checkpoint.state(done=LedgerBatchEnd(0, {T0: 7}))
    assert (state.planned, state.committed, state.ends) == (0, 0, {0: {T0: 7}})
    mend(state)
    assert checkpoint.state() == replace(state, repairs=())


@pytest.mark.parametrize("reported", [{"plan": LedgerBatchEnd(1, {T0: 9})}, {"done": LedgerBatchEnd(1, {T0: 9})}])
def test_a_torn_newest_plan_that_the_ledger_knows_is_written_again(
    checkpoint: Checkpoint, reported: dict[str, LedgerBatchEnd]
) -> None:
    whole = (checkpoint.path / "offsets/1").read_text()
    (checkpoint.path / "offsets/1").write_text(whole[:-3])
    (checkpoint.path / "offsets/.1.crc").write_text("of the torn one")
    state = checkpoint.state(**reported)
    assert (state.planned, state.ends) == (1, {0: {T0: 7}, 1: {T0: 9}})
    mend(state)
    assert json.loads((checkpoint.path / "offsets/1").read_text().splitlines()[2]) == {"t": {"0": 9}}
    assert not (checkpoint.path / "offsets/.1.crc").exists()
    assert checkpoint.state() == replace(state, repairs=())


def test_the_ends_are_those_of_the_newest_plan_and_the_one_before(checkpoint: Checkpoint) -> None:
    for batch in (2, 3):
        (checkpoint.path / "offsets" / str(batch)).write_text(f'v1\n{{}}\n{{"t":{{"0":{batch + 8}}}}}')
    assert checkpoint.state().ends == {2: {T0: 10}, 3: {T0: 11}}
    (checkpoint.path / "offsets/3").write_text("")
    assert checkpoint.state().ends == {1: {T0: 9}, 2: {T0: 10}}, "the newest one is planned anew"


def test_a_damaged_plan_that_is_long_past_is_damage_and_the_newest_is_left_alone(checkpoint: Checkpoint) -> None:
    for batch in (2, 3, 4):
        (checkpoint.path / "offsets" / str(batch)).write_text(f'v1\n{{}}\n{{"t":{{"0":{batch + 8}}}}}')
    (checkpoint.path / "offsets/0").write_text("")
    with pytest.raises(CheckpointDamaged, match="offsets/0"):
        checkpoint.state()


def test_a_plan_that_is_written_again_has_the_settings_of_the_one_before(checkpoint: Checkpoint) -> None:
    (checkpoint.path / "offsets/1").write_text("")
    mend(checkpoint.state(plan=LedgerBatchEnd(1, {T0: 9})))
    assert (checkpoint.path / "offsets/1").read_text().splitlines()[:2] == ["v1", '{"batchTimestampMs":1}']


def test_a_checkpoint_with_a_plan_alone_is_used() -> None:
    assert [CheckpointState(planned=0).used, CheckpointState(committed=0).used, CheckpointState().used] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("content", ["", "v1", "1\n{}", "v1\n[]", "v1\n{", "\0\0"])
def test_only_a_whole_commit_is_one(checkpoint: Checkpoint, content: str) -> None:
    (checkpoint.path / "commits/1").write_text(content)
    assert checkpoint.state(done=LedgerBatchEnd(1, {T0: 9})).committed == 0
    for batch in (0, 2):
        with pytest.raises(CheckpointDamaged, match="commits/1"):
            checkpoint.state(done=LedgerBatchEnd(batch, {T0: 9}))


def test_a_torn_commit_before_the_newest_is_damage_also_where_the_ledger_has_the_batch(checkpoint: Checkpoint) -> None:
    (checkpoint.path / "commits/0").write_text("")
    (checkpoint.path / "commits/1").write_text("v1\n{}")
    with pytest.raises(CheckpointDamaged, match="commits/0"):
        checkpoint.state(done=LedgerBatchEnd(0, {T0: 7}))


def test_a_torn_newest_plan_of_a_committed_batch_is_damage_where_the_ledger_does_not_know_it(
    checkpoint: Checkpoint,
) -> None:
    (checkpoint.path / "commits/1").write_text("v1\n{}")
    (checkpoint.path / "offsets/1").write_text("")
    with pytest.raises(CheckpointDamaged, match="the ledger does not have the batch"):
        checkpoint.state(done=LedgerBatchEnd(0, {T0: 7}))


def test_a_torn_newest_commit_of_a_done_batch_is_removed(checkpoint: Checkpoint) -> None:
    (checkpoint.path / "commits/1").write_text("v1")
    state = checkpoint.state(done=LedgerBatchEnd(1, {T0: 9}))
    assert (state.planned, state.committed) == (1, 0)
    mend(state)
    assert sorted(path.name for path in (checkpoint.path / "commits").iterdir()) == ["0"]


def test_a_torn_commit_that_the_ledger_knows_nothing_of_is_not_touched(checkpoint: Checkpoint) -> None:
    (checkpoint.path / "commits/1").write_text("")
    with pytest.raises(CheckpointDamaged, match="commits/1"):
        checkpoint.state(done=LedgerBatchEnd(0, {T0: 7}), plan=LedgerBatchEnd(1, {T0: 9}))


@pytest.mark.parametrize("file", ["offsets/0", "commits/0", "metadata", "sources/0/0"])
def test_any_other_file_that_is_torn_is_damage(checkpoint: Checkpoint, file: str) -> None:
    (checkpoint.path / "commits/1").write_text("v1\n{}")
    (checkpoint.path / file).write_text("{")
    with pytest.raises(CheckpointDamaged, match=file):
        checkpoint.state(done=LedgerBatchEnd(1, {T0: 9}))


@pytest.mark.parametrize("file", ["offsets/1", "commits/1"])
def test_a_batch_that_is_missing_between_others_is_damage(checkpoint: Checkpoint, file: str) -> None:
    for log in ("offsets", "commits"):
        for batch in (1, 2):
            (checkpoint.path / log / str(batch)).write_text((checkpoint.path / log / "0").read_text())
    (checkpoint.path / file).unlink()
    with pytest.raises(CheckpointDamaged, match="batch 1 is missing"):
        checkpoint.state()


@pytest.mark.parametrize("file", ["metadata", "sources/0/0"])
def test_what_a_crash_tore_before_the_first_batch_is_written_anew(tmp_path: Path, file: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("")
    state = Checkpoint(tmp_path).state()
    assert not state.used
    mend(state)
    assert not (tmp_path / file).exists()


def mend(state: CheckpointState) -> None:
    for repair in state.repairs:
        repair.carry_out()


@pytest.mark.parametrize(
    ("ledger", "checkpoint", "lost"),
    [
        (head(at(9), 3), CheckpointState(4, 3, at(0), {3: at(9), 4: at(15)}), planned(4, 9, 15)),
        (head(at(5)), CheckpointState(0, None, at(5), {0: at(9)}), planned(0, 5, 9)),
        (head(at(9), 3), CheckpointState(3, 3, at(0), {3: at(9)}), None),
        (head(at(9), 3, planned(4, 9, 15)), CheckpointState(4, 3, at(0), {3: at(9), 4: at(15)}), None),
    ],
)
def test_a_batch_whose_plan_a_damaged_journal_has_lost_may_have_touched_its_sink(
    ledger: Head, checkpoint: CheckpointState, lost: Planned | None
) -> None:
    ledger = replace(ledger, channel="c")
    assert lost_plan("s", replace(ledger, incomplete=True), checkpoint) == lost
    assert lost_plan("s", ledger, checkpoint) is None


def test_ranges_leave_out_what_does_not_move_and_start_new_partitions_at_zero() -> None:
    moved = ranges({T0: 5, T1: 3}, {T0: 9, T1: 3, T2: 2})
    assert [(item.partition, item.start, item.end) for item in moved] == [(0, 5, 9), (2, 0, 2)]


def test_a_checkpoint_that_is_ahead_or_behind_names_the_records_between() -> None:
    ahead = compare(head(at(9, 4), 3), CheckpointState(3, 3, at(5), {3: at(109, 4)}))
    assert [found.message for found in ahead] == ["t/0: the ledger continues at 9, the checkpoint at 109: GAP 100."]
    behind = compare(head(at(9, 4), 3), CheckpointState(3, 3, at(5), {3: at(9, 1)}))
    assert [found.message for found in behind] == ["t/1: the ledger continues at 4, the checkpoint at 1: OVERLAP 3."]
    (further,) = compare(head(at(9, 4), 3), CheckpointState(4, 4, at(5), {3: at(9, 4), 4: at(109, 5)}))
    assert further.message.endswith("is 3; t/0: GAP 100; t/1: GAP 1.")


KNOWN = SourceIdentity(source="s", cluster_id="one", topics={"t": "a", "u": "b"})
LOG = {T0: LogRange(0, 200), T1: LogRange(20, 120)}


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        (KNOWN, None),
        (KNOWN.model_copy(update={"topics": {"t": "a"}}), None),
        (KNOWN.model_copy(update={"topics": {"t": "a", "u": "other"}}), None),
        (KNOWN.model_copy(update={"topics": {"t": "c", "u": "b"}}), "TOPIC_RECREATED"),
        (KNOWN.model_copy(update={"cluster_id": "two", "topics": {"t": "c", "u": "d"}}), "CLUSTER_CHANGED"),
    ],
    ids=["the same", "a topic is not read any more", "one that was never read", "made again", "another cluster"],
)
def test_offsets_of_another_log_are_no_positions(seen: SourceIdentity, code: str | None) -> None:
    found = another_log("sources.s", KNOWN, seen, {"t"}, LOG)
    assert [finding.code for finding in found] == ([code] if code else [])
    if code:
        assert "300 records" in found[0].message
        assert "t/0 from 0 to 200, t/1 from 20 to 120" in found[0].message
    if code == "TOPIC_RECREATED":
        assert "was a and is c" in found[0].message
    assert another_log("sources.s", None, seen, {"t"}, LOG) == []
    assert another_log("sources.s", KNOWN, seen, set(), LOG) == []


@pytest.mark.parametrize(
    ("furthest", "mirror", "decided", "finding", "noticed"),
    [
        (at(9), Mirrored(9, True), {}, None, None),
        (at(9), Mirrored(5, True), {}, None, None),
        (at(9), Mirrored(12, True), {}, "LEDGER_BEHIND", None),
        (at(9), Mirrored(12, True), at(12), None, None),
        (at(9), Mirrored(13, True), at(12), "LEDGER_BEHIND", None),
        (at(9), Mirrored(12, False), {}, "LEDGER_BEHIND", "GROUP_MOVED"),
        (at(9), Mirrored(12, False), at(12), None, "GROUP_MOVED"),
        (at(9), Mirrored(12, True), at(2), "LEDGER_BEHIND", None),
        (at(9), Mirrored(5, False), {}, None, "GROUP_MOVED"),
        (at(9), Mirrored(9, False), {}, None, None),
        (at(9), None, {}, None, "GROUP_LOST"),
        ({}, None, {}, None, None),
        ({}, Mirrored(12, False), {}, None, None),
        ({}, Mirrored(12, True), {}, "LEDGER_LOST", None),
    ],
)
def test_the_group_is_a_mirror_that_may_know_more_than_the_ledger(
    furthest: Offsets, mirror: Mirrored | None, decided: Offsets, finding: str | None, noticed: str | None
) -> None:
    known = {T0: mirror, T1: Mirrored(0, True)} if furthest else {T0: mirror}
    seen = {key: each for key, each in known.items() if each is not None}
    found = ahead_of_ledger("sources.s", furthest, seen, decided)
    assert [each.code for each in found] == ([finding] if finding else [])
    assert [each.code for each in notices("s", furthest, seen)] == ([noticed] if noticed else [])


def test_the_first_batch_of_real_time_mode_is_in_no_checkpoint_before_its_end() -> None:
    """Spark logs its offsets when it is over; an agent that dies before leaves an empty checkpoint."""
    planned = Planned(source="shop", channel="lake", batch=0, ranges=[], open_ended=True)
    head = Head("sources.shop", {TopicPartition("orders", 0): 0}, planned=planned)
    assert compare(head, CheckpointState()) == []
    closed = Head("sources.shop", head.positions, planned=planned.model_copy(update={"open_ended": False}))
    assert [each.code for each in compare(closed, CheckpointState())] == ["CHECKPOINT_LOST"]
