"""The opposite of a migration that was committed: what a migration of its own asks for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.base.states import MigrationKind
from pipelines.domain.positions.cluster_move import SINK_KEYS, SOURCE_KEYS

_CARRIED = ("rules", "gates")


@dataclass(frozen=True)
class Before:
    """What was before it: the number of the revision, its definition, the host, and the positions of the snapshot,
    `{source, channel, topic, partition, offset}` each. `other_logs`: sources that read another log now than then."""

    revision: int | None
    definition: Mapping[str, Any]
    host: str | None
    positions: Sequence[Mapping[str, Any]]
    other_logs: Collection[str] = ()


def reverse(kind: MigrationKind, spec: Mapping[str, Any], before: Before) -> dict[str, Any] | str:
    """The spec of the way back, observed by the same rules; or, in words, why there is none."""
    found = _REVERSE[kind](spec, before)
    carried = {name: spec[name] for name in _CARRIED if name in spec}
    return found if isinstance(found, str) else {**found, **carried}


def _revision(_spec: Mapping[str, Any], before: Before) -> dict[str, Any] | str:
    if before.revision is None:
        return "There was no revision before the migration."
    return {"revision": before.revision}


def _host(_spec: Mapping[str, Any], before: Before) -> dict[str, Any] | str:
    return {"host": before.host} if before.host is not None else "The pipeline had no host before the migration."


def _software(_spec: Mapping[str, Any], _before: Before) -> str:
    return "Install the earlier software on its host first; then plan a migration of the kind software."


def _position(spec: Mapping[str, Any], before: Before) -> dict[str, Any] | str:
    """Of channels that stood apart the one that was behind counts: what the others read already comes again, as the
    plan says, and nothing is left out."""
    own = {"source": spec["source"]} if "source" in spec else {}
    rows = [row for row in before.positions if not own or row["source"] == own["source"]]
    if not rows:
        return "The migration recorded no positions."
    if changed := sorted({row["source"] for row in rows} & set(before.other_logs)):
        return (
            f"{', '.join(changed)} read another log before the migration, and its positions are offsets there; "
            "choose new ones."
        )
    if shared := _shared_topics(rows):
        return f"Several sources read {', '.join(shared)}; plan a migration of the positions of one source at a time."
    lowest: dict[TopicPartition, int] = {}
    for row in rows:
        key = TopicPartition(row["topic"], row["partition"])
        lowest[key] = min(row["offset"], lowest.get(key, row["offset"]))
    return {
        **own,
        "to": "offsets=" + ",".join(f"{key.topic}/{key.partition}:{at}" for key, at in sorted(lowest.items())),
    }


def _shared_topics(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Topics of more than one source: a target names an offset by topic and partition alone."""
    readers: dict[str, set[str]] = {}
    for row in rows:
        readers.setdefault(row["topic"], set()).add(row["source"])
    return sorted(topic for topic, sources in readers.items() if len(sources) > 1)


def _cluster(spec: Mapping[str, Any], before: Before) -> dict[str, Any] | str:
    """By time, since a mirror's mapping leads one way; the plan says how many records come again."""
    which = "source" if "source" in spec else "sink"
    old = before.definition.get(f"{which}s", {}).get(spec[which], {})
    to = {key: old[key] for key in sorted(SOURCE_KEYS if which == "source" else SINK_KEYS) if key in old}
    if added := sorted(spec["to"].keys() - to.keys()):
        return f"Its {which} had no {', '.join(added)} before: plan a migration to its revision, or define the move."
    if which == "sink":
        return {"sink": spec["sink"], "to": to}
    topics = {new: name for name, new in spec.get("topics", {}).items()}
    return {"source": spec["source"], "to": to, "topics": topics, "positions": {"by": "timestamp"}}


_REVERSE = {
    MigrationKind.REVISION: _revision,
    MigrationKind.HOST: _host,
    MigrationKind.SOFTWARE: _software,
    MigrationKind.POSITION: _position,
    MigrationKind.CLUSTER: _cluster,
}
