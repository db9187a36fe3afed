"""The phases of a pipeline in the last 24 hours, in slots of half an hour: from what is stored, and never guessed.

1. Stored changes of phase say which phase followed which. Where one is missing, the phase is unknown until the next.
2. A process may do what it likes while its host has no supervisor: a phase in which one may exist is unknown then.
3. A slot has the phase that requires action first of all those that the pipeline had in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from pipelines.domain.base.states import ATTENTION_PHASES, RESTING_PHASES, Phase

SLOT = timedelta(minutes=30)
SLOTS = 48

_OTHERS = (
    Phase.BACKOFF,
    Phase.PAUSED,
    Phase.PAUSING,
    Phase.STOPPED,
    Phase.STOPPING,
    Phase.PREFLIGHT,
    Phase.STARTING,
    Phase.RUNNING,
)
RANKS = {phase: rank for rank, phase in enumerate((*ATTENTION_PHASES, *_OTHERS))}
"""Phases by urgency; of two in a slot, the lower one is shown."""


class Span(NamedTuple):
    """From one time to another."""

    start: datetime
    end: datetime


class Change(NamedTuple):
    """One change of phase; `host`: of the run that it is about."""

    at: datetime
    old: Phase
    new: Phase
    host: str | None


@dataclass(frozen=True)
class Past:
    """What is stored of a pipeline; `changes`: those since the start of the window, the oldest first."""

    created_at: datetime
    phase: Phase
    phase_since: datetime
    host: str | None
    changes: Sequence[Change]


@dataclass(frozen=True)
class Window:
    """The last slots. `complete_from`: no earlier change was read."""

    start: datetime
    now: datetime
    complete_from: datetime

    @classmethod
    def until(cls, now: datetime) -> Window:
        """The slots up to the one that is not over yet."""
        seconds = SLOT.total_seconds()
        current = datetime.fromtimestamp(now.timestamp() // seconds * seconds, UTC)
        start = current - (SLOTS - 1) * SLOT
        return cls(start, now, start)


class _Stretch(NamedTuple):
    start: datetime
    end: datetime
    phase: Phase
    host: str | None = None


def gaps(supervised: Iterable[Span], window: Window) -> list[Span]:
    """When a host was without supervisor; `supervised`: when it had one, in order."""
    found, at = [], window.start
    for start, end in supervised:
        if at < start:
            found.append(Span(at, start))
        at = max(at, end)
    return [*found, Span(at, window.now)] if at < window.now else found


def phases(past: Past, unsupervised: Mapping[str, Sequence[Span]], window: Window) -> list[Phase | None]:
    """The phase of each slot; None before the pipeline was created. `unsupervised`: the gaps of every host."""
    slots: list[Phase | None] = [None] * SLOTS
    for stretch in _stretches(past, window):
        for part in _observed(stretch, unsupervised):
            _paint(slots, part, window.start)
    return slots


def _stretches(past: Past, window: Window) -> Iterator[_Stretch]:
    at = max(window.start, past.created_at)
    if at < window.complete_from:
        yield _Stretch(at, window.complete_from, Phase.UNKNOWN)
        at = window.complete_from
    phase = past.changes[0].old if past.changes else past.phase
    host = past.host
    for change in past.changes:
        host = change.host or host
        yield _Stretch(at, change.at, phase if phase is change.old else Phase.UNKNOWN, host)
        at, phase = change.at, change.new
    if at < past.phase_since:
        yield _Stretch(at, past.phase_since, Phase.UNKNOWN)
        at, phase = past.phase_since, past.phase
    yield _Stretch(at, window.now, phase, past.host)


def _observed(stretch: _Stretch, unsupervised: Mapping[str, Sequence[Span]]) -> Iterator[_Stretch]:
    """The same with what is unknown of it cut out."""
    at = stretch.start
    if stretch.host is not None and stretch.phase not in RESTING_PHASES:
        for gap in unsupervised[stretch.host]:
            start, end = max(gap.start, at), min(gap.end, stretch.end)
            if start < end:
                yield stretch._replace(start=at, end=start)
                yield _Stretch(start, end, Phase.UNKNOWN)
                at = end
    yield stretch._replace(start=at)


def _paint(slots: list[Phase | None], stretch: _Stretch, start: datetime) -> None:
    if stretch.start >= stretch.end:
        return
    first, last = (stretch.start - start) // SLOT, -((start - stretch.end) // SLOT)
    for slot in range(max(0, first), min(last, SLOTS)):
        shown = slots[slot]
        if shown is None or RANKS[stretch.phase] < RANKS[shown]:
            slots[slot] = stretch.phase
