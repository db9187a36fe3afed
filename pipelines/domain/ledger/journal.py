"""The journal of a run: numbered, checksummed lines of JSON that only grow.

A line is `{"n": 1, "crc": "8 hex digits", "epoch": 3, "at": wall seconds, "kind": "...", "data": {...}}`; the checksum
is the CRC-32 of the canonical JSON of the line without it. A torn last line is not an entry yet; a wrong line before
the end is corruption and is refused.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field, NonNegativeInt

from pipelines.domain.base.positions import Frozen, Offset, PartitionPosition, PartitionRange, SourceIdentity
from pipelines.domain.ledger.ledger import BatchStep, Counts
from pipelines.domain.ledger.sink_groups import Switch


class EntryKind(StrEnum):
    """What an entry tells."""

    PHASE = "phase"
    COMPONENT = "component"
    POSITIONS = "positions"
    PLANNED = "planned"
    DONE = "done"
    RESOLVED = "resolved"
    REPLAYED = "replayed"
    SINK_FAILED = "sink_failed"
    SINK_SWITCHED = "sink_switched"
    SOURCE_FAILED = "source_failed"
    DEAD_LETTERS = "dead_letters"
    COMMAND = "command"
    INTERRUPTED = "interrupted"
    EXIT = "exit"
    IDENTIFIED = "identified"
    REPAIRED = "repaired"
    NOTICED = "noticed"


OWN_LIFE = frozenset({EntryKind.PHASE, EntryKind.COMPONENT, EntryKind.COMMAND, EntryKind.INTERRUPTED, EntryKind.EXIT})
"""Kinds that tell of the driver alone and of no record or position; a standby writes no others."""


class SinkPosition(PartitionPosition):
    """Where a partition of a sink ends. `topic_id`: of the topic, where it has one; a topic that is created again under
    its name has another."""

    topic_id: str = ""


class Planned(Frozen):
    """A batch is about to touch its sinks. `sink_ends`: by sink, its own end offsets at that moment, where it has any.
    Of a member of a sink group they may be empty: then it was given nothing of the batch.

    `open_ended`: it began at the starts of its ranges, and where it ends is known when it has ended (real-time mode).
    `attempts`: of earlier runs, each of which may have given the sinks some of it.
    """

    source: str
    channel: str
    batch: Offset
    ranges: list[PartitionRange]
    sink_ends: dict[str, list[SinkPosition]] = {}
    open_ended: bool = False
    attempts: int = Field(default=0, ge=0)

    def ends_of(self, sink: str) -> list[SinkPosition]:
        """What was noted of one sink."""
        return self.sink_ends.get(sink, [])

    @property
    def bound(self) -> int:
        """The most records that the ranges can hold."""
        return sum(item.end - item.start for item in self.ranges)

    def attempted(self, more: int = 1) -> Planned:
        """The same batch after so many more attempts."""
        return self.model_copy(update={"attempts": self.attempts + more})


class Done(Frozen):
    """The sink has acknowledged a batch. `duplicates_max`: records that the sink may hold twice, `ms`: duration, of
    which `steps` names parts."""

    source: str
    channel: str
    batch: Offset
    ranges: list[PartitionRange]
    counts: Counts
    duplicates_max: int = Field(default=0, ge=0)
    sink: str
    attempts: int = Field(default=1, ge=1)
    ms: int = Field(default=0, ge=0)
    steps: dict[BatchStep, NonNegativeInt] = {}

    @property
    def spent(self) -> dict[str, int]:
        """All of its duration, by step."""
        rest = self.ms - sum(self.steps.values())
        return {step.value: ms for step, ms in self.steps.items()} | {BatchStep.OTHER.value: max(0, rest)}


class Resolved(Frozen):
    """What the sink said of a batch that was planned and never done: records of it that it holds already.

    `complete` is false where the sink could not be asked, for the `cause`, and `delivered_before` is the announced
    upper bound. `left_out`: the next attempt delivers the others alone.
    """

    source: str
    channel: str
    batch: Offset
    delivered_before: int = Field(ge=0)
    complete: bool = True
    left_out: bool = False
    cause: str = ""


class Replayed(Frozen):
    """Spark ran a batch again that was done already; it returned without writing."""

    source: str
    channel: str
    batch: Offset


class PositionChange(Frozen):
    """A position was set by something other than a finished batch. `old` is None on the first start."""

    topic: str
    partition: Offset
    old: Offset | None = None
    new: Offset


class Positions(Frozen):
    """Positions set before the first batch; `origin` says by what, for example `start_from: earliest`."""

    source: str
    channel: str
    changes: list[PositionChange]
    origin: str


class Identified(SourceIdentity):
    """The log that the positions of a source are offsets of, noted before the first batch and when topics join."""


class Repaired(Frozen):
    """The newest entry of a query's checkpoint was torn and was made good from the ledger; `action` says how."""

    query: str
    file: str
    batch: Offset
    action: str


class Noticed(Frozen):
    """Something about a source's positions that does not end the run. `over`: it is so no longer."""

    source: str
    code: str
    message: str
    over: bool = False


class PhaseChanged(Frozen):
    """The agent's own phase."""

    phase: str
    reason: str = ""


class ComponentState(Frozen):
    """Initialisation and probe of one component: `state` is initialising, ready or failed."""

    name: str
    kind: str
    type: str
    state: str
    detail: str = ""


class SinkFailed(Frozen):
    """One attempt to write a batch failed; the batch is held."""

    source: str
    channel: str
    batch: Offset
    sink: str
    attempt: int
    cause: str


class SourceFailed(Frozen):
    """An attempt to write a batch failed because its records could not be read; the batch is held."""

    source: str
    channel: str
    batch: Offset
    attempt: int
    cause: str


class SinkSwitched(Switch):
    """A member of a sink group failed and left, or came back; its penalty is carried over to the next run."""

    source: str
    channel: str
    batch: Offset
    group: str


class DeadLetter(Frozen):
    """One event that could not be processed. `key`, `body` and values of `headers` are base64; `body` holds the first
    16 KiB, `size` is its whole length in bytes, and `location` tells where the whole event lies."""

    id: str
    component: str
    cause: str
    topic: str
    partition: Offset
    offset: Offset
    at: float
    key: str | None = None
    headers: list[tuple[str, str]] = []
    body: str
    size: int = Field(ge=0)
    truncated: bool = False
    location: str = ""


class DeadLetters(Frozen):
    """Dead letters of a batch that is not done yet; the same letter may come again with the batch."""

    source: str
    channel: str
    batch: Offset
    dead_letters: list[DeadLetter]


class CommandTaken(Frozen):
    """A command was accepted, or finished."""

    seq: int
    command: str
    state: str


class Interrupted(Frozen):
    """An interrupt of a stop reached the driver. `stuck`: paths of the components that were at work; `dumps`: files."""

    number: int
    stuck: list[str] = []
    dumps: list[str] = []


class Exited(Frozen):
    """The driver's last word."""

    code: int
    reason: str


PAYLOADS: dict[EntryKind, type[Frozen]] = {
    EntryKind.PHASE: PhaseChanged,
    EntryKind.COMPONENT: ComponentState,
    EntryKind.POSITIONS: Positions,
    EntryKind.PLANNED: Planned,
    EntryKind.DONE: Done,
    EntryKind.RESOLVED: Resolved,
    EntryKind.REPLAYED: Replayed,
    EntryKind.SINK_FAILED: SinkFailed,
    EntryKind.SINK_SWITCHED: SinkSwitched,
    EntryKind.SOURCE_FAILED: SourceFailed,
    EntryKind.DEAD_LETTERS: DeadLetters,
    EntryKind.COMMAND: CommandTaken,
    EntryKind.INTERRUPTED: Interrupted,
    EntryKind.EXIT: Exited,
    EntryKind.IDENTIFIED: Identified,
    EntryKind.REPAIRED: Repaired,
    EntryKind.NOTICED: Noticed,
}


class Entry(Frozen):
    """One line. `at` is wall time in seconds, for people. `epoch` is 0 as long as the run is a standby; then `kind` is
    one of OWN_LIFE."""

    n: int = Field(ge=1)
    epoch: int = Field(ge=0)
    at: float
    kind: EntryKind
    data: dict[str, Any]

    def payload(self) -> Frozen:
        """The typed content of `data`."""
        return PAYLOADS[self.kind].model_validate(self.data)


JOURNAL_DAMAGED = "JOURNAL_DAMAGED"
"""Code of the finding that a run's journal was removed, shortened or changed by another process."""


class JournalCorrupt(Exception):
    """A line that is not the last one does not match its checksum, or a number is missing. `before`: the entries before
    it, which are sound; `consumed`: their bytes."""

    def __init__(self, message: str, before: Sequence[Entry] = (), consumed: int = 0) -> None:
        super().__init__(message)
        self.before = list(before)
        self.consumed = consumed


def _checksum(body: dict[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):08x}"


def encode(entry: Entry) -> bytes:
    """One line with its checksum and line feed."""
    body = entry.model_dump(mode="json")
    return json.dumps({**body, "crc": _checksum(body)}, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Entry:
    """Read one complete line; raises JournalCorrupt where it is damaged."""
    try:
        body = json.loads(line)
        crc = body.pop("crc")
        if crc != _checksum(body):
            raise ValueError("checksum")
        return Entry.model_validate(body)
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise JournalCorrupt(f"damaged line {line[:80]!r}: {error}") from error


def read_entries(data: bytes, after: int = 0) -> tuple[list[Entry], int]:
    """Decode the complete lines of `data`; entries numbered `after` or lower are passed over.

    Returns the entries and the number of bytes consumed. A last line without a line feed is left for later.
    Raises JournalCorrupt where a line is damaged or a number is missing.
    """
    end = data.rfind(b"\n") + 1
    entries: list[Entry] = []
    expected, consumed = after + 1, 0
    for line in data[:end].splitlines(keepends=True):
        try:
            entry = decode(line)
        except JournalCorrupt as damage:
            raise JournalCorrupt(str(damage), entries, consumed) from damage
        if entry.n > expected:
            raise JournalCorrupt(f"entry {expected} is missing; {entry.n} follows {expected - 1}", entries, consumed)
        consumed += len(line)
        if entry.n == expected:
            entries.append(entry)
            expected += 1
    return entries, end


def read_sound_entries(data: bytes, after: int = 0) -> tuple[list[Entry], int]:
    """As `read_entries`, up to the first damage. Raises JournalCorrupt where nothing sound precedes it."""
    try:
        return read_entries(data, after)
    except JournalCorrupt as damage:
        if not damage.before:
            raise
        return damage.before, damage.consumed
