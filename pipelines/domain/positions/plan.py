"""Decisions about positions: what was found of each partition, where a choice would go on, what it skips or replays.

Pure. A survey is what the guard saw at one moment; a plan is the outcome of one choice against one survey, to the
record. Offsets are counted: in a compacted or transactional topic some of them are no records.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field

from pipelines.domain.base.positions import Frozen, Offset, SourceIdentity, TopicPartition
from pipelines.domain.positions.cluster_move import ClusterMove, Translation

STALE_AFTER = 3600.0
"""Seconds after which a plan has to be made anew."""
_RECREATED = "TOPIC_RECREATED"
_NEW_LOG = frozenset({_RECREATED, "CLUSTER_CHANGED"})
_BEHIND = frozenset({"LEDGER_BEHIND", "LEDGER_LOST"})


class PartitionSurvey(Frozen):
    """One partition of one (source, channel): the next offset by each witness, what the log holds, what is wrong.

    None: that witness knows nothing of it. `group_ours`: this pipeline wrote the group's commit. `codes` is empty where
    all agree.
    """

    source: str
    channel: str
    topic: str
    partition: Offset
    ledger: Offset | None = None
    checkpoint: Offset | None = None
    group: Offset | None = None
    group_ours: bool = False
    log_start: Offset | None = None
    log_end: Offset | None = None
    codes: list[str] = []

    @property
    def key(self) -> TopicPartition:
        """(topic, partition)."""
        return TopicPartition(self.topic, self.partition)

    @property
    def on_new_log(self) -> bool:
        """Whether the log is another one than that which the ledger's and the checkpoint's positions are offsets of."""
        return bool(_NEW_LOG.intersection(self.codes))

    @property
    def group_is_of_old_log(self) -> bool:
        """Whether the group's commit is this pipeline's own of before the topic was created again."""
        return self.group_ours and _RECREATED in self.codes

    @property
    def reached(self) -> int:
        """Up to where records are accounted for; of a log that nobody has read, its beginning."""
        return self._known[0]

    @property
    def furthest(self) -> int:
        """Up to where records may have been delivered: a witness that knows more than the ledger is believed here."""
        return max(self._known) if _BEHIND.intersection(self.codes) else self._known[0]

    @property
    def reported(self) -> int:
        """The furthest that any witness says, of whatever log; 0 where none knows anything."""
        return max(self._witnesses, default=0)

    @property
    def _known(self) -> list[int]:
        start = self.log_start or 0
        return [start] if self.on_new_log else self._witnesses or [start]

    @property
    def _witnesses(self) -> list[int]:
        return [at for at in (self.ledger, self.checkpoint, self.group) if at is not None]


class Survey(Frozen):
    """What was found at one moment (`at`, wall seconds). `reads`: channels that share a read stand together."""

    at: float
    rows: list[PartitionSurvey]
    identities: list[SourceIdentity] = []
    reads: list[list[str]] = []


class Goal(StrEnum):
    """Where to go on. UNREAD: at the first record that nobody has read, which is the ledger's position, or the
    beginning of another log."""

    UNREAD = "unread"
    LEDGER = "ledger"
    CHECKPOINT = "checkpoint"
    GROUP = "group"
    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    OFFSETS = "offsets"


class Target(Frozen):
    """A choice. `at`: wall milliseconds of a timestamp. Of OFFSETS, each by topic and partition: `offsets`, `goals` of
    those that go on elsewhere, and `times`, wall milliseconds. `source`: only of this one. What is not named stays
    where it is: UNREAD."""

    goal: Goal
    at: int | None = Field(default=None, ge=0)
    offsets: dict[str, dict[int, Offset]] = {}
    goals: dict[str, dict[int, Goal]] = {}
    times: dict[str, dict[int, Offset]] = {}
    source: str | None = None

    def goal_of(self, key: TopicPartition) -> Goal:
        """Where one partition goes on; OFFSETS where its offset is given."""
        if self.goal is not Goal.OFFSETS or key.partition in self.offsets.get(key.topic, {}):
            return self.goal
        if key.partition in self.times.get(key.topic, {}):
            return Goal.TIMESTAMP
        return self.goals.get(key.topic, {}).get(key.partition, Goal.UNREAD)

    def time_of(self, key: TopicPartition) -> int | None:
        """The time from which one partition goes on; None where that is not by time."""
        if self.goal_of(key) is not Goal.TIMESTAMP:
            return None
        return self.at if self.goal is Goal.TIMESTAMP else self.times[key.topic][key.partition]


class InspectionRequest(Frozen):
    """What a look is about: the launch that the next run would get, and the values of its references.

    `masked`: texts that no answer may show. `live`: a run goes on. `target`: whose times are looked up.
    `move`: asked is what becomes of positions on another cluster, and nothing else.
    """

    launch: dict[str, Any]
    values: dict[str, str] = Field(default={}, repr=False)
    masked: list[str] = Field(default=[], repr=False)
    live: bool = False
    target: Target | None = None
    move: ClusterMove | None = None


class InspectionResult(Frozen):
    """What was found; `survey` is None where a source is away, which is among the findings. `at_time`: by source,
    topic, partition and the first offset that is not older than the time of the question's target. `translation`: the
    answer to a question with a move; None where a cluster is away."""

    survey: Survey | None
    findings: list[dict[str, Any]] = []
    at_time: dict[str, list[tuple[str, int, int]]] = {}
    translation: Translation | None = None


class PlannedMove(Frozen):
    """What becomes of one partition: it continues at `new`; so many records are skipped, so many reread.

    `gone`: those of the skipped ones that have expired, whatever is chosen.
    """

    source: str
    channel: str
    topic: str
    partition: Offset
    old: Offset | None
    new: Offset
    skip: int = Field(ge=0)
    replay: int = Field(ge=0)
    gone: int = Field(default=0, ge=0)


class Impossible(Frozen):
    """Why a partition cannot go on there."""

    source: str
    channel: str
    topic: str
    partition: Offset
    reason: str


class Plan(Frozen):
    """The outcome of a choice; `impossible` is empty where it can be applied."""

    moves: list[PlannedMove]
    impossible: list[Impossible] = []

    @property
    def skip(self) -> int:
        """Records that are skipped, over all partitions."""
        return sum(move.skip for move in self.moves)

    @property
    def replay(self) -> int:
        """Records that come again."""
        return sum(move.replay for move in self.moves)

    @property
    def gone(self) -> int:
        """Records among those that are skipped that have expired."""
        return sum(move.gone for move in self.moves)


def reread(moves: Iterable[PlannedMove], open_batches: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Records by (source, channel) that these moves read once more, and that sinks hold since the first time. Without
    those of `open_batches`, so many of each, which may be the same ones."""
    again: Counter[tuple[str, str]] = Counter()
    for move in moves:
        again[move.source, move.channel] += move.replay
    again.subtract(open_batches)
    return dict(+again)


def plan(survey: Survey, target: Target, at_time: Mapping[str, Mapping[TopicPartition, int]] | None = None) -> Plan:
    """What a choice does to every partition that exists. `at_time`: by source, the offsets of the target's instant."""
    wanted: dict[tuple[str, str, TopicPartition], int] = {}
    impossible = []
    for row in survey.rows:
        if row.log_end is None:
            continue  # the partition is gone with all that was in it
        found = _wanted(row, target, at_time or {})
        if isinstance(found, int) and (reason := _outside(row, found)):
            found = reason
        if isinstance(found, str):
            impossible.append(Impossible(**_place(row), reason=found))
        else:
            wanted[row.source, row.channel, row.key] = found
    moves = [_move(row, new) for row in survey.rows if (new := _together(survey, wanted, row)) is not None]
    return Plan(moves=moves, impossible=impossible)


def _place(row: PartitionSurvey) -> dict[str, str | int]:
    return row.model_dump(include={"source", "channel", "topic", "partition"})


def _wanted(row: PartitionSurvey, target: Target, at_time: Mapping[str, Mapping[TopicPartition, int]]) -> int | str:
    """Where the partition is to go on, or why nobody can say."""
    goal = target.goal_of(row.key) if target.source in (None, row.source) else Goal.UNREAD
    start, end = row.log_start or 0, row.log_end or 0
    if goal is Goal.OFFSETS:
        return target.offsets[row.topic][row.partition]
    if goal is Goal.UNREAD:
        goal = Goal.EARLIEST if row.on_new_log else Goal.LEDGER
    if goal is Goal.EARLIEST:
        return start
    if goal is Goal.LATEST:
        return end
    if goal is Goal.TIMESTAMP:
        known = at_time.get(row.source)
        return "Its source cannot find records by their time." if known is None else known.get(row.key, end)
    if row.group_is_of_old_log if goal is Goal.GROUP else row.on_new_log:
        return f"The position of the {goal} is an offset of the old log, and names no record of the new one."
    at = {Goal.LEDGER: row.ledger, Goal.CHECKPOINT: row.checkpoint, Goal.GROUP: row.group}[goal]
    if at is None and goal is Goal.LEDGER and _is_new(row):
        return start
    if at is None:
        return f"The {goal} has no position of it."
    return at if goal is Goal.GROUP else min(max(at, start), end)


def _is_new(row: PartitionSurvey) -> bool:
    return "PARTITION_ADDED" in row.codes


def _outside(row: PartitionSurvey, at: int) -> str:
    start, end = row.log_start or 0, row.log_end or 0
    if start <= at <= end:
        return ""
    return f"{at} is not in the log, which holds {start} to {end}."


def _together(
    survey: Survey, wanted: Mapping[tuple[str, str, TopicPartition], int], row: PartitionSurvey
) -> int | None:
    """Channels that share a read go on where the furthest behind of them does."""
    own = wanted.get((row.source, row.channel, row.key))
    group = next((names for names in survey.reads if f"{row.source}.{row.channel}" in names), ())
    others = [wanted.get((*name.rsplit(".", 1), row.key)) for name in group]  # type: ignore[arg-type]
    return None if own is None else min([own, *(at for at in others if at is not None)])


def _move(row: PartitionSurvey, new: int) -> PlannedMove:
    start, end = row.log_start or 0, row.log_end or 0
    skip = max(0, new - row.reached)
    return PlannedMove(
        **_place(row),
        old=row.ledger,
        new=new,
        skip=skip,
        replay=max(0, min(row.furthest, end) - new),
        gone=min(skip, max(0, start - row.reached)),
    )


def digest(*, basis: Mapping[str, object], moves: Iterable[PlannedMove], identities: Sequence[SourceIdentity]) -> str:
    """The hash of a plan: of what it was made against (`basis`), and of everything that it does."""
    content = {
        "basis": dict(basis),
        "moves": [move.model_dump() for move in moves],
        "identities": [identity.model_dump() for identity in identities],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
