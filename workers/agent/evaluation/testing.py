"""The tests of a definition, each by itself: given events, what agents make of them, and where that is not expected."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.domain.definitions.document.cases import DefinitionTest
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.preview.protocol import CaseFailure, CaseResult, CasesRequest, CasesResult
from pipelines.domain.preview.spark_checks import sql_interceptors
from pipelines.domain.preview.testing import Mismatch, maker, mismatches
from workers.agent.base.findings import Refused
from workers.agent.evaluation.given import Record, given, topic_of
from workers.agent.evaluation.outcomes import Evaluation, evaluation, graph_of, states_of
from workers.agent.evaluation.reading import MOST_BODY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipelines.domain.runs.protocol import AgentFinding
    from workers.agent.base.event import Event


def run_tests(spark: SparkSession, request: CasesRequest, tmp: Path) -> CasesResult:
    """Every test of the revision. Raises Refused where a component does not initialise, of those sources as well that
    have SQL and no test."""
    graph = graph_of(request, request.candidate, tmp)
    definition = graph.definition

    @cache
    def of_source(source: str) -> Evaluation:
        return evaluation(spark, graph, source)

    findings: list[AgentFinding] = []
    for source in sql_interceptors(definition):
        try:
            of_source(source)
        except Refused as refused:
            findings += refused.findings
    if findings:
        raise Refused(*findings)
    tests = definition.tests or []
    return CasesResult(
        tests=[
            CaseResult(
                name=test.name,
                failures=_failures(spark, definition, of_source(definition.source_of(test)), test, number),
            )
            for number, test in enumerate(tests)
        ]
    )


def _failures(
    spark: SparkSession, definition: Definition, side: Evaluation, test: DefinitionTest, number: int
) -> list[CaseFailure]:
    records = [Record(each.content(), each.headers, each.key, each.timestamp) for each in test.given]
    frame, event = side.reader.given(given(spark, topic_of(definition, side.source), records))
    found = mismatches(test.expect, side.outcomes(frame, event))
    makers = _makers(side, frame, event, found) if any(each.origin for each in found) else [""] * len(found)
    return [each.failure(number, made_by) for each, made_by in zip(found, makers, strict=True)]


def _makers(side: Evaluation, frame: DataFrame, event: Event, found: list[Mismatch]) -> list[str]:
    """The interceptor that made the content which each of them is about."""
    paths = [each.place.path for each in side.interceptors]
    states = side.states(frame, event, range(len(paths) + 1), MOST_BODY)
    return [maker(each, states_of(each.origin, states), paths) if each.origin else "" for each in found]
