"""Traces of single records: the ledger is asked here, source and sinks in a previewer."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from pipelines.domain.base.states import LedgerState
from pipelines.domain.definitions.document.spec import BUFFER, Definition, Masking
from pipelines.domain.preview.protocol import Side
from pipelines.domain.reprocessing.range_replay import alias
from pipelines.domain.trace.conclusion import concluded
from pipelines.domain.trace.protocol import (
    ChannelLedger,
    FollowAnswer,
    FollowRequest,
    LedgerRow,
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
from pipelines.selectors.trace.evidence import definitions, ledger_of
from pipelines.selectors.trace.traces import open_traces
from pipelines.services.base import host_tasks
from pipelines.services.trace.traces import SECONDS
from workers.supervisor.previewing.previewer import TaskContext

MOST_REVISIONS = 3
"""With which a record is evaluated again, newest first."""


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
        ledgers = ledger_of(pipeline, place, _queries(pipeline, place))
        answer, unknown = self._evaluated(pipeline, place, ledgers)
        channels = []
        for ledger in ledgers:
            found, more = concluded(ledger, answer.evaluated, answer.searches)
            channels.append(found)
            unknown += more
        unknown += [each.unknown for each in answer.evaluated if each.unknown]
        unknown += [each.unknown for each in answer.searches if each.unknown]
        return TraceResult(place=place, channels=channels, evaluated=answer.evaluated, unknown=unknown)

    def _evaluated(
        self, pipeline: Pipeline, place: Place, ledgers: list[ChannelLedger]
    ) -> tuple[FollowAnswer, list[Unknown]]:
        """By each revision that has read the record, as far as an agent with it could be started here."""
        wanted, unknown = _revisions(ledgers)
        known = definitions(pipeline, [number for number, _ in wanted])
        sides, masked = dict[int, Side](), set[str]()
        for number, data in known.items():
            found = self.launcher.side(pipeline, data)
            if isinstance(found, list):
                words = f"It could not be started here: {found[0].message}"
                unknown.append(Unknown(about=f"revision {number}", code=found[0].code, reason=words))
                continue
            sides[number] = found[0]
            masked.update(found[1])
        if not sides:
            return FollowAnswer(), unknown
        request = FollowRequest(
            place=place,
            sides=sides,
            looks=[
                RevisionLook(revision=number, source=source)
                for number, source in wanted
                if number in sides and not source.startswith(BUFFER)
            ],
            windows=[window for row in _rows(ledgers) if row.revision in sides and (window := _window(row))],
            identities=identities(pipeline.pk),
            masking=_masking([*known.values(), _present(pipeline)]),
            **self.launcher.of_host(pipeline.team_id, masked, SECONDS),
        )
        return self._asked(pipeline, request), unknown


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
    )


def _milliseconds(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)


def _masking(found: list[dict[str, Any]]) -> list[Masking]:
    return [Masking.model_validate(each["masking"]) for each in found if each.get("masking")]
