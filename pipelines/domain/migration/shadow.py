"""The shadow of a migration: both revisions on the very ranges that the old agent delivers, part by part. Pure.

A part is ranges of one source between two rows of the ledger. What is known is one state, and a part is counted only
where it begins at what was compared before: one that is asked for or answered twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from pydantic import ConfigDict, Field, model_validator

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.positions import Frozen, PartitionRange, merge_ranges
from pipelines.domain.base.values import Duration
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.ledger.ledger import COUNTERS, Counts, is_delivery, total
from pipelines.domain.migration.prediction import unchanged
from pipelines.domain.preview.protocol import DifferenceRow, NotCompared, without_events
from pipelines.domain.preview.shadowing import MOST_SAMPLES, ShadowCounts, ShadowPart, beginning
from pipelines.domain.runs.crashes import QUARANTINE

LONGEST = 86_400.0
"""Seconds of a shadow."""
RECORDS_WITHIN = 3600.0
"""Seconds in which a number of records must have come."""
MOST_PART = 250_000
"""Offsets of one part."""
ENOUGH = 10_000
"""Offsets for which no part waits any longer."""
PART_PAUSE = 10.0
"""Seconds from one smaller part to the next: each costs the host about as much as a small preview."""
MOST_FAILURES = 3
"""Parts that may fail one after the other."""
_MOST_NOTES = 5


class ShadowSpec(Frozen):
    """How much is compared: for a time (`for`) or a number of records (`records`). `most_different`: the share of
    events that may differ for the migration to continue; without it a shadow only informs."""

    model_config = ConfigDict(allow_inf_nan=False)

    seconds: Duration | None = Field(default=None, alias="for", ge=1, le=LONGEST)
    records: int | None = Field(default=None, ge=1, le=100_000_000)
    most_different: float | None = Field(default=None, ge=0, le=1)

    @model_validator(mode="after")
    def _says_one(self) -> Self:
        if (self.seconds is None) == (self.records is None):
            raise ValueError("a shadow needs exactly one of for and records")
        return self


class ShadowPlan(Frozen):
    """What is compared: `channels`, the one of each source whose batches are the reference. `seconds`: at most."""

    seconds: float
    records: int | None = None
    most_different: float | None = None
    channels: dict[str, str]


def planned(spec: ShadowSpec, old: Definition, new: Definition) -> ShadowPlan | list[Finding]:
    """Of the sources that the change touches, else of all that both revisions have; or why there is no shadow."""
    common = [source for source in sorted(new.sources) if source in old.sources]
    touched = [source for source in common if not unchanged(old, new, source)] or common
    if findings := [*_unreadable(old, new, touched)]:
        return findings
    return ShadowPlan(
        seconds=spec.seconds or RECORDS_WITHIN,
        records=spec.records,
        most_different=spec.most_different,
        channels={source: old.accounting_channel(source) for source in touched},
    )


def _unreadable(old: Definition, new: Definition, sources: Sequence[str]) -> Iterator[Finding]:
    without = "Leave the shadow out; the verification compares the outcome after the cut-over."
    if not sources:
        words = "The revisions have no source in common, so there is nothing to compare."
        yield Finding(path="spec.shadow", code="SHADOW_NO_SOURCE", message=words, suggestion=without)
    for name in sources:
        for source in (old.sources[name], new.sources[name]):
            if not source.read_again:
                words = f"Records of a source of the type {source.type} cannot be read again beside its agent."
                yield Finding(path=f"sources.{name}", code="SHADOW_NOT_READABLE", message=words, suggestion=without)
                break


@dataclass(frozen=True)
class Delivered:
    """A finished batch in the ledger: `row`, which grows, what it has read, and what was counted."""

    row: int
    ranges: Sequence[PartitionRange]
    counts: Counts

    @property
    def size(self) -> int:
        """Its offsets."""
        return sum(each.end - each.start for each in self.ranges)


class Part(Frozen):
    """What is being compared: ranges of a source up to a row of the ledger. `asked`: the task of the host; `expected`:
    what the ledger has of these ranges, None where they are a piece of a batch."""

    source: str
    until: int
    ranges: list[PartitionRange]
    expected: Counts | None = None
    asked: UUID | None = None


class ShadowSample(Frozen):
    """An event that differs, and its source."""

    source: str
    difference: DifferenceRow

    def without_events(self) -> ShadowSample:
        """The same without what its events hold."""
        return self.model_copy(update={"difference": without_events(self.difference)})


class ShadowState(Frozen):
    """All that is known. `since`: when it began; `after`: the last row of each source that was finished before, or has
    been compared; `asked_at`: seconds after which the last part was asked for; `unlike_ledger`: parts of which the old
    revision makes something else than the ledger has, with some `notes`; `failures`: parts in a row that could not be
    made, with the last `findings`. Rates are of the pipeline: records read per second before the migration, and during
    the shadow."""

    since: str
    after: dict[str, int]
    counts: ShadowCounts = ShadowCounts()
    parts: int = 0
    not_compared: dict[str, NotCompared] = {}
    samples: list[ShadowSample] = []
    unlike_ledger: int = 0
    notes: list[str] = []
    part: Part | None = None
    asked_at: float = 0.0
    failures: int = 0
    refused: bool = False
    findings: list[dict[str, Any]] = []
    rate_before: float | None = None
    rate: float | None = None

    @property
    def share(self) -> float | None:
        """Of events that differ; None where nothing was compared."""
        return self.counts.differing / self.counts.events if self.counts.events else None

    @property
    def has_failed(self) -> bool:
        """Whether no part will be made any more."""
        return self.refused or self.failures >= MOST_FAILURES


def wanted(plan: ShadowPlan, state: ShadowState) -> int:
    """Records that may still be compared."""
    return MOST_PART if plan.records is None else max(0, plan.records - state.counts.records)


def is_enough(plan: ShadowPlan, state: ShadowState, elapsed: float) -> bool:
    """Whether no further part is asked for."""
    return elapsed >= plan.seconds or not wanted(plan, state)


def next_part(
    plan: ShadowPlan, state: ShadowState, delivered: Mapping[str, Sequence[Delivered]], elapsed: float
) -> Part | None:
    """The source with most to compare, once that is enough, or was waited for. None where there is none yet."""
    if state.part or state.has_failed or is_enough(plan, state, elapsed):
        return None
    sizes = {source: sum(each.size for each in rows) for source, rows in delivered.items()}
    source = max(sorted(sizes), key=lambda name: sizes[name], default="")
    size, most = sizes.get(source, 0), min(MOST_PART, wanted(plan, state))
    due = size >= min(ENOUGH, most) or elapsed - state.asked_at >= PART_PAUSE
    return _part(source, delivered[source], most) if size and due else None


def _part(source: str, rows: Sequence[Delivered], most: int) -> Part:
    taken, ranges, size = [rows[0]], [*rows[0].ranges], rows[0].size
    for row in rows[1:]:
        joined = merge_ranges(ranges, [*row.ranges])
        if joined is None or size + row.size > most:
            break
        taken.append(row)
        ranges, size = joined, size + row.size
    whole = size <= most
    return Part(
        source=source,
        until=taken[-1].row,
        ranges=ranges if whole else beginning(ranges, most),
        expected=total(each.counts for each in taken) if whole else None,
    )


def asked(state: ShadowState, part: Part, task: UUID, elapsed: float) -> ShadowState:
    """The part is being made."""
    return state.model_copy(update={"part": part.model_copy(update={"asked": task}), "asked_at": elapsed})


def added(state: ShadowState, found: ShadowPart) -> ShadowState:
    """With what the part that is waited for has shown."""
    part = state.part
    if part is None:
        return state
    room = MOST_SAMPLES - len(state.samples)
    note = unlike(part.expected, found.old) if part.expected is not None else ""
    known = state.not_compared.get(part.source, NotCompared())
    return state.model_copy(
        update={
            "after": {**state.after, part.source: part.until},
            "counts": state.counts + found.counts,
            "parts": state.parts + 1,
            "not_compared": {**state.not_compared, part.source: _both(known, found.not_compared)},
            "samples": [
                *state.samples,
                *(ShadowSample(source=part.source, difference=each) for each in found.samples[:room]),
            ],
            "unlike_ledger": state.unlike_ledger + bool(note),
            "notes": [*state.notes, *([f"sources.{part.source}: {note}"] if note else [])][:_MOST_NOTES],
            "part": None,
            "failures": 0,
            "findings": [],
        }
    )


def _both(one: NotCompared, other: NotCompared) -> NotCompared:
    headers = sorted({*one.headers, *other.headers})
    return NotCompared(headers=headers, key=one.key or other.key, body=one.body or other.body)


def failed(state: ShadowState, findings: Sequence[Mapping[str, Any]], *, refused: bool) -> ShadowState:
    """The part was not made. It is made again, unless the host has `refused` it."""
    return state.model_copy(
        update={
            "part": None,
            "failures": state.failures + 1,
            "refused": refused,
            "findings": [dict(each) for each in findings],
        }
    )


def unlike(ledger: Counts, found: Counts) -> str:
    """What the old revision makes of a part now, and has not made of it as its agent delivered it; empty where that is
    the same. What delivery has refused and what an optional channel has dropped are no evaluation, and records in
    quarantine were not evaluated then: whatever becomes of so many of them is the same."""
    had, held = _evaluated(ledger), _in_quarantine(ledger)
    more = {name: getattr(found, name) - getattr(had, name) for name in COUNTERS}
    if any(number < 0 or (number and not held) for number in more.values()) or (held and more["read"]):
        pairs = (
            f"{name} {getattr(had, name)} in the ledger, {getattr(found, name)} now" for name in more if more[name]
        )
        return f"{'; '.join(pairs)}."
    if not held and ledger.components is not None and _causes(had) != _causes(found):
        return "The counts by component are others than in the ledger."
    return ""


def _in_quarantine(ledger: Counts) -> int:
    return sum((ledger.parts or {}).get(QUARANTINE, {}).values())


def _evaluated(ledger: Counts) -> Counts:
    refused = ledger.refused_in_delivery
    moved = {
        "delivered": ledger.delivered + refused + ledger.dropped_optional,
        "dead_lettered": ledger.dead_lettered - refused - _in_quarantine(ledger),
        "dropped_optional": 0,
    }
    return ledger.model_copy(update=moved)


def _causes(counts: Counts) -> dict[str, dict[str, int]]:
    """By component, without what has added events: of several such, the evaluation does not say which."""
    found: dict[str, dict[str, int]] = {
        path: {str(cause): number for cause, number in causes.items() if number and cause != "added"}
        for path, causes in (counts.parts or {}).items()
        if not is_delivery(path)
    }
    return {path: causes for path, causes in found.items() if causes}


@dataclass(frozen=True)
class ShadowVerdict:
    """Whether the stage is over, and how. `words` say it."""

    done: bool = False
    failed: bool = False
    words: str = ""


def verdict(plan: ShadowPlan, state: ShadowState, elapsed: float) -> ShadowVerdict:
    """What follows from what is known."""
    if state.has_failed:
        first = state.findings[0]["message"] if state.findings else ""
        return ShadowVerdict(failed=True, words=f"The records cannot be compared: {first}".strip())
    if state.part is not None or not is_enough(plan, state, elapsed):
        return ShadowVerdict(words=_progress(plan, state, elapsed))
    share, most = state.share, plan.most_different
    if share is None:
        words = f"The old agent delivered no records in {elapsed:.0f} s, so nothing was compared."
        return ShadowVerdict(done=most is None, failed=most is not None, words=words)
    words = told(state.counts)
    if most is not None and share > most:
        return ShadowVerdict(failed=True, words=f"{words} {share:.2%} differ; at most {most:.2%} may.")
    return ShadowVerdict(done=True, words=words)


def told(counts: ShadowCounts) -> str:
    """The four counts in words."""
    return (
        f"{counts.records} records compared: {counts.identical} events identical, {counts.different} different, "
        f"{counts.only_old} delivered by the old revision only, {counts.only_new} by the new one only."
    )


def _progress(plan: ShadowPlan, state: ShadowState, elapsed: float) -> str:
    left = f"{max(0.0, plan.seconds - elapsed):.0f} s left"
    goal = f" of {plan.records}" if plan.records is not None else ""
    waits = "" if state.part or state.counts.records else "Waiting for the old agent to deliver records. "
    again = f" A part failed and is made again: {state.findings[0]['message']}" if state.findings else ""
    return f"{waits}{state.counts.records}{goal} records compared, {state.counts.differing} differ; {left}.{again}"
