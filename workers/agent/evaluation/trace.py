"""One record, evaluated again with the revisions that have read it: what each component does to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from pyspark.sql import functions as f

from pipelines.domain.base.causes import explain
from pipelines.domain.base.positions import SourceIdentity
from pipelines.domain.preview.chains import State
from pipelines.domain.preview.comparing import differing_headers
from pipelines.domain.preview.masking import Rules, Shown
from pipelines.domain.preview.outcomes import Outcome
from pipelines.domain.reprocessing.range_replay import REPLAYED
from pipelines.domain.trace.protocol import (
    Effect,
    Evaluated,
    EventRow,
    FollowAnswer,
    FollowRequest,
    RevisionLook,
    SinkRecord,
    SinkSearch,
    SinkWindow,
    StepRow,
    Unknown,
)
from pipelines.domain.trace.question import Place
from workers.agent.base.findings import Refused, refuse
from workers.agent.base.located import Wanted
from workers.agent.evaluation import reading
from workers.agent.evaluation.outcomes import Evaluation, evaluation, graph_of, states_of
from workers.agent.evaluation.reading import MOST_BODY
from workers.agent.graph import compile as compiler
from workers.agent.graph.component import SinkBuilder, Unverifiable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from workers.agent.base.event import Event

DELIVERED = "delivered"
SEARCH_SECONDS = 8.0
"""For one sink."""

GraphOf = Callable[[int], compiler.Graph]
"""The components of a revision by its number. Raises Refused."""


def follow(spark: SparkSession, request: FollowRequest, tmp: Path) -> FollowAnswer:
    """Evaluate the record with each revision. What one of them cannot be asked for is said in its place."""
    rules = Rules.of_all(request.masking, request.masked)

    @cache
    def graph(revision: int) -> compiler.Graph:
        return graph_of(request, request.sides[revision], tmp)

    evaluated = [_evaluated(spark, request, look, graph, rules) for look in request.looks]
    searches = [_searched(spark, request, each, graph) for each in request.windows if _may_have(each, evaluated)]
    return FollowAnswer(evaluated=evaluated, searches=searches)


def _evaluated(
    spark: SparkSession, request: FollowRequest, look: RevisionLook, graph: GraphOf, rules: Rules
) -> Evaluated:
    try:
        side = evaluation(spark, graph(look.revision), look.source)
        frame, event = _record(spark, side, request.place, request.identities)
        return _Steps(side, frame, event, look.revision).result(rules)
    except Refused as refused:
        first = refused.findings[0]
        unknown = Unknown(about=f"revision {look.revision}", code=first.code, reason=first.message)
        return Evaluated(revision=look.revision, source=look.source, unknown=unknown)


def _may_have(window: SinkWindow, evaluated: list[Evaluated]) -> bool:
    """Whether a sink may have been given the record, as far as that is known."""
    own = next((each for each in evaluated if each.revision == window.revision), None)
    if own is None or not own.events:
        return own is None or not own.missing
    verdicts = [each.verdicts.get(window.channel, DELIVERED) for each in own.events]
    return DELIVERED in verdicts


def _searched(spark: SparkSession, request: FollowRequest, window: SinkWindow, graph: GraphOf) -> SinkSearch:
    fields = {"row": window.row, "channel": window.channel, "sink": window.sink}
    try:
        search = _sink(window, graph).locate(spark, _wanted(request.place, window), SEARCH_SECONDS)
    except Refused as refused:
        return SinkSearch(**fields, unknown=_not_searched(window, refused.findings[0].message))
    except (Unverifiable, KafkaException) as error:
        return SinkSearch(**fields, unknown=_not_searched(window, explain(error)))
    left_out = _not_searched(window, search.left_out) if search.left_out and not search.found else None
    return SinkSearch(
        **fields,
        records=[
            SinkRecord(
                topic=each.key.topic,
                partition=each.key.partition,
                offset=each.offset,
                timestamp=each.at,
                copy_number=each.copy,
            )
            for each in search.found
        ],
        searched=search.searched,
        complete=not search.left_out,
        unknown=left_out,
    )


def _sink(window: SinkWindow, graph: GraphOf) -> SinkBuilder:
    source = window.source.partition(REPLAYED)[0]
    found = graph(window.revision).sinks_of(source, window.channel).get(window.sink)
    if found is None:
        raise Unverifiable(f"revision {window.revision} has no sink {window.sink}")
    return found


def _wanted(place: Place, window: SinkWindow) -> Wanted:
    return Wanted(
        window.source,
        window.channel,
        place.topic,
        place.partition,
        place.offset,
        window.since,
        window.until,
    )


def _not_searched(window: SinkWindow, reason: str) -> Unknown:
    words = f"The record was not found, and may be there: {reason}."
    return Unknown(about=f"sinks.{window.sink}", code="SINK_NOT_SEARCHED", reason=words)


def _record(
    spark: SparkSession, side: Evaluation, place: Place, identities: list[SourceIdentity]
) -> tuple[DataFrame, Event]:
    """The record, read once. Raises Refused where the source does not have it any more, or has another one there."""
    source = side.reader
    reading.require_readable(source)
    path, held = source.place.path, source.log_ranges().get(place.key)
    if held is None:
        raise refuse(path, "UNKNOWN_PARTITION", f"The source has no partition {place.topic}/{place.partition}.", "")
    if place.offset < held.start:
        words = f"The record has expired: {place.topic}/{place.partition} begins at offset {held.start}."
        raise refuse(path, "RECORD_EXPIRED", words, "")
    if place.offset >= held.end:
        words = f"{place.topic}/{place.partition} ends at offset {held.end}; no record is at {place.offset} yet."
        raise refuse(path, "BEYOND_LOG_END", words, "")
    _require_same_log(side, place, identities)
    frame, event = source.past(spark, {place.key: place.offset}, {place.key: place.offset + 1})
    return frame.localCheckpoint(), event


def _require_same_log(side: Evaluation, place: Place, identities: list[SourceIdentity]) -> None:
    now = side.reader.identity()
    known = [each for each in identities if each.source == side.source and place.topic in each.topics]
    if now is None or not known:
        return
    here = (now.cluster_id, now.topics.get(place.topic))
    if here not in {(each.cluster_id, each.topics[place.topic]) for each in known}:
        words = f"The topic {place.topic} is another one than the ledger's offsets are of: it was created again."
        raise refuse(side.reader.place.path, "TOPIC_RECREATED", words, "")


class _Steps:
    """One record of one revision."""

    def __init__(self, side: Evaluation, frame: DataFrame, event: Event, revision: int) -> None:
        self._side, self._frame, self._event, self._revision = side, frame, event, revision
        self._outcomes = side.outcomes(frame, event, MOST_BODY)
        self._states = side.states(frame, event, range(self._reached + 1), MOST_BODY) if self._outcomes else {}

    @property
    def _reached(self) -> int:
        """The interceptors that at least one of the events has come to."""
        paths = [self._path(index) for index in range(len(self._side.interceptors))]
        ends = [paths.index(each.component) + 1 if each.component in paths else len(paths) for each in self._outcomes]
        return max(ends)

    def _path(self, index: int) -> str:
        return self._side.interceptors[index].place.path

    def result(self, rules: Rules) -> Evaluated:
        """What is known of it."""
        if not self._outcomes:
            return Evaluated(revision=self._revision, source=self._side.source, missing=True)
        contents = [
            *(each.content for each in self._outcomes),
            *(state.content for states in self._states.values() for state in states.values()),
        ]
        shown = rules.for_record(contents)
        (read,) = self._states[0].values()
        return Evaluated(
            revision=self._revision,
            source=self._side.source,
            read=shown.event(read.content),
            timestamp=self._timestamp(),
            events=[self._event_row(each, shown) for each in sorted(self._outcomes, key=lambda each: each.origin)],
        )

    def _timestamp(self) -> int | None:
        """Milliseconds, where the source tells when a record was written."""
        if "timestamp" not in self._frame.columns:
            return None
        (row,) = self._frame.select(f.unix_millis("timestamp")).collect()
        return None if row[0] is None else int(row[0])

    def _event_row(self, outcome: Outcome, shown: Shown) -> EventRow:
        return EventRow(
            copy_number=outcome.origin.copy,
            result=outcome.result,
            verdicts=dict(outcome.verdicts),
            component=outcome.component,
            cause=shown.mask.text(outcome.cause),
            steps=list(self._step_rows(outcome, shown)),
            event=shown.event(outcome.content),
        )

    def _step_rows(self, outcome: Outcome, shown: Shown) -> Iterator[StepRow]:
        """Up to the interceptor that has filtered or refused the event: later ones do not see it."""
        states = states_of(outcome.origin, self._states)
        for index, builder in enumerate(self._side.interceptors):
            before, after = states.get(index), states.get(index + 1)
            if before is None or after is None:
                return
            yield step(builder.place.path, builder.spec.type, before, after, shown)
            if not after.kept or after.problem:
                return


def step(path: str, kind: str, before: State, after: State, shown: Shown) -> StepRow:
    """What one interceptor did to an event."""
    headers = differing_headers(before.content, after.content)
    key, body = before.content.key != after.content.key, before.content.digest != after.content.digest
    if after.problem:
        effect = Effect.FAILED
    elif not after.kept:
        effect = Effect.FILTERED
    else:
        effect = Effect.CHANGED if headers or key or body else Effect.UNCHANGED
    return StepRow(
        component=path,
        type=kind,
        effect=effect,
        headers=[shown.mask.text(name) for name in headers],
        key=key,
        body=body,
        cause=shown.mask.text(after.problem),
        event=shown.event(after.content) if effect is Effect.CHANGED else None,
    )
