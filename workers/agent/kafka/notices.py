"""What a cluster's settings may do to a source later: no reason to refuse a start, and worth knowing."""

from __future__ import annotations

from confluent_kafka import KafkaException

from workers.agent.kafka.admin import KafkaCluster

_OFFSETS = "__consumer_offsets"


def notices(cluster: KafkaCluster, topics: list[str]) -> list[str]:
    """Sentences about replication and leader election; nothing where the cluster does not tell."""
    try:
        replicas = cluster.replicas([*topics, _OFFSETS])
        settings = cluster.settings_of(topics)
    except KafkaException:
        return []
    found = []
    if single := [topic for topic in topics if any(count < 2 for count, _ in replicas.get(topic, []))]:
        found.append(f"Replication 1, a lost disk loses records: {', '.join(single)}.")
    unclean = "unclean.leader.election.enable"
    if risky := [topic for topic in topics if settings.get(topic, {}).get(unclean) == "true"]:
        found.append(f"{unclean} is true, a change of leader may lose records: {', '.join(risky)}.")
    if any(in_sync < count or count < 2 for count, in_sync in replicas.get(_OFFSETS, [])):
        found.append(f"{_OFFSETS} is under-replicated: commits of groups can be lost; the ledger does not need them.")
    return found
