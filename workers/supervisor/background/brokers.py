"""What watching asks of Kafka clusters. Every call is bounded; a cluster that does not answer raises Away."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.monitoring.watching import Description


@dataclass(frozen=True)
class ClusterAddress:
    """How a cluster is reached, with every reference resolved. `reach`: what the pipeline or the group may reach, the
    brokers that the cluster advertises included."""

    servers: str
    options: Mapping[str, Any]
    reach: ReachPolicy


class Brokers(Protocol):
    """Kafka, for looks. All of them raise Away."""

    def ranges(
        self, cluster: ClusterAddress, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, tuple[int, int]]:
        """First offset and end of each partition; those that do not exist are left out."""

    def offsets_at(
        self, cluster: ClusterAddress, times: Mapping[TopicPartition, float]
    ) -> Mapping[TopicPartition, int]:
        """The first offset whose record is of that time (seconds) or later; partitions without one are left out."""

    def describe(self, cluster: ClusterAddress, group: str) -> Description:
        """A group's coordinator, state and members."""

    def commits(
        self, cluster: ClusterAddress, group: str, partitions: Collection[TopicPartition] | None
    ) -> Mapping[TopicPartition, int]:
        """What a group has committed, of some partitions or all. One answer, which may be wrong while the coordinator
        moves: a partition that is missing here need not be missing."""
