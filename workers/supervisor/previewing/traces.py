"""Traces of single records: the ledger is asked here, source and sinks in a previewer."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.domain.base.states import LedgerState
from pipelines.domain.definitions.document.spec import BUFFER, Definition, Masking
from pipelines.domain.preview.protocol import Side
from pipelines.domain.reprocessing.range_replay import alias
from pipelines.domain.trace.conclusion import concluded
from pipelines.domain.trace.protocol import (
    ChannelLedger,
    ChannelTrace,
    Evaluated,
    FollowAnswer,
    FollowRequest,
    Lead,
    LeadKind,
    LedgerRow,
    LetterRow,
    Marks,
    Onward,
    RetryWindow,
    RevisionLook,
    SearchAnswer,
    SearchRequest,
    SinkWindow,
    TraceResult,
    Unknown,
)
from pipelines.domain.trace.question import Place, TraceQuestion
from pipelines.models import Pipeline, RecordTrace
from pipelines.selectors.positions.positions import identities
from pipelines.selectors.trace.evidence import definitions, ledger_of, place_of_letter
from pipelines.selectors.trace.traces import open_traces
from pipelines.services.base import host_tasks
from pipelines.services.trace.traces import SECONDS
from workers.supervisor.previewing.previewer import TaskContext

MOST_REVISIONS = 3
"""With which a record is evaluated again, newest first."""
MOST_RETRIED = 3
"""Dead letters whose new records are looked for, newest first."""
MOST_ONWARD = 4
"""Places to which a record is followed."""
ONWARD_SECONDS = 20.0
"""After which it is followed to no further place."""


class TraceContext(TaskContext[RecordTrace]):
    """Makes traces."""

    def open_tasks(self) -> list[RecordTrace]:
        """Traces."""
        return open_traces(self.host)

    def _make(self, task: RecordTrace) -> None:
        began = time.monotonic()
        question = TraceQuestion.model_validate(task.question)
        found = SearchAnswer(place=question.at) if question.at else self._searched(task.pipeline, question)
        if found.findings:
            self._refuse(task, found.findings)
            return
        result = TraceResult(place=None) if found.place is None else self._followed(task.pipeline, found.place)
        more = {"search": found.search, "seconds": round(time.monotonic() - began, 3)}
        host_tasks.finish(task, result.model_copy(update=more).model_dump(mode="json"))

    def _searched(self, pipeline: Pipeline, question: TraceQuestion) -> SearchAnswer:
        """With the present revision, as far as an agent with it could be started here."""
        present = _present(pipeline)
        side = self.launcher.side(pipeline, present)
        if isinstance(side, list):
            return SearchAnswer(findings=[each.model_dump() for each in side])
        request = SearchRequest(
            side=side[0],
            question=question,
            masking=_masking([present]),
            **self.launcher.of_host(pipeline.team_id, side[1], SECONDS),
        )
        return self._asked(pipeline, request)

    def _followed(self, pipeline: Pipeline, place: Place) -> TraceResult:
        """The record, and the places to which it leads, as long as there is time."""
        deadline, found = time.monotonic() + ONWARD_SECONDS, self._at(pipeline, place)
        onward: list[Onward] = []
        seen, left = {place}, deque(found.leads)
        while left and len(onward) < MOST_ONWARD and time.monotonic() < deadline:
            lead = left.popleft()
            if lead.place not in seen:
                seen.add(lead.place)
                there = self._at(pipeline, lead.place)
                onward.append(Onward(lead=lead, channels=there.channels, unknown=there.unknown))
                left += there.leads
        pending = {each.place: each for each in left if each.place not in seen}
        unknown = [*found.unknown, *map(_not_followed, pending.values())]
        came_from = _came_from(pipeline, place, found.marks)
        if found.marks.letter and came_from is None:
            words = "It says that it is the retry of a dead letter, which was deleted or is of another pipeline."
            unknown.append(Unknown(code="LETTER_NOT_KEPT", reason=words))
        return TraceResult(
            place=place,
            came_from=came_from,
            channels=found.channels,
            onward=onward,
            evaluated=found.evaluated,
            unknown=unknown,
        )

    def _at(self, pipeline: Pipeline, place: Place) -> _Found:
        """What became of the record at one place."""
        ledgers = ledger_of(pipeline, place, _queries(pipeline, place))
        answer, unknown = self._asked_about(pipeline, place, ledgers)
        channels = []
        for ledger in ledgers:
            found, more = concluded(ledger, answer.evaluated, answer.searches)
            channels.append(found)
            unknown += more
        unknown += [each.unknown for each in answer.evaluated if each.unknown]
        unknown += [each.unknown for each in answer.searches if each.unknown]
        unknown += [each.unknown for each in answer.retries if each.unknown]
        return _Found(channels, answer.evaluated, unknown, answer.marks, _leads(answer))

    def _asked_about(
        self, pipeline: Pipeline, place: Place, ledgers: list[ChannelLedger]
    ) -> tuple[FollowAnswer, list[Unknown]]:
        """By each revision that has read the record, as far as an agent with it could be started here. The present one
        reads what retries send."""
        wanted, unknown = _revisions(ledgers)
        letters = [letter for ledger in ledgers for letter in ledger.letters if letter.sent_at][-MOST_RETRIED:]
        numbers = [number for number, _ in wanted]
        if letters and pipeline.current_revision:
            numbers.append(pipeline.current_revision.number)
        known = definitions(pipeline, numbers)
        sides, masked = self._sides(pipeline, known, unknown)
        if not sides:
            return FollowAnswer(), unknown
        reading = [RevisionLook(revision=number, source=source) for number, source in wanted if number in sides]
        request = FollowRequest(
            place=place,
            sides=sides,
            looks=[each for each in reading if not each.source.startswith(BUFFER)],
            windows=[window for row in _newest_first(ledgers) if row.revision in sides and (window := _window(row))],
            retries=[_retry_window(each, place, max(sides)) for each in letters],
            marked=reading[0] if reading else None,
            identities=identities(pipeline.pk),
            masking=_masking([*known.values(), _present(pipeline)]),
            **self.launcher.of_host(pipeline.team_id, masked, SECONDS),
        )
        return self._asked(pipeline, request), unknown

    def _sides(
        self, pipeline: Pipeline, known: dict[int, dict[str, object]], unknown: list[Unknown]
    ) -> tuple[dict[int, Side], set[str]]:
        """Of the revisions that could be started here, and the values that they mask."""
        sides, masked = dict[int, Side](), set[str]()
        for number, data in known.items():
            found = self.launcher.side(pipeline, data)
            if isinstance(found, list):
                words = f"It could not be started here: {found[0].message}"
                unknown.append(Unknown(about=f"revision {number}", code=found[0].code, reason=words))
                continue
            sides[number] = found[0]
            masked.update(found[1])
        return sides, masked


@dataclass(frozen=True)
class _Found:
    """What was found of a record at one place."""

    channels: list[ChannelTrace]
    evaluated: list[Evaluated]
    unknown: list[Unknown]
    marks: Marks
    leads: list[Lead]


def _leads(answer: FollowAnswer) -> list[Lead]:
    """Into stores of channels, and to the new records of dead letters."""
    stored = [
        Lead(
            kind=LeadKind.CHANNEL,
            of=search.channel,
            place=Place(topic=each.topic, partition=each.partition, offset=each.offset),
        )
        for search in answer.searches
        if search.is_store
        for each in search.records
    ]
    sent = [
        Lead(kind=LeadKind.RETRY, of=search.letter, place=place) for search in answer.retries for place in search.places
    ]
    return [*stored, *sent]


def _not_followed(lead: Lead) -> Unknown:
    words = f"The record continues at {lead.place}, to which it was not followed; trace that place."
    return Unknown(about=lead.of, code="NOT_FOLLOWED", reason=words)


def _came_from(pipeline: Pipeline, place: Place, marks: Marks) -> Lead | None:
    """What a record was made of, if it says so. What it says of a dead letter is shown where there is one."""
    if marks.made_of:
        return Lead(kind=LeadKind.CHANNEL, of=place.topic, place=marks.made_of)
    found = place_of_letter(pipeline, marks.letter) if marks.letter else None
    return Lead(kind=LeadKind.RETRY, of=marks.letter, place=found) if found else None


def _retry_window(letter: LetterRow, place: Place, revision: int) -> RetryWindow:
    """It was sent to where it came from."""
    return RetryWindow(
        letter=letter.id,
        revision=revision,
        source=letter.source,
        topic=place.topic,
        partition=place.partition,
        since=_milliseconds(letter.sent_at) or 0,
        until=_milliseconds(letter.settled_at),
    )


def _queries(pipeline: Pipeline, place: Place) -> list[tuple[str, str]]:
    """The channels that the present revision fills from this topic."""
    definition = Definition.model_validate(_present(pipeline))
    return [
        (source, channel)
        for source, channel in definition.queries()
        if place.topic in (getattr(definition.source_spec(source), "topics", None) or [])
    ]


def _present(pipeline: Pipeline) -> dict[str, Any]:
    return pipeline.current_revision.definition if pipeline.current_revision else {}


def _revisions(ledgers: list[ChannelLedger]) -> tuple[list[tuple[int, str]], list[Unknown]]:
    """Those that have read the record, each with its source, and what is left out. The store of a channel holds events
    behind the interceptors, with which nothing is done any more."""
    found = {(row.revision, row.source) for row in _rows(ledgers)}
    newest = sorted(found, reverse=True)
    left_out = [
        Unknown(
            about=f"revision {number}",
            code="MORE_REVISIONS",
            reason=f"The record was read by {len(newest)} revisions; it is evaluated with the newest {MOST_REVISIONS}.",
        )
        for number, _ in newest[MOST_REVISIONS:]
    ]
    return newest[:MOST_REVISIONS], left_out


def _rows(ledgers: list[ChannelLedger]) -> list[LedgerRow]:
    return [row for ledger in ledgers for row in ledger.rows]


def _newest_first(ledgers: list[ChannelLedger]) -> list[LedgerRow]:
    return sorted(_rows(ledgers), key=lambda row: row.id, reverse=True)


def _window(row: LedgerRow) -> SinkWindow | None:
    """Where a batch may have left the record; None for one that has delivered nothing."""
    if row.state is LedgerState.DONE and not row.counts["delivered"]:
        return None
    return SinkWindow(
        row=row.id,
        revision=row.revision,
        source=alias(row.source, row.operation) if row.operation else row.source,
        channel=row.channel,
        sink=row.sink,
        since=_milliseconds(row.planned_at),
        until=_milliseconds(row.done_at),
        once=row.attempts <= 1,
    )


def _milliseconds(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)


def _masking(found: list[dict[str, Any]]) -> list[Masking]:
    return [Masking.model_validate(each["masking"]) for each in found if each.get("masking")]
