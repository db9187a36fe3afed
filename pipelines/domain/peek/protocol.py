"""What a host is asked about records as they are, and what it answers. Pure."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Literal

from pydantic import Field

from pipelines.domain.base.positions import Frozen, Offset
from pipelines.domain.definitions.document.spec import Masking
from pipelines.domain.peek.question import PeekQuestion
from pipelines.domain.preview.protocol import HostAnswer, HostRequest, Side
from pipelines.domain.trace.question import Place


class HoleKind(StrEnum):
    """Why offsets have no record. ABORTED: a transaction wrote it and was aborted; MARKERS: the markers with which
    transactions end; COMPACTED: compaction has removed it, or it is such a marker; UNKNOWN: not found out in time."""

    ABORTED = "aborted"
    MARKERS = "markers"
    COMPACTED = "compacted"
    UNKNOWN = "unknown"


class Hole(Frozen):
    """[start, end) without a record."""

    start: Offset
    end: Offset
    kind: HoleKind


class PeekedPartition(Frozen):
    """A partition of a topic, and [since, until) of it that was looked at. `start`, `end`: what can be read of its log;
    `open`: offsets behind `end` that belong to transactions which are not over; `holes`: the first ones in what was
    looked at, of `missing` offsets in all."""

    topic: str
    partition: Offset
    start: Offset
    end: Offset
    open: Offset = 0
    since: Offset
    until: Offset
    shown: int
    holes: list[Hole] = []
    missing: int = 0


class RecordOrigin(Frozen):
    """What a record says that it was made of, and the batch that the ledger has of it. `first_batch` and `last_batch`
    differ where the ledger has merged batches."""

    pipeline: str
    source: str
    channel: str
    place: Place
    copy_number: int = 0
    run: int | None = None
    first_batch: int | None = None
    last_batch: int | None = None
    delivered_at: datetime | None = None


class PeekedRecord(Frozen):
    """A record. `timestamp`: milliseconds; `by_broker`: the broker has set it; `tombstone`: it has no value; `event`:
    key, headers and body, masked; `origin`: where a sink has written it or it is a dead letter; `component`, `cause`:
    what took it out of the stream."""

    topic: str
    partition: Offset
    offset: Offset
    timestamp: int | None = None
    by_broker: bool = False
    tombstone: bool = False
    event: dict[str, Any]
    origin: RecordOrigin | None = None
    outcome: str = ""
    component: str = ""
    cause: str = ""


class PeekResult(Frozen):
    """Records of a topic. `searched`: records that were looked at; `more`: there are others beyond `limit`;
    `compacted`: the topic is; `notes`: what of the question was not looked at, and why."""

    topic: str
    records: list[PeekedRecord]
    partitions: list[PeekedPartition]
    searched: int
    more: bool = False
    compacted: bool = False
    notes: list[str] = []
    seconds: float = Field(default=0.0, ge=0)


class PeekAnswer(HostAnswer):
    """The records, or the findings that stand in their way."""

    result: PeekResult | None = None


class PeekRequest(HostRequest[PeekAnswer]):
    """Records of a topic, or of what a component takes out of a source. `masking`: of every revision that counts."""

    noun: ClassVar = "peek"
    advice: ClassVar = "Ask for fewer records, or for one partition."
    answer: ClassVar = PeekAnswer
    kind: Literal["peek", "sample"]
    side: Side
    question: PeekQuestion
    masking: list[Masking] = []
