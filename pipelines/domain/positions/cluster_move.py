"""What a move to another Kafka cluster asks for, and what was found: data alone."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.positions import Frozen, Offset, SourceIdentity
from pipelines.domain.base.values import Topic

SOURCE_KEYS = frozenset({"bootstrap_servers", "options", "topics_pattern", "group_id"})
SINK_KEYS = frozenset({"bootstrap_servers", "options", "topic", "allowed_topics", "allowed_topic_prefix"})
"""Keys of a component that say where it lies on the other cluster. Topics of a source are named by `topics`."""


class By(StrEnum):
    """How a position became one on the other cluster. MAPPING: by the pairs of a mirror; TIMESTAMP: by the time of
    the last record; GIVEN: by a user; SAME_LOG: it is the same cluster under another address; CUT: by what an
    earlier translation found."""

    MAPPING = "mapping"
    TIMESTAMP = "timestamp"
    GIVEN = "given"
    SAME_LOG = "same_log"
    CUT = "cut"


class Translate(Frozen):
    """How positions are to be translated. `topic`: the mirror's offset syncs, `on` the old cluster (where MirrorMaker 2
    keeps them by default) or the new one. `offsets`: topic on the new cluster -> partition -> offset."""

    by: Literal["mapping", "timestamp", "given"]
    topic: Topic | None = None
    on: Literal["old", "new"] = "old"
    offsets: dict[Topic, dict[int, Offset]] = {}

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        if (self.topic is not None) != (self.by == "mapping"):
            raise ValueError("topic is the topic of the mirror's offset syncs; `by: mapping` alone needs it")
        if bool(self.offsets) != (self.by == "given"):
            raise ValueError("offsets is one offset for each topic and partition; `by: given` alone needs them")
        return self


class CutPairs(Frozen):
    """What an earlier translation found of one partition of a channel: an offset in the log that is read now, and the
    one of the same place on the other cluster."""

    channel: str
    topic: str
    partition: Offset
    pair: tuple[Offset, Offset]


class ClusterMove(Frozen):
    """The question: one source or one sink goes `to` another cluster, the component as it will be, with its references.
    `topics`: names on the other cluster, where they differ. `cut`: instead of `positions`, on the way back."""

    goal: Literal["cluster"] = "cluster"
    source: str = ""
    sink: str = ""
    to: dict[str, Any] = Field(repr=False)
    topics: dict[str, str] = {}
    positions: Translate | None = None
    cut: list[CutPairs] = []

    def renamed(self, topic: str) -> str:
        """The name of a topic on the other cluster."""
        return self.topics.get(topic, topic)


class Seen(NamedTuple):
    """One record: its offset, its time in milliseconds, a digest of key and value; whether the broker set the time."""

    offset: int
    timestamp: int
    digest: str
    appended: bool = False


class PartitionTranslation(Frozen):
    """One partition of one channel: it stopped at `stopped_at` and continues at `new`; None with `code`, where it
    cannot, and with `behind`, while the mirror has not copied so many records yet.

    `exact`: the record after the last one that was read is the next one. `skip` and `replay` are records; None where
    they cannot be counted. `evidence`: what it rests on. `cluster_id`, `topic_id`: the log that `new` is an offset
    of.
    """

    source: str
    channel: str
    old_topic: str
    topic: str
    partition: Offset
    stopped_at: Offset
    new: Offset | None = None
    by: By
    exact: bool = False
    skip: int | None = 0
    replay: int | None = 0
    behind: int = 0
    code: str = ""
    reason: str = ""
    suggestion: str = ""
    evidence: dict[str, Any] = {}
    cluster_id: str = ""
    topic_id: str = ""

    @property
    def place(self) -> str:
        """For findings."""
        return f"sources.{self.source}.{self.channel} {self.old_topic}/{self.partition}"

    def finding(self) -> Finding:
        """Why it cannot go on there."""
        return Finding(path=self.place, code=self.code, message=self.reason, suggestion=self.suggestion)


class SinkEnd(Frozen):
    """Where a partition of a sink's topic begins and ends on the new cluster before the first record is written."""

    sink: str
    topic: str
    partition: Offset
    start: Offset
    end: Offset
    cluster_id: str = ""
    topic_id: str = ""


class Translation(Frozen):
    """The answer: of a source `rows`, of a sink `ends`."""

    rows: list[PartitionTranslation] = []
    ends: list[SinkEnd] = []


def identity(rows: list[PartitionTranslation]) -> SourceIdentity:
    """The log that the rows of one source go on in."""
    topics = {row.topic: row.topic_id for row in rows}
    return SourceIdentity(source=rows[0].source, cluster_id=rows[0].cluster_id, topics=topics)


def warnings(rows: list[PartitionTranslation]) -> list[Finding]:
    """What a person should know of them, and what stops nobody."""
    found = []
    for row in rows:
        if row.behind:
            words = (
                f"The mirror has not copied {row.behind} of the records yet; after the pause the migration waits "
                "for it."
            )
            found.append(Finding(path=row.place, code="MIRROR_BEHIND", severity="warning", message=words))
        elif row.new is not None and row.skip is None:
            words = (
                "The last record that was read is not found there, so the records skipped and reread cannot be counted."
            )
            found.append(Finding(path=row.place, code="NOT_COUNTED", severity="warning", message=words))
    times = [row for row in rows if row.by is By.TIMESTAMP and row.evidence.get("times_of") == "producer"]
    if times:
        words = "The times of these records are the producers'; only around the positions are they known to ascend."
        found.append(Finding(path=times[0].place, code="TIMES_OF_PRODUCERS", severity="warning", message=words))
    return found


def pairs_back(rows: list[PartitionTranslation]) -> list[CutPairs]:
    """The pairs with which positions on the new cluster are translated back."""
    return [
        CutPairs(channel=row.channel, topic=row.topic, partition=row.partition, pair=(row.new, anchor))
        for row in rows
        if row.new is not None and (anchor := row.evidence.get("same_as")) is not None
    ]
