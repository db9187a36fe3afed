"""Kafka in memory, for looks: logs with the time of every record, and groups with their commits."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.monitoring.watching import Description
from workers.ports import Away
from workers.supervisor.background.brokers import ClusterAddress


@dataclass
class FakeBrokers:
    """`workers.supervisor.background.brokers.Brokers`. `times`: of each record by partition; `starts`: the first
    that is left.

    `wrong`: answers about commits that are given before the true one, one for each call.
    """

    times: dict[TopicPartition, list[float]] = field(default_factory=dict)
    starts: dict[TopicPartition, int] = field(default_factory=dict)
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    description: Description = field(default_factory=lambda: Description("STABLE", "1 broker:9092"))
    wrong: list[dict[TopicPartition, int]] = field(default_factory=list)
    away: bool = False
    clusters: list[ClusterAddress] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def ranges(
        self, cluster: ClusterAddress, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, tuple[int, int]]:
        self._called("ranges", cluster)
        return {key: (self.starts.get(key, 0), len(self.times[key])) for key in partitions if key in self.times}

    def offsets_at(
        self, cluster: ClusterAddress, times: Mapping[TopicPartition, float]
    ) -> Mapping[TopicPartition, int]:
        self._called("offsets_at", cluster)
        found = {key: bisect_left(self.times[key], at) for key, at in times.items()}
        return {key: at for key, at in found.items() if at < len(self.times[key])}

    def describe(self, cluster: ClusterAddress, group: str) -> Description:
        self._called("describe", cluster)
        return self.description

    def commits(
        self, cluster: ClusterAddress, group: str, partitions: Collection[TopicPartition] | None
    ) -> Mapping[TopicPartition, int]:
        self._called("commits", cluster)
        truth = self.wrong.pop(0) if self.wrong else self.committed
        return {key: at for key, at in truth.items() if partitions is None or key in partitions}

    def _called(self, name: str, cluster: ClusterAddress) -> None:
        self.calls.append(name)
        self.clusters.append(cluster)
        if self.away:
            raise Away(f"{cluster.servers} is away")


class AtOnce(Executor):
    """An executor that does everything while it is asked to."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
