"""Looks at Kafka clusters, each bounded, with one client per cluster however many look."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import OffsetSpec

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.base.causes import explain
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.monitoring.watching import Description
from workers.agent.kafka.admin import TIMEOUT, librdkafka_options
from workers.agent.kafka.admin import KafkaCluster as Client
from workers.agent.kafka.advertised import BrokersRefused
from workers.ports import Away
from workers.supervisor.background.brokers import ClusterAddress

_UNKNOWN = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC}
_MOST_CLIENTS = 64


class _Client(Client):
    """A cluster's client that also looks at groups."""

    def ends(self, partitions: Collection[TopicPartition], spec: OffsetSpec) -> dict[TopicPartition, int]:
        """Offsets of partitions; those that do not exist are left out."""
        return self.at_times(dict.fromkeys(partitions, spec))

    def at_times(self, wanted: Mapping[TopicPartition, OffsetSpec]) -> dict[TopicPartition, int]:
        """Offsets by a specification of its own for each partition."""
        return self._listed(wanted, TIMEOUT, absent=_UNKNOWN)

    def description(self, group: str) -> Description:
        """Coordinator, state and members of a group."""
        reported = self._described(group)
        node = reported.coordinator
        return Description(
            state=reported.state.name,
            coordinator="" if node is None else f"{node.id} {node.host}:{node.port}",
            simple=bool(reported.is_simple_consumer_group),
            members=tuple(sorted((member.client_id, member.host) for member in reported.members)),
        )

    def _all_partitions(self) -> list[TopicPartition]:
        topics = self._admin.list_topics(timeout=TIMEOUT).topics
        return [
            TopicPartition(name, number)
            for name, topic in sorted(topics.items())
            for number in sorted(topic.partitions)
        ]

    def all_commits(self, group: str, partitions: Collection[TopicPartition] | None) -> dict[TopicPartition, int]:
        """What a group has committed. Kafka's -1 for "none" is no offset and never leaves this method."""
        found = {}
        for at in self.answers_of(group, self._all_partitions() if partitions is None else sorted(partitions)):
            if at.error and at.error.code() not in _UNKNOWN:
                raise KafkaException(at.error)
            if not at.error and at.offset >= 0:
                found[TopicPartition(at.topic, at.partition)] = at.offset
        return found


Method = TypeVar("Method", bound=Callable[..., Any])


@contextmanager
def _answering(cluster: ClusterAddress) -> Iterator[None]:
    try:
        yield
    except BrokersRefused as error:
        raise Away(str(error)) from error
    except KafkaException as error:
        raise Away(f"{cluster.servers}: {explain(error)}") from error
    except TimeoutError as error:
        raise Away(f"{cluster.servers} did not answer within {TIMEOUT:g} s.") from error


def _bounded(method: Method) -> Method:
    @wraps(method)
    def call(self: KafkaBrokers, cluster: ClusterAddress, *args: Any) -> Any:
        with _answering(cluster):
            return method(self, cluster, *args)

    return call  # type: ignore[return-value]


class KafkaBrokers:
    """`workers.supervisor.background.brokers.Brokers` with librdkafka."""

    def __init__(self) -> None:
        self._clients: dict[tuple[tuple[tuple[str, str], ...], ReachPolicy], _Client] = {}
        self._lock = threading.Lock()

    def _client(self, cluster: ClusterAddress) -> _Client:
        settings = librdkafka_options(cluster.servers, cluster.options)
        key = (tuple(sorted((name, str(value)) for name, value in settings.items())), cluster.reach)
        with self._lock:
            if key not in self._clients and len(self._clients) >= _MOST_CLIENTS:
                self._clients.clear()
            return self._clients.setdefault(key, _Client(settings, cluster.reach))

    @_bounded
    def ranges(
        self, cluster: ClusterAddress, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, tuple[int, int]]:
        """First offset and end of each partition; those that do not exist are left out. Raises Away."""
        client = self._client(cluster)
        starts = client.ends(partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        ends = client.ends(starts.keys(), OffsetSpec.latest())  # type: ignore[no-untyped-call]
        return {key: (starts[key], end) for key, end in ends.items()}

    @_bounded
    def offsets_at(
        self, cluster: ClusterAddress, times: Mapping[TopicPartition, float]
    ) -> Mapping[TopicPartition, int]:
        """The first offset of a time or later; partitions without one are left out. Raises Away."""
        specs = {key: OffsetSpec.for_timestamp(max(0, int(at * 1000))) for key, at in times.items()}
        return self._client(cluster).at_times(specs)

    @_bounded
    def describe(self, cluster: ClusterAddress, group: str) -> Description:
        """A group's coordinator, state and members. Raises Away."""
        return self._client(cluster).description(group)

    @_bounded
    def commits(
        self, cluster: ClusterAddress, group: str, partitions: Collection[TopicPartition] | None
    ) -> Mapping[TopicPartition, int]:
        """What a group has committed, in one answer. Raises Away."""
        return self._client(cluster).all_commits(group, partitions)
