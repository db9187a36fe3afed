"""Records that one component takes out of the stream: the newest of its source, run through the definition."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.peek.protocol import PeekedPartition, PeekedRecord, PeekRequest, PeekResult
from pipelines.domain.peek.subjects import NoSubject, sampled
from pipelines.domain.preview.chains import State
from pipelines.domain.preview.masking import Rules
from pipelines.domain.preview.outcomes import EventResult, Origin, Outcome
from pipelines.domain.preview.selection import PreviewSelection
from workers.agent.base.findings import refuse
from workers.agent.evaluation import reading
from workers.agent.evaluation.outcomes import Evaluation, evaluation, graph_of, states_of
from workers.agent.evaluation.reading import MOST_BODY, Records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOKED_AT = 1_000
"""The newest records of the source that are run through the definition."""


def sample(spark: SparkSession, request: PeekRequest, tmp: Path) -> PeekResult:
    """Read, run, keep what the component took. Raises Refused."""
    began, question = time.monotonic(), request.question
    graph = graph_of(request, request.side, tmp)
    try:
        source = sampled(graph.definition, question.of)
    except NoSubject as error:
        raise refuse(question.of, "UNKNOWN_COMPONENT", str(error)) from error
    side = evaluation(spark, graph, source)
    side.reader.open_beside()
    records = reading.read(spark, side.reader, PreviewSelection(last=LOOKED_AT))
    try:
        taken = _taken(spark, side, records, question.of)
        shown = taken[: question.limit]
        before = _before(spark, side, records, question.of, shown)
    finally:
        records.close()
    rules = Rules.of_all(request.masking, request.masked)
    return PeekResult(
        topic=", ".join(sorted({key.topic for key in records.extent.ends})),
        records=[_row(each, before, rules) for each in shown],
        partitions=[_partition(key, records, taken) for key in sorted(records.extent.ends)],
        searched=records.number,
        more=len(taken) > len(shown),
        notes=[*records.extent.notes],
        seconds=round(time.monotonic() - began, 3),
    )


def _taken(spark: SparkSession, side: Evaluation, records: Records, path: str) -> list[Outcome]:
    """Newest first, as far as offsets tell."""
    if not records.extent.ends:
        return []
    frame, event = records.frame(spark, side.reader, records.extent.ends)
    found = [each for each in side.outcomes(frame, event, MOST_BODY) if took(path, each)]
    return sorted(found, key=lambda each: (-each.origin.offset, each.origin))


def _before(
    spark: SparkSession, side: Evaluation, records: Records, path: str, taken: list[Outcome]
) -> dict[Origin, State]:
    """The events as they came to the component: what interceptors behind it make of them, no agent makes."""
    if not taken:
        return {}
    paths = [each.place.path for each in side.interceptors]
    index = paths.index(path) if path in paths else len(paths)
    frame, event = records.frame(spark, side.reader, records.extent.ends)
    origins = [each.origin for each in taken]
    states = side.states(reading.only(frame, origins), event, [index], MOST_BODY)
    return {each: found[index] for each in origins if index in (found := states_of(each, states))}


def took(path: str, outcome: Outcome) -> bool:
    """Whether this component took the event out of the stream; a selector, whether no channel takes it."""
    if path.endswith(".selector"):
        return outcome.result is EventResult.UNROUTED
    return outcome.component == path and outcome.result is not EventResult.DELIVERED


def _row(outcome: Outcome, before: Mapping[Origin, State], rules: Rules) -> PeekedRecord:
    origin = outcome.origin
    came = before[origin].content if origin in before else outcome.content
    shown = rules.for_record([came, outcome.content])
    return PeekedRecord(
        topic=origin.topic,
        partition=origin.partition,
        offset=origin.offset,
        event=shown.event(came),
        outcome=outcome.result,
        component=outcome.component,
        cause=shown.mask.text(outcome.cause),
    )


def _partition(key: TopicPartition, records: Records, taken: list[Outcome]) -> PeekedPartition:
    start, end = records.extent.starts[key], records.extent.ends[key]
    own = sum(_key(each.origin) == key for each in taken)
    return PeekedPartition(
        topic=key.topic, partition=key.partition, start=start, end=end, since=start, until=end, shown=own
    )


def _key(origin: Origin) -> TopicPartition:
    return TopicPartition(origin.topic, origin.partition)
