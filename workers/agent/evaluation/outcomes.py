"""What becomes of each event of a frame, as an agent would count it; nothing is delivered."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.definitions.document.references import substituted
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.preview.chains import State
from pipelines.domain.preview.outcomes import Content, Origin, Outcome
from pipelines.domain.preview.protocol import HostRequest, Side
from workers.agent.base.event import ORIGIN, Event
from workers.agent.base.findings import Refused, refuse
from workers.agent.graph import compile as compiler
from workers.agent.graph.batch import IS_DELIVERED, Classification

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from pipelines.domain.runs.protocol import AgentFinding
    from workers.agent.graph.component import InterceptorBuilder, SelectorBuilder, SourceBuilder


@dataclass(frozen=True)
class Evaluation:
    """One source of a definition, with its components initialised."""

    graph: compiler.Graph
    source: str

    @property
    def reader(self) -> SourceBuilder:
        """What reads the source."""
        return self.graph.sources[self.source]

    @property
    def interceptors(self) -> list[InterceptorBuilder]:
        """In their order."""
        return self.graph.interceptors[self.source]

    @property
    def selector(self) -> SelectorBuilder | None:
        """What chooses channels."""
        return self.graph.selectors.get(self.source)

    def outcomes(self, frame: DataFrame, event: Event, most_body: int | None = None) -> list[Outcome]:
        """What becomes of the events of a frame. `most_body`: bytes of a body that are kept; all without it."""
        made = compiler.intercept(frame, event, self.interceptors, self.selector)
        found = self.classifications(made)
        verdicts = [verdict(each).alias(f"in {name}") for name, each in found.items()]
        columns = [*content_columns(made.columns, most_body), *verdicts, self.reason(found).alias("reason")]
        return [_outcome(row.asDict(recursive=True), found) for row in made.select(*columns).collect()]

    def classifications(self, made: DataFrame) -> dict[str, Classification]:
        """How each channel counts the events, by its name."""
        targets = self.graph.definition.targets(self.source)
        classifiers = {name: self.graph.classifier(self.source, name) for name in targets}
        return {name: each.classification(made, "", None) for name, each in classifiers.items()}

    def reason(self, found: dict[str, Classification]) -> Column:
        """Component and cause of a dead or unrouted event."""
        keeps = (name for name in found if self.graph.classifier(self.source, name).keeps_bad)
        reason = found[next(keeps)].reason
        return f.lit(None) if reason is None else reason

    def states(self, frame: DataFrame, event: Event, counts: Sequence[int], most_body: int) -> dict[int, States]:
        """Each event of a frame behind so many of the interceptors, by origin. One query has all of them, so that its
        clock shows one time to each; two would differ by what an interceptor before them takes from it."""
        found: dict[int, States] = {count: {} for count in counts}
        behind = [self._behind(frame, event, count, most_body) for count in counts]
        for row in reduce(DataFrame.unionByName, behind).collect() if behind else ():
            values = row.asDict(recursive=True)
            state = State(content_of(values), bool(values["kept"]), values["problem"] or "")
            found[values["behind"]][_origin(values)] = state
        return found

    def _behind(self, frame: DataFrame, event: Event, count: int, most_body: int) -> DataFrame:
        made = compiler.intercept(frame, event, self.interceptors[:count], None)
        kept = f.col("filtered_by").isNull() if "filtered_by" in made.columns else f.lit(True)
        problem = f.col("problem.cause") if "problem" in made.columns else f.lit(None)
        more = {"kept": kept, "problem": problem.cast("string"), "behind": f.lit(count)}
        return made.select(
            *content_columns(made.columns, most_body), *(value.alias(name) for name, value in more.items())
        )


States = dict[Origin, State]
"""Events by origin."""


def states_of(origin: Origin, states: Mapping[int, States]) -> dict[int, State]:
    """An event in each state, or the record that it was made of where there is no copy yet."""
    found = {count: each.get(origin) or each.get(origin._replace(copy=0)) for count, each in states.items()}
    return {count: state for count, state in found.items() if state}


def definition_of(side: Side) -> Definition:
    """Raises Refused where it has no form once its references are replaced; what stands there is not told."""
    try:
        return Definition.model_validate(substituted(side.definition, side.values))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise refuse(place, "INVALID_DEFINITION", f"The value at {place} is not valid ({first['type']}).") from None


def graph_of(request: HostRequest[Any], side: Side, tmp: Path) -> compiler.Graph:
    """The components of a revision, which may do what the host lets its agents do. Raises Refused."""
    return compiler.build(
        definition_of(side),
        lineage=1,
        state=tmp,
        classes=frozenset(request.interceptors),
        directories=request.interceptor_path,
        reach=ReachPolicy.model_validate(request.reach),
        beside=Path(request.state) if request.state else None,
    )


def evaluation(spark: SparkSession, graph: compiler.Graph, source: str) -> Evaluation:
    """A source, ready to be evaluated; the sinks are not contacted. Raises Refused."""
    made = Evaluation(graph, source)
    findings: list[AgentFinding] = []
    for part in (*made.interceptors, *([made.selector] if made.selector else [])):
        try:
            part.probe()
            part.initialise(spark)
        except Refused as refused:
            findings += refused.findings
    if findings:
        raise Refused(*findings)
    return made


def verdict(classification: Classification) -> Column:
    """The number of what becomes of an event."""
    return f.lit(IS_DELIVERED) if classification.chosen is None else classification.chosen


def content_columns(columns: Sequence[str], most_body: int | None) -> list[Column]:
    """What `content_of` needs of an event, and its origin."""
    body = f.coalesce(f.col("body"), f.lit(b""))
    size = f.octet_length(body)
    kept = body if most_body is None else f.when(size > most_body, f.substring(body, 1, most_body)).otherwise(body)
    copy = f.col("copy") if "copy" in columns else f.lit(0)
    digest = f.when(size > f.octet_length(kept), f.sha2(body, 256))
    own = [kept.alias("body"), size.alias("size"), digest.alias("digest"), copy.alias("copy")]
    return [f.col("key"), f.col("headers"), *own, *map(f.col, ORIGIN)]


def _outcome(row: dict[str, Any], channels: dict[str, Classification]) -> Outcome:
    verdicts = {name: each.verdicts[row[f"in {name}"]] for name, each in channels.items()}
    counters = {name: each.counter for name, each in verdicts.items()}
    filtered = next((each.component for each in verdicts.values() if each.counter == "filtered"), "")
    bad = not filtered and {"dead_lettered", "unrouted"}.intersection(counters.values())
    reason = (row["reason"] if bad else None) or {}
    component = filtered or reason.get("component") or ""
    return Outcome(_origin(row), counters, content_of(row), component, reason.get("cause") or "")


def _origin(row: dict[str, Any]) -> Origin:
    return Origin(row["topic"], int(row["partition"]), int(row["offset"]), int(row["copy"]))


def content_of(row: dict[str, Any]) -> Content:
    """An event as it was collected."""
    headers = tuple((pair["key"], bytes(pair["value"] or b"")) for pair in row["headers"] or [])
    key, body = row["key"], bytes(row["body"])
    digest = row["digest"] or hashlib.sha256(body).hexdigest()
    return Content(None if key is None else bytes(key), headers, body, int(row["size"]), digest)
