"""Going back to before something happened: where a consumer group stood then, what that repeats, and what it does to
sinks. Pure."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.base.values import seconds
from pipelines.domain.definitions.components.sink.postgres import PostgresSink
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.monitoring.lag import Appended
from pipelines.domain.monitoring.watching import GroupInspection

_BEFORE = re.compile(r"(?P<event>[0-9]{1,18})(?:-(?P<back>[^-]+))?")


@dataclass(frozen=True)
class Before:
    """So many seconds before an event, by the event's number."""

    event: int
    seconds: float


def before(text: str) -> Before:
    """Read `EVENT` or `EVENT-30m`. Raises ValueError."""
    found = _BEFORE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not EVENT-30m: the number of an event, and how long before it")
    return Before(int(found["event"]), seconds(found["back"]) if found["back"] else 0.0)


@dataclass(frozen=True)
class Reset:
    """What a reset does to one partition. `target`: the next offset to read. `basis`: how it is known."""

    key: TopicPartition
    committed: int | None
    target: int
    basis: str
    replay: int
    skip: int
    gone: int


def reset(
    inspection: GroupInspection,
    snapshot: Mapping[TopicPartition, int],
    histories: Mapping[TopicPartition, Appended],
    at: float,
) -> list[Reset]:
    """Every partition back to where it was at the time `at`: what the group had committed then, where that was seen,
    else the last offset that was surely appended before. What the log has deleted since is `gone`."""
    return [
        _reset(key, part.committed, part.start, part.end, snapshot.get(key), histories.get(key), at)
        for key, part in sorted(inspection.partitions.items())
    ]


def _reset(
    key: TopicPartition,
    committed: int | None,
    start: int,
    end: int,
    seen: int | None,
    history: Appended | None,
    at: float,
) -> Reset:
    appended = history.before(at) if history else None
    wanted = seen if seen is not None else (start if appended is None else appended)
    target = min(max(wanted, start), end)
    reached = start if committed is None else min(committed, end)
    basis = "snapshot" if seen is not None else "record_times"
    return Reset(
        key,
        committed,
        target,
        basis,
        replay=max(0, reached - target),
        skip=max(0, target - reached),
        gone=max(0, min(start, reached) - wanted),
    )


def reset_csv(resets: Iterable[Reset]) -> str:
    """`topic,partition,offset`, as kafka-consumer-groups reads it with --reset-offsets --from-file (KIP-122)."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([*each.key, each.target] for each in resets)
    return text.getvalue()


@dataclass(frozen=True)
class Effect:
    """What duplicates mean to a sink."""

    channel: str
    sink: str
    type: str
    effect: str


_EFFECTS = {
    "kafka": "They are appended again, as new records with the same origin headers.",
    "file": "They are written again, into new files.",
    "http": "They are sent again, in requests with other keys; the server has to detect them.",
    "opensearch": "They replace themselves: a document's id is its event's origin, or its header.",
    "logger": "They are logged again.",
    "null": "None: the sink stores nothing.",
}
_APPENDED = "They are inserted again: the keys of finished batches are of another lineage."
_UPSERTED = "They replace the rows with the same conflict columns."


def effects(definition: Definition, source: str) -> Iterator[Effect]:
    """What reread records of a source do to every sink that may get them."""
    for channel in definition.targets(source):
        for name, sink in definition.sinks_of(channel).items():
            if isinstance(sink, PostgresSink):
                words = _UPSERTED if sink.mode == "upsert" else _APPENDED
            else:
                words = _EFFECTS.get(sink.type, "They are delivered again.")
            yield Effect(channel, name, sink.type, words)


def topics_read(definition: Definition, source: str, topics: Sequence[str]) -> list[str]:
    """Those of some topics that a source reads."""
    spec = definition.sources[source]
    pattern = getattr(spec, "topics_pattern", None)
    named = getattr(spec, "topics", [])
    return [topic for topic in topics if (re.fullmatch(pattern, topic) if pattern else topic in named)]
