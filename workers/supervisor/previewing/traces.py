"""Traces of single records: the ledger is asked here, source and sinks in a previewer."""

from __future__ import annotations

import time
from typing import Any

from pipelines.domain.definitions.document.spec import BUFFER, Definition, Masking
from pipelines.domain.trace.conclusion import concluded
from pipelines.domain.trace.protocol import (
    ChannelLedger,
    FollowAnswer,
    FollowRequest,
    RevisionLook,
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
        result = self._followed(task.pipeline, question.at)
        result = result.model_copy(update={"seconds": round(time.monotonic() - began, 3)})
        host_tasks.finish(task, result.model_dump(mode="json"))

    def _followed(self, pipeline: Pipeline, place: Place) -> TraceResult:
        ledgers = ledger_of(pipeline, place, _queries(pipeline, place))
        answer, unknown = self._evaluated(pipeline, place, ledgers)
        channels = []
        for ledger in ledgers:
            found, more = concluded(ledger, answer.evaluated)
            channels.append(found)
            unknown += more
        unknown += [each.unknown for each in answer.evaluated if each.unknown]
        return TraceResult(place=place, channels=channels, evaluated=answer.evaluated, unknown=unknown)

    def _evaluated(
        self, pipeline: Pipeline, place: Place, ledgers: list[ChannelLedger]
    ) -> tuple[FollowAnswer, list[Unknown]]:
        """By each revision that has read the record, as far as an agent with it could be started here."""
        wanted, unknown = _revisions(ledgers)
        known = definitions(pipeline, [number for number, _ in wanted])
        looks, masked = [], set[str]()
        for number, source in wanted:
            found = self.launcher.side(pipeline, known[number])
            if isinstance(found, list):
                words = f"It could not be started here: {found[0].message}"
                unknown.append(Unknown(about=f"revision {number}", code=found[0].code, reason=words))
                continue
            looks.append(RevisionLook(revision=number, side=found[0], source=source))
            masked.update(found[1])
        if not looks:
            return FollowAnswer(), unknown
        request = FollowRequest(
            place=place,
            looks=looks,
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
    rows = [row for ledger in ledgers for row in ledger.rows]
    found = {(row.revision, row.source) for row in rows if not row.source.startswith(BUFFER)}
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


def _masking(found: list[dict[str, Any]]) -> list[Masking]:
    return [Masking.model_validate(each["masking"]) for each in found if each.get("masking")]
