"""The opposite of a migration that was committed: what a migration of its own asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.domain.migrating.cluster_move import SINK_KEYS, SOURCE_KEYS
from pipelines.domain.states import MigrationKind

_CARRIED = ("rules", "gates")


@dataclass(frozen=True)
class Before:
    """What was before it: the number of the revision, its definition, the host, and the positions of the snapshot,
    `{source, topic, partition, offset}` each."""

    revision: int | None
    definition: Mapping[str, Any]
    host: str | None
    positions: Sequence[Mapping[str, Any]]


def reverse(kind: MigrationKind, spec: Mapping[str, Any], before: Before) -> dict[str, Any] | str:
    """The spec of the way back, observed by the same rules; or, in words, why there is none."""
    found = _REVERSE[kind](spec, before)
    carried = {name: spec[name] for name in _CARRIED if name in spec}
    return found if isinstance(found, str) else {**found, **carried}


def _revision(_spec: Mapping[str, Any], before: Before) -> dict[str, Any] | str:
    return {"revision": before.revision} if before.revision is not None else "There was no revision before it."


def _host(_spec: Mapping[str, Any], before: Before) -> dict[str, Any] | str:
    return {"host": before.host} if before.host is not None else "It had no host before."


def _software(_spec: Mapping[str, Any], _before: Before) -> str:
    return "Install the earlier software on its host first; then plan a migration of the kind software."


def _position(spec: Mapping[str, Any], before: Before) -> dict[str, Any] | str:
    own = {"source": spec["source"]} if spec.get("source") else {}
    rows = [row for row in before.positions if not own or row["source"] == own["source"]]
    if not rows:
        return "It wrote no positions down."
    places = sorted({(row["topic"], row["partition"], row["offset"]) for row in rows})
    return {**own, "to": "offsets=" + ",".join(f"{topic}/{number}:{offset}" for topic, number, offset in places)}


def _cluster(spec: Mapping[str, Any], before: Before) -> dict[str, Any] | str:
    """By time, since a mirror's mapping leads one way; the plan says how many records come again."""
    which = "source" if spec.get("source") else "sink"
    old = before.definition.get(f"{which}s", {}).get(spec[which], {})
    to = {key: old[key] for key in sorted(SOURCE_KEYS if which == "source" else SINK_KEYS) if key in old}
    if added := sorted(spec["to"].keys() - to.keys()):
        return f"Its {which} had no {', '.join(added)} before: plan a migration to its revision, or write the move."
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
