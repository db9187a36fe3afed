"""Everything that can keep an agent from starting, found before the first record is read, and all of it at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.domain.access.on_host import on_this_host
from pipelines.domain.definitions.document.references import references
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base.findings import Refused
from workers.agent.delivery.real_time import Query
from workers.agent.graph.compile import Graph
from workers.agent.graph.component import Builder
from workers.agent.startup.components import Components, check_all
from workers.agent.startup.session import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Preflight:
    """The checks of a run's components; its positions are compared in between, while the session opens."""

    graph: Graph
    session: Session
    components: Components
    queries: list[Query]

    def run(self, compare: Callable[[], list[AgentFinding]]) -> list[AgentFinding]:
        """Probe, compare positions, open the session, initialise. Returns everything that speaks against a start."""
        if findings := _unresolved(self.graph.definition) or self._out_of_reach() or self._probe(self.session.below):
            return findings
        self.session.start()
        findings = self._probe(self.graph.parts)
        findings, ready = self._without_those_away(findings)
        if findings := findings or compare():
            return findings
        try:
            spark = self.session.opened(self._timeout)
        except Refused as refused:
            return refused.findings
        return self._initialise(spark, self.session.below) or self._initialise(spark, ready)

    def _out_of_reach(self) -> list[AgentFinding]:
        """Paths and servers that this run may not use, before any of them is touched."""
        reach = self.graph.reach
        found = on_this_host(self.graph.definition, reach) if reach is not None else []
        return [
            AgentFinding(path=each.path, code=each.code, message=each.message, suggestion=each.suggestion)
            for each in found
        ]

    def stay_ready(self, spark: SparkSession) -> list[AgentFinding]:
        """What is not ready any more, of components that wait to be used."""
        return self._check(self.graph.parts, lambda part: part.stay_ready(spark))

    def _probe(self, parts: Mapping[str, Builder]) -> list[AgentFinding]:
        return self._check(parts, lambda part: part.probe())

    def _initialise(self, spark: SparkSession, parts: Mapping[str, Builder]) -> list[AgentFinding]:
        return self._check(parts, lambda part: part.initialise(spark), last=True)

    def _check(
        self, parts: Mapping[str, Builder], step: Callable[[Builder], None], *, last: bool = False
    ) -> list[AgentFinding]:
        return check_all(parts, self.components, step, self._timeout, last=last)

    @property
    def _timeout(self) -> float:
        return self.graph.definition.lifecycle.init_timeout

    def _without_those_away(self, findings: list[AgentFinding]) -> tuple[list[AgentFinding], dict[str, Builder]]:
        """The findings that speak against a start, and the components that can be initialised now."""
        away = spared(self.graph.definition, findings)
        for query in self.queries:
            for ledger in query.channels:
                ledger.group.unready = ledger.group.sinks.keys() & away
        ready = {path: part for path, part in self.graph.parts.items() if _sink_at(path) not in away}
        return [finding for finding in findings if _sink_at(finding.path) not in away], ready


def _unresolved(definition: Definition) -> list[AgentFinding]:
    """References whose values were not handed over."""
    return [
        AgentFinding(
            path=reference.path,
            code="UNRESOLVED_REFERENCE",
            message=f"The agent received no value for ${{{reference.kind}:{reference.name}}}.",
            suggestion="Restart the pipeline; its host resolves every reference at the start.",
        )
        for reference in references(definition)
    ]


def spared(definition: Definition, findings: Sequence[AgentFinding]) -> set[str]:
    """Sinks that are away for now and whose group has a member that is not: they are tried when it is their turn."""
    found: set[str] = set()
    troubled = {_sink_at(finding.path) for finding in findings}
    hopeless = {_sink_at(finding.path) for finding in findings if not finding.retryable}
    for group in definition.sink_groups.values():
        if not troubled.issuperset(group.sinks):
            found |= troubled.intersection(group.sinks) - hopeless
    return found


def _sink_at(path: str) -> str:
    """The sink that a path lies in; empty where it lies in something else."""
    kind, _, rest = path.partition(".")
    return rest.partition(".")[0] if kind == "sinks" else ""
