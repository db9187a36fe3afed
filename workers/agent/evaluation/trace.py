"""One record, evaluated again with the revisions that have read it: what each component does to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from confluent_kafka import KafkaException
from pyspark.sql import functions as f

from pipelines.domain.base.causes import explain
from pipelines.domain.base.positions import SourceIdentity, TopicPartition
from pipelines.domain.definitions.document.spec import BUFFER
from pipelines.domain.preview.chains import State
from pipelines.domain.preview.comparing import differing_headers
from pipelines.domain.preview.masking import Rules, Shown
from pipelines.domain.preview.outcomes import Outcome
from pipelines.domain.reprocessing.dead_letters import RETRY_HEADER
from pipelines.domain.reprocessing.range_replay import REPLAYED
from pipelines.domain.trace.protocol import (
    Effect,
    Evaluated,
    EventRow,
    FollowAnswer,
    FollowRequest,
    Marks,
    RetrySearch,
    RetryWindow,
    RevisionLook,
    SinkRecord,
    SinkSearch,
    SinkWindow,
    StepRow,
    Unknown,
)
from pipelines.domain.trace.question import Place
from workers.agent.base.event import ORIGIN_HEADER
from workers.agent.base.findings import Refused, blocked_by, refuse
from workers.agent.base.located import Marked, Wanted
from workers.agent.evaluation import reading
from workers.agent.evaluation.outcomes import Evaluation, evaluation, graph_of, states_of
from workers.agent.evaluation.reading import MOST_BODY
from workers.agent.evaluation.search import parsed
from workers.agent.graph import compile as compiler
from workers.agent.graph.component import SinkBuilder, SourceBuilder, Unverifiable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from workers.agent.base.event import Event

DELIVERED = "delivered"
SEARCH_SECONDS = 8.0
"""For one sink."""
RETRY_SECONDS = 4.0
"""For one dead letter that was retried."""
SHARE = 0.6
"""Of the time of a request, after which nothing more is asked; what is under way then ends by itself."""
_NO_TIME = "the trace has no time left"

Asked = TypeVar("Asked")


def follow(spark: SparkSession, request: FollowRequest, tmp: Path) -> FollowAnswer:
    """Evaluate the record with each revision, and look for it. What cannot be had, or not in time, is said in its
    place."""
    rules = Rules.of_all(request.masking, request.masked)
    look = _Look(spark, request, tmp)
    evaluated = [look.evaluated(each, rules) for each in request.looks]
    return FollowAnswer(
        evaluated=evaluated,
        searches=[each for window in request.windows if _may_have(window, evaluated) for each in look.searched(window)],
        retries=[look.retried(each) for each in request.retries],
        marks=look.marks() if request.marked else Marks(),
    )


def _may_have(window: SinkWindow, evaluated: list[Evaluated]) -> bool:
    """Whether a sink may have been given the record, as far as that is known."""
    own = next((each for each in evaluated if each.revision == window.revision), None)
    if own is None or not own.events:
        return own is None or not own.missing
    verdicts = [each.verdicts.get(window.channel, DELIVERED) for each in own.events]
    return DELIVERED in verdicts


class _Look:
    """One look at a record, which ends in time: what is away is asked once."""

    def __init__(self, spark: SparkSession, request: FollowRequest, tmp: Path) -> None:
        self._spark, self._request = spark, request
        self._deadline = time.monotonic() + SHARE * request.seconds
        self._graphs: dict[int, compiler.Graph | Refused] = {}
        self._tmp = tmp
        self._away: dict[str, str] = {}

    def evaluated(self, look: RevisionLook, rules: Rules) -> Evaluated:
        """The record once more."""
        about = f"revision {look.revision}"
        try:
            self._require_time(about)
            graph = self._graph(look.revision)
            self._source(graph, look.revision, look.source)
            side = evaluation(self._spark, graph, look.source)
            frame, event = _record(self._spark, side, self._request.place, self._request.identities)
            return _Steps(side, frame, event, look.revision).result(rules)
        except Refused as refused:
            first = refused.findings[0]
            unknown = Unknown(about=about, code=first.code, reason=first.message)
        except (KafkaException, TimeoutError) as error:
            unknown = Unknown(about=about, code="NOT_EVALUATED", reason=f"It was not evaluated: {explain(error)}")
        except Exception as error:
            unknown = Unknown(about=about, code="NOT_EVALUATED", reason=_failed(error))
        return Evaluated(revision=look.revision, source=look.source, unknown=unknown)

    def searched(self, window: SinkWindow) -> Iterator[SinkSearch]:
        """What the sink of a batch has of it, or where none is known, each of the channel's."""
        source = window.source.partition(REPLAYED)[0]
        try:
            graph = self._graph(window.revision)
        except Refused as refused:
            yield _unsearched(window, window.sink, refused.findings[0].message)
            return
        sinks = graph.sinks_of(source, window.channel) if window.channel in graph.definition.channels else {}
        is_store = window.channel in graph.inlets and not source.startswith(BUFFER)
        for name in [window.sink] if window.sink else sinks:
            if name in sinks:
                yield self._in(sinks[name], window, name).model_copy(update={"is_store": is_store})
            else:
                yield _unsearched(window, name, f"revision {window.revision} has no sink {name}")

    def _in(self, sink: SinkBuilder, window: SinkWindow, name: str) -> SinkSearch:
        wanted = _wanted(self._request.place, window)
        try:
            search = self._asked(
                f"{window.revision} {sink.place.path}", lambda seconds: sink.locate(self._spark, wanted, seconds)
            )
        except _NotAsked as reason:
            return _unsearched(window, name, str(reason))
        records = [
            SinkRecord(
                topic=each.key.topic,
                partition=each.key.partition,
                offset=each.offset,
                timestamp=each.at,
                copy_number=each.copy,
            )
            for each in search.found
        ]
        found = _unsearched(window, name, search.left_out if not records else "")
        return found.model_copy(
            update={"records": records, "searched": search.searched, "complete": not search.left_out}
        )

    def retried(self, window: RetryWindow) -> RetrySearch:
        """Where the source has what was sent."""
        marked = Marked(
            RETRY_HEADER, window.letter, TopicPartition(window.topic, window.partition), window.since, window.until
        )
        try:
            source = self._source(self._graph(window.revision), window.revision, window.source)
            search = self._asked(
                f"{window.revision} {source.place.path}",
                lambda seconds: source.locate(self._spark, marked, min(seconds, RETRY_SECONDS)),
            )
        except (Refused, _NotAsked) as error:
            why = error.findings[0].message if isinstance(error, Refused) else str(error)
            return RetrySearch(letter=window.letter, unknown=_not_found(window, why))
        found = [(each.key, each.offset) for each in search.found]
        places = [Place(topic=key.topic, partition=key.partition, offset=offset) for key, offset in found]
        unknown = None if places else _not_found(window, search.left_out or "it is not in its source any more")
        return RetrySearch(letter=window.letter, places=places, unknown=unknown)

    def marks(self) -> Marks:
        """What the record itself says; nothing where it cannot be had."""
        look, place = self._request.marked, self._request.place
        if look is None:
            return Marks()
        try:
            graph = self._graph(look.revision)
            source = self._source(graph, look.revision, look.source)
            headers = self._asked(
                f"{look.revision} {source.place.path}", lambda _seconds: source.headers_at(place.key, place.offset)
            )
            letter = (headers.get(RETRY_HEADER) or b"").decode(errors="replace")
            origin = headers.get(ORIGIN_HEADER) if look.source.startswith(BUFFER) else None
            return Marks(letter=letter, made_of=parsed(origin, graph.definition.name) if origin else None)
        except (Refused, _NotAsked, Unverifiable):
            return Marks()

    @staticmethod
    def _source(graph: compiler.Graph, revision: int, name: str) -> SourceBuilder:
        """Raises Refused."""
        if name not in graph.sources:
            raise refuse(f"sources.{name}", "UNKNOWN_SOURCE", f"Revision {revision} has no source {name}.", "")
        return graph.sources[name]

    def _graph(self, revision: int) -> compiler.Graph:
        """The components of a revision by its number. Raises Refused."""
        if revision not in self._graphs:
            try:
                self._graphs[revision] = graph_of(self._request, self._request.sides[revision], self._tmp)
            except Refused as refused:
                self._graphs[revision] = refused
        found = self._graphs[revision]
        if isinstance(found, Refused):
            raise found
        return found

    def _asked(self, path: str, ask: Callable[[float], Asked]) -> Asked:
        """The answer of a source or a sink at a path of a revision, within SEARCH_SECONDS. Raises _NotAsked."""
        left = self._deadline - time.monotonic()
        if path in self._away or left <= 0:
            raise _NotAsked(self._away.get(path, _NO_TIME))
        try:
            return ask(min(left, SEARCH_SECONDS))
        except Unverifiable as error:
            raise _NotAsked(str(error)) from None
        except Refused as refused:
            self._away[path] = refused.findings[0].message
        except Exception as error:
            self._away[path] = explain(error)
        raise _NotAsked(self._away[path])

    def _require_time(self, about: str) -> None:
        if time.monotonic() > self._deadline:
            raise refuse(about, "NOT_EVALUATED", f"It was not evaluated: {_NO_TIME}.", "")


def _failed(error: Exception) -> str:
    """Which component failed on the record. What it says may hold what the record does, which not everyone may see."""
    blocked = blocked_by(str(error))
    return f"It was not evaluated: {blocked.finding.path if blocked else 'a component'} failed on it."


class _NotAsked(Exception):
    """A source or a sink has no answer; the text says why."""


def _wanted(place: Place, window: SinkWindow) -> Wanted:
    return Wanted(
        window.source,
        window.channel,
        place.topic,
        place.partition,
        place.offset,
        window.since,
        window.until,
        window.once,
    )


def _unsearched(window: SinkWindow, sink: str, reason: str) -> SinkSearch:
    """Of a sink in which nothing was found, for this reason."""
    words = f"The record was not found, and may be there: {reason}."
    unknown = Unknown(about=f"sinks.{sink}", code="SINK_NOT_SEARCHED", reason=words) if reason else None
    return SinkSearch(row=window.row, channel=window.channel, sink=sink, unknown=unknown)


def _not_found(window: RetryWindow, reason: str) -> Unknown:
    words = f"The new record of the dead letter {window.letter} was not found: {reason}."
    return Unknown(about=window.source, code="RETRY_NOT_FOUND", reason=words)


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
        """Up to the interceptor that has filtered or refused the event."""
        states = states_of(outcome.origin, self._states)
        for index, builder in enumerate(self._side.interceptors):
            before, after = states.get(index), states.get(index + 1)
            if before is None or after is None:
                return
            yield step(builder.place.path, builder.spec.type, before, after, shown)
            if after.is_final:
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
