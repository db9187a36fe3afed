"""Findings about the batches of a whole definition: how many files they make, and what their limit does not limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from pipelines.domain.base.findings import Finding, PathParts, listed, quote
from pipelines.domain.definitions.components.sink.file import FileSink
from pipelines.domain.definitions.components.source.kafka import KafkaSource
from pipelines.domain.definitions.document.outline import error, warning
from pipelines.domain.definitions.document.spec import BUFFER, Definition, Read

MOST_FILES = 1000
"""An hour: a directory of a week has 170,000 then."""
_SHORTEST = 0.1
"""Seconds that a batch takes at least."""
_MANY_PARTITIONS = 100
_MANY_EVENTS = 3600
"""Of a batch: with fewer, a thousand events a second are more than MOST_FILES."""


def files_are_few(definition: Definition) -> Iterator[Finding]:
    """A file sink writes at least one file for each batch of each read that it is given."""
    for name, sink in definition.sinks.items():
        if not isinstance(sink, FileSink):
            continue
        reads = [read for read in definition.reads() if _is_given(definition, sink, read)]
        files = sum(3600 / _seconds(definition, read) for read in reads)
        if files > MOST_FILES:
            yield _flood(definition, name, sink, reads, round(files))
        elif (limit := min(map(definition.max_events, reads), default=_MANY_EVENTS)) < _MANY_EVENTS:
            yield _small(name, limit)


def _is_given(definition: Definition, sink: FileSink, read: Read) -> bool:
    """Whether its batches go to the sink; those of a channel that buffers go into a store first."""
    buffers = definition.channels[sink.channel].buffers
    return sink.channel in read.channels and read.source.startswith(BUFFER) == buffers


def _seconds(definition: Definition, read: Read) -> float:
    return max(definition.batch_interval(read), definition.delivery.trigger_interval_ms / 1000, _SHORTEST)


def _flood(definition: Definition, name: str, sink: FileSink, reads: list[Read], files: int) -> Finding:
    path: PathParts = ("sinks", name, "roll", "interval")
    message = f"The sink {quote(name)} can write {files:,} files an hour: each batch has at least one."
    needed = math.ceil(3600 * len(reads) / MOST_FILES)
    if sink.roll.interval < needed:
        return warning(path, "many_files", message, f"Set roll.interval to {needed} s or more.")
    hasty = {channel for read in reads for channel in read.channels if _hurries(definition, channel, needed)}
    message += f" Its batches are shared with channels or sinks that do not wait for roll.interval: {listed(hasty)}."
    slower = f"set delivery.trigger_interval_ms to {needed * 1000} or more."
    if sink.channel in hasty:
        return warning(path, "many_files", message, f"Leave the sink group, or {slower}")
    kind = "direct" if all(_repeatable(definition, read) for read in reads) else "file or kafka"
    suggestion = f"Change the channel {quote(sink.channel)} to the type {kind}, or {slower}"
    return warning(path, "many_files", message, suggestion)


def _small(name: str, limit: int) -> Finding:
    """A batch that is full waits for nothing."""
    message = (
        f"A batch of the sink {quote(name)} has at most {limit} events, and each has files of its own: with more than "
        f"{limit * MOST_FILES // 3600} events a second that is more than {MOST_FILES:,} files an hour."
    )
    suggestion = "Raise delivery.max_events_per_batch, or the capacity and transaction_capacity of its channel."
    return warning(("sinks", name, "roll"), "small_files", message, suggestion)


def _hurries(definition: Definition, channel: str, needed: int) -> bool:
    spec = definition.channels[channel]
    return spec.buffers or any(each.batch_interval < needed for each in definition.sinks_of(channel).values())


def _repeatable(definition: Definition, read: Read) -> bool:
    return all(interceptor.repeatable for interceptor in definition.sources[read.source].interceptors)


def batches_have_room_for_partitions(definition: Definition) -> Iterator[Finding]:
    """A batch has at least one record of every Kafka partition with new ones."""
    limit = definition.delivery.max_events_per_batch
    for name, source in definition.sources.items():
        if not isinstance(source, KafkaSource):
            continue
        known = _partitions(source)
        if limit >= (known or _MANY_PARTITIONS):
            continue
        count = f"the {known} partitions" if known else "each partition"
        message = (
            f"A batch has at least one record of {count} of the source {quote(name)} that have new ones: it exceeds "
            f"max_events_per_batch ({limit}) where they are more than that."
        )
        path = ("delivery", "max_events_per_batch")
        yield warning(path, "fewer_than_partitions", message, "Set it to the number of partitions or more.")


def the_latency_has_room_for_the_interval(definition: Definition) -> Iterator[Finding]:
    """Events that wait for the next batch are late where batches are further apart than the latency aimed at."""
    delivery = definition.delivery
    interval, target = delivery.trigger_interval_ms / 1000, delivery.target_latency
    if target is not None and interval >= target:
        message = f"Batches start every {interval:g} s, so events cannot be delivered within {target:g} s."
        suggestion = "Remove trigger_interval_ms, or raise target_latency."
        yield error(("delivery", "target_latency"), "deadlines_disagree", message, suggestion)


def _partitions(source: KafkaSource) -> int | None:
    """How many there are at least, where the definition names them."""
    offsets = getattr(source.start_from, "offsets", None)
    return sum(map(len, offsets.values())) if offsets else None


CHECKS: tuple[Callable[[Definition], Iterator[Finding]], ...] = (
    files_are_few,
    batches_have_room_for_partitions,
    the_latency_has_room_for_the_interval,
)
