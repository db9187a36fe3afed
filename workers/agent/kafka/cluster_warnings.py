"""What a cluster's settings may do to records later: no reason to refuse a start, and worth knowing. What could not be
read is a warning, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaException

from pipelines.domain.base.causes import explain
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.kafka.admin import KafkaCluster

_OFFSETS = "__consumer_offsets"
_UNCLEAN = "unclean.leader.election.enable"
_MIN_IN_SYNC = "min.insync.replicas"


@dataclass(frozen=True)
class _Topics:
    """What the cluster tells: (replicas, replicas in sync) of each partition, and the settings of each topic."""

    path: str
    names: Sequence[str]
    replicas: Mapping[str, Sequence[tuple[int, int]]]
    settings: Mapping[str, Mapping[str, str]]

    def copies(self, topic: str) -> int:
        """The replicas of its partition that has the fewest; 0 where it is not known."""
        return min((count for count, _ in self.replicas.get(topic, ())), default=0)

    def in_sync(self, topic: str) -> int:
        """The replicas that have to acknowledge a write; 0 where it is not known."""
        text = self.settings.get(topic, {}).get(_MIN_IN_SYNC, "")
        return int(text) if text.isdecimal() else 0

    def warning(self, code: str, message: str, suggestion: str) -> AgentFinding:
        return AgentFinding(path=self.path, code=code, message=message, suggestion=suggestion)


def of_source(cluster: KafkaCluster, topics: Sequence[str], path: str) -> list[AgentFinding]:
    """About replication and leader election of what is read, and about the offsets of groups."""
    found = _read(cluster, topics, path)
    return found if isinstance(found, list) else [*_of_topics(found), *_of_offsets(found)]


def of_sink(cluster: KafkaCluster, topics: Sequence[str], path: str) -> list[AgentFinding]:
    """About replication and leader election of what is written, and about what an acknowledgement is worth."""
    found = _read(cluster, topics, path)
    return found if isinstance(found, list) else [*_of_topics(found), *_of_acknowledgements(found)]


def _read(cluster: KafkaCluster, topics: Sequence[str], path: str) -> _Topics | list[AgentFinding]:
    try:
        replicas, settings = cluster.replicas([*topics, _OFFSETS]), cluster.settings_of(topics)
    except KafkaException as error:
        return [
            AgentFinding(
                path=path,
                code="SETTINGS_NOT_CHECKED",
                message=f"Replication and settings of the topics were not checked: {explain(error)}",
                suggestion="Check replication factor and min.insync.replicas of the topics yourself.",
            )
        ]
    return _Topics(path, topics, replicas, settings)


def _of_topics(found: _Topics) -> Iterator[AgentFinding]:
    if closed := [topic for topic in found.names if topic not in found.settings or not found.copies(topic)]:
        yield found.warning(
            "SETTINGS_NOT_CHECKED",
            f"Replication and settings could not be read: {', '.join(closed)}.",
            "Grant the pipeline's user DESCRIBE and DESCRIBE_CONFIGS on the topics.",
        )
    if single := [topic for topic in found.names if found.copies(topic) == 1]:
        yield found.warning(
            "REPLICATION_ONE",
            f"Replication factor 1, a lost disk loses records: {', '.join(single)}.",
            "Raise the replication factor to 3, in production at least.",
        )
    if risky := [topic for topic in found.names if found.settings.get(topic, {}).get(_UNCLEAN) == "true"]:
        yield found.warning(
            "UNCLEAN_ELECTION",
            f"{_UNCLEAN} is true, a change of leader may lose records: {', '.join(risky)}.",
            f"Set {_UNCLEAN} of the topics to false.",
        )


def _of_acknowledgements(found: _Topics) -> Iterator[AgentFinding]:
    """A sink writes with acks=all: as many replicas acknowledge as the topic asks for."""
    if weak := [topic for topic in found.names if found.in_sync(topic) == 1 < found.copies(topic)]:
        yield found.warning(
            "MIN_INSYNC_ONE",
            f"{_MIN_IN_SYNC} is 1, so one broker alone may acknowledge a record and lose it: {', '.join(weak)}.",
            f"Set {_MIN_IN_SYNC} of the topics to 2.",
        )
    if stuck := [topic for topic in found.names if found.in_sync(topic) > found.copies(topic) > 0]:
        yield found.warning(
            "MIN_INSYNC_UNREACHABLE",
            f"{_MIN_IN_SYNC} is above the replication factor, so every write is refused: {', '.join(stuck)}.",
            f"Raise the replication factor of the topics above their {_MIN_IN_SYNC}.",
        )


def _of_offsets(found: _Topics) -> Iterator[AgentFinding]:
    if any(in_sync < count or count < 2 for count, in_sync in found.replicas.get(_OFFSETS, ())):
        yield found.warning(
            "OFFSETS_UNDER_REPLICATED",
            f"{_OFFSETS} is under-replicated: commits of groups can be lost; the ledger does not need them.",
            f"Raise the replication of {_OFFSETS} to 3 for other tools that read the group's offsets.",
        )
