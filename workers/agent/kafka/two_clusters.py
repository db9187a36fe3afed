"""Both clusters of a source that moves, as they are looked at: logs, identities, records, and the mirror's pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pipelines.domain.base.positions import SourceIdentity, TopicPartition
from pipelines.domain.positions.cluster_move import By, ClusterMove, Seen, Translate
from pipelines.domain.positions.offset_syncs import NotASync, OffsetSync, Pair, decode, pairs
from workers.agent.base.findings import refuse
from workers.agent.kafka import windows
from workers.agent.kafka.admin import KafkaCluster
from workers.agent.positions.checkpoint import Offsets
from workers.agent.positions.guard import LogRange


@dataclass
class Side:
    """The topics of a source on one cluster. What is asked of a broker is asked once."""

    path: str
    source: str
    cluster: KafkaCluster
    topics: Sequence[str]

    @cached_property
    def log(self) -> dict[TopicPartition, LogRange]:
        """First offset and end of what can be read of each partition. Raises Refused."""
        partitions = self.cluster.partitions(self.topics, self.path, "READ")
        starts, ends = self.cluster.earliest(partitions), self.cluster.latest_committed(partitions)
        if missing := [key for key in partitions if key not in starts or key not in ends]:
            words = f"The broker did not report where {missing[0][0]}/{missing[0][1]} starts and ends."
            raise refuse(self.path, "POSITION_UNKNOWN", words, "Try again.", retryable=True)
        return {key: LogRange(starts[key], ends[key]) for key in partitions}

    @cached_property
    def identity(self) -> SourceIdentity:
        """The ids of the cluster and of the topics."""
        ids = self.cluster.topic_ids(self.topics)
        return SourceIdentity(source=self.source, cluster_id=self.cluster.cluster_id(), topics=ids)

    def records(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> dict[TopicPartition, list[Seen]]:
        """Records of these ranges, as far as the log has them."""
        return windows.seen(
            self.cluster,
            {
                key: (max(start, self.log[key].start), min(end, self.log[key].end))
                for key, (start, end) in ranges.items()
                if key in self.log
            },
        )


@dataclass
class Move:
    """One source on both clusters; `stands`: where its channels stand, by topic and partition on the old one."""

    move: ClusterMove
    old: Side
    new: Side
    stands: Mapping[str, Offsets]
    known: SourceIdentity | None
    cuts: dict[tuple[str, TopicPartition], Pair] = field(default_factory=dict)
    _pairs: dict[TopicPartition, list[Pair]] | None = None

    def there(self, key: TopicPartition) -> TopicPartition:
        """The partition on the new cluster."""
        return TopicPartition(self.move.renamed(key.topic), key.partition)

    @property
    def by(self) -> By:
        """How; on the way back by the pairs of the cut."""
        return By(self.move.positions.by) if self.move.positions else By.CUT

    @cached_property
    def same_log(self) -> bool:
        """Whether the new address leads to the same topics of the same cluster."""
        old, new = self.old.identity, self.new.identity
        return (old.cluster_id, old.topics) == (new.cluster_id, new.topics)

    def pairs_of(self, channel: str, key: TopicPartition) -> list[Pair]:
        """The pairs that are known of a partition. Raises Refused."""
        if self.move.positions is None:
            return [pair] if (pair := self.cuts.get((channel, key))) else []
        return self._mirrored(self.move.positions).get(key, [])

    def _mirrored(self, wanted: Translate) -> dict[TopicPartition, list[Pair]]:
        """The pairs of the mirror's offset syncs, by topic and partition on the old cluster."""
        if self._pairs is None:
            side = self.old if wanted.on == "old" else self.new
            syncs = Side(f"{self.old.path} offset syncs", side.source, side.cluster, [wanted.topic or ""])
            self._pairs = pairs(_syncs(syncs, {key: (held.start, held.end) for key, held in syncs.log.items()}))
        return self._pairs


def _syncs(side: Side, ranges: Mapping[TopicPartition, tuple[int, int]]) -> Iterator[OffsetSync]:
    for message in windows.messages(side.cluster, ranges):
        try:
            yield decode(message.key(), message.value())
        except NotASync as error:
            words = f"{message.topic()}/{message.partition()}@{message.offset()}: {error}"
            advice = "Name the topic that the mirror writes: mm2-offset-syncs.ALIAS.internal."
            raise refuse(side.path, "NOT_OFFSET_SYNCS", words, advice) from None
