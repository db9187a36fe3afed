"""A replay of the range [start, end) of one partition into a channel: what is ordered, and how it is cut into batches.

The order lies in a directory of the pipeline's data that outlives its runs. The agent of the present run carries it out
beside its queries and writes a journal of its own there, one for each run that took part, so that a later run, and the
supervisor, know to the batch how far it has come. No position moves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from pydantic import Field

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.positions import Frozen, Offset
from pipelines.domain.definitions.components.source.kafka import KafkaSource
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.positions.resets import topics_read
from pipelines.domain.runs.protocol import Document

ORDER = "order.json"
REPLAYED = ".replay-"
MOST_OFFSETS = 1_000_000_000
MOST_BATCHES = 10_000
"""Of one replay."""


class RangeReplayRequest(Frozen):
    """What is to be replayed. `source` and `channel`: where the pipeline has several."""

    topic: str
    partition: Offset
    start: Offset
    end: Offset
    source: str | None = None
    channel: str | None = None


class Order(Document):
    """What the agent is to do: the batch of number n is [start + n * size, start + (n + 1) * size), cut at the end.
    Those up to `done` were done on another host."""

    operation: UUID
    source: str
    channel: str
    topic: str
    partition: int = Field(ge=0)
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    size: int = Field(ge=1)
    done: int = -1

    @property
    def batches(self) -> int:
        """How many there are."""
        return -(-(self.end - self.start) // self.size)

    def range_of(self, batch: int) -> tuple[int, int]:
        """What one batch reads."""
        start = self.start + batch * self.size
        return start, min(start + self.size, self.end)

    @property
    def left(self) -> int:
        """Offsets of the batches that are not done."""
        return max(0, self.end - self.range_of(self.done + 1)[0])

    @property
    def alias(self) -> str:
        """The source under which sinks know these batches, so that they are never taken for those of the query."""
        return alias(self.source, self.operation)


def alias(source: str, operation: UUID) -> str:
    """The source under which sinks know the batches of a replay."""
    return f"{source}{REPLAYED}{operation.hex[:12]}"


def journal_name(run: int) -> str:
    """The journal of a run that took part."""
    return f"journal-{run}.jsonl"


def place(data: Path, operation: UUID) -> Path:
    """Where an order lies below the data of a pipeline."""
    return data / "replays" / str(operation)


def resolved(definition: Definition, wanted: RangeReplayRequest) -> tuple[str, str] | list[Finding]:
    """The source and the channel that are meant, or everything that speaks against it."""
    findings = [*_range_findings(wanted, definition), *_mode_findings(definition)]
    sources = [name for name in definition.sources if wanted.source in (None, name)]
    reading = [name for name in sources if topics_read(definition, name, [wanted.topic])]
    if len(reading) != 1:
        known = ", ".join(reading or definition.sources)
        words = f"{len(reading)} sources read {wanted.topic}." if reading else f"No source reads {wanted.topic}."
        return [*findings, _finding("source", "SOURCE_UNCLEAR", words, f"Name one of: {known}.")]
    (source,) = reading
    if not isinstance(definition.sources[source], KafkaSource):
        words = f"{source} cannot read a range again; only Kafka sources can."
        findings.append(_finding("source", "NOT_REPLAYABLE", words, "Send the events again from where they came."))
    targets = [name for name in definition.targets(source) if wanted.channel in (None, name)]
    if len(targets) != 1:
        words = f"{source} feeds {len(definition.targets(source))} channels."
        advice = f"Name one of: {', '.join(definition.targets(source))}."
        return [*findings, _finding("channel", "CHANNEL_UNCLEAR", words, advice)]
    return findings or (source, targets[0])


def _range_findings(wanted: RangeReplayRequest, definition: Definition) -> list[Finding]:
    if wanted.end <= wanted.start:
        words = f"The range [{wanted.start}, {wanted.end}) is empty."
        return [_finding("end", "EMPTY_RANGE", words, "Name a later end.")]
    most = min(MOST_OFFSETS, MOST_BATCHES * definition.delivery.max_events_per_batch)
    if wanted.end - wanted.start > most:
        words = f"The range has {wanted.end - wanted.start} offsets; {most} are allowed at once."
        return [_finding("end", "RANGE_TOO_LARGE", words, "Replay it in parts.")]
    return []


def _mode_findings(definition: Definition) -> list[Finding]:
    if definition.delivery.mode != "real_time":
        return []
    words = "A pipeline in real-time mode replays no ranges: its sink has no batches."
    return [_finding("", "NOT_REPLAYABLE", words, "Replay it with a pipeline in micro_batch mode.")]


def _finding(path: str, code: str, message: str, suggestion: str) -> Finding:
    return Finding(path=path, code=code, message=message, suggestion=suggestion)


def digest(basis: Mapping[str, object]) -> str:
    """The hash of a plan: of what it does, and of what it was made against."""
    return hashlib.sha256(json.dumps(dict(basis), sort_keys=True, default=str).encode()).hexdigest()
