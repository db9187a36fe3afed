"""Which record is meant: looked for in a source by what it holds and when it was written, or named by one of a sink."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException
from pyspark.sql import functions as f

from pipelines.domain.base.causes import explain
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.preview.masking import Rules
from pipelines.domain.preview.selection import Extent, newest
from pipelines.domain.trace.protocol import Candidate, SearchAnswer, SearchRequest, SourceSearch
from pipelines.domain.trace.question import Place, TraceQuestion
from workers.agent.base.event import COPY_MARK, ORIGIN
from workers.agent.base.findings import Refused, refuse
from workers.agent.base.located import within
from workers.agent.evaluation import reading
from workers.agent.evaluation.outcomes import content_columns, content_of, graph_of
from workers.agent.evaluation.reading import MOST_BODY
from workers.agent.graph import compile as compiler
from workers.agent.graph.component import SourceBuilder, Unverifiable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from workers.agent.base.event import Event

MOST_SEARCHED = 200_000
"""Offsets of a source."""
SECONDS = 8.0
"""After which no further part is read."""
CANDIDATES = 20
LOOKED_AT = 200
"""Matching records that are compared with what may be shown of them."""
_FIRST = 2_000
_GROWTH = 5
_ORIGIN_PARTS = 6


def search(spark: SparkSession, request: SearchRequest, tmp: Path) -> SearchAnswer:
    """Find it. Raises Refused."""
    graph = graph_of(request, request.side, tmp)
    question = request.question
    if question.from_sink is not None:
        return SearchAnswer(place=_origin(graph, question.from_sink))
    source = graph.sources[_source(question.source, list(graph.definition.sources))]
    reading.require_readable(source)
    found = _Search(spark, source, question, Rules.of_all(request.masking, request.masked)).result()
    only = found.candidates[0].place if found.matched == 1 and not found.more else None
    return SearchAnswer(search=found, place=only)


def _source(wanted: str, known: list[str]) -> str:
    source = wanted or (known[0] if len(known) == 1 else "")
    if source not in known:
        raise refuse("source", "UNKNOWN_SOURCE", f"Name one of the sources: {', '.join(sorted(known))}.", "")
    return source


def _origin(graph: compiler.Graph, place: Place) -> Place:
    """What a record of a sink was made of: where a channel has a store, the record of its source, if that is known."""
    found = _said(graph, place)
    try:
        return _said(graph, found) if found.topic != place.topic else found
    except Refused:
        return found


def _said(graph: compiler.Graph, place: Place) -> Place:
    """What a record says that it was made of. Raises Refused."""
    why = f"no sink writes to {place.topic}"
    for sink in (*graph.sinks.values(), *graph.inlets.values()):
        try:
            return parsed(sink.origin_at(place.key, place.offset), graph.definition.name)
        except Unverifiable as error:
            why = str(error) or why
        except KafkaException as error:
            why = explain(error)
    raise refuse("from_sink", "ORIGIN_UNKNOWN", f"It is not known what {place} was made of: {why}.", "")


def parsed(header: bytes | None, pipeline: str) -> Place:
    """The place that an origin header names. Raises Unverifiable."""
    parts = (header or b"").decode(errors="replace").split("/")
    if len(parts) != _ORIGIN_PARTS:
        raise Unverifiable("it has no header with its origin")
    if parts[0] != pipeline:
        raise Unverifiable("another pipeline has written it")
    offset, _, _ = parts[-1].partition(COPY_MARK)
    try:
        return Place(topic=parts[-3], partition=int(parts[-2]), offset=int(offset))
    except ValueError:
        raise Unverifiable("its header names no place") from None


class _Search:
    """Parts of a log that grow as long as there is time: newest first, or from an instant on."""

    def __init__(self, spark: SparkSession, source: SourceBuilder, question: TraceQuestion, rules: Rules) -> None:
        self._spark, self._source, self._question, self._rules = spark, source, question, rules
        log = source.log_ranges()
        self._starts = {key: held.start for key, held in log.items()}
        self._ends = {key: max(held.start, held.end) for key, held in log.items()}
        if question.time is not None:
            self._starts = self._from(round(question.time.timestamp() * 1000))

    def _from(self, milliseconds: int) -> dict[TopicPartition, int]:
        found = self._source.at_time(list(self._ends), milliseconds)
        if found is None:
            raise refuse("time", "TIME_UNKNOWN", "The source does not know when its records were written.", "")
        return {key: min(max(found.get(key, end), self._starts[key]), end) for key, end in self._ends.items()}

    def result(self) -> SourceSearch:
        """Every match, as far as the bounds go."""
        deadline, searched = time.monotonic() + SECONDS, 0
        raw: list[dict[str, Any]] = []
        whole = sum(end - self._starts[key] for key, end in self._ends.items())
        for part in self._parts():
            try:
                with within(self._spark, deadline - time.monotonic()):
                    raw += self._matching(part)
            except TimeoutError:
                break
            searched += part.size
            if time.monotonic() > deadline or len(raw) > LOOKED_AT:
                break
        candidates = [each for row in raw[:LOOKED_AT] if (each := self._candidate(row)) is not None]
        left = whole - searched
        notes = [f"{left} of {whole} offsets were not searched."] if left else []
        return SourceSearch(
            source=self._source.place.source,
            searched=searched,
            matched=len(candidates),
            more=bool(candidates) and (len(raw) > LOOKED_AT or left > 0),
            candidates=candidates[:CANDIDATES],
            notes=notes,
        )

    def _parts(self) -> Iterator[Extent]:
        starts, ends, size, left = dict(self._starts), dict(self._ends), _FIRST, MOST_SEARCHED
        while left > 0:
            part = newest(starts, ends, min(size, left)) if self._question.time is None else _oldest(starts, ends, size)
            if not part.ends:
                return
            yield part
            moved = part.starts if self._question.time is None else part.ends
            (ends if self._question.time is None else starts).update(moved)
            left, size = left - part.size, size * _GROWTH

    def _matching(self, part: Extent) -> list[dict[str, Any]]:
        frame, event = self._source.past(self._spark, part.starts, part.ends)
        at = f.unix_millis("timestamp") if "timestamp" in frame.columns else f.lit(None)
        own = self._where(frame, event).select(*event.columns(), at.alias("at"))
        columns = [*content_columns(own.columns, MOST_BODY), f.col("at")]
        rows = [row.asDict(recursive=True) for row in own.limit(LOOKED_AT + 1).select(*columns).collect()]
        return sorted(rows, key=lambda row: row["at"] or 0, reverse=self._question.time is None)

    def _where(self, frame: DataFrame, event: Event) -> DataFrame:
        wanted: Column = f.lit(True)
        if self._question.key is not None:
            wanted = wanted & (event.key == f.lit(self._question.key.encode()))
        if self._question.contains is not None:
            wanted = wanted & f.contains(event.body, f.lit(self._question.contains.encode()))
        return frame.where(wanted)

    def _candidate(self, row: Mapping[str, Any]) -> Candidate | None:
        """None where it matches by what may not be shown of it."""
        content = content_of(dict(row))
        shown = self._rules.for_record([content]).event(content)
        if not self._shows(shown):
            return None
        place = Place(**{name: row[name] for name in ORIGIN})
        return Candidate(place=place, timestamp=row["at"], size=content.size, event=shown)

    def _shows(self, shown: Mapping[str, Any]) -> bool:
        if self._rules == Rules():
            return True
        key, contains = self._question.key, self._question.contains
        return (key is None or shown["key"] == key) and (contains is None or contains in (shown.get("body") or ""))


def _oldest(starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], most: int) -> Extent:
    """The first offsets, the same number of each partition."""
    share = -(-most // max(1, len(ends)))
    until = {key: min(end, starts[key] + share) for key, end in ends.items() if end > starts[key]}
    return Extent({key: starts[key] for key in until}, until)
