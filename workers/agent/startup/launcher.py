"""The start of a run: components and positions are checked while the JVM comes up; queries start when all agree."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.positions.plan import Survey
from pipelines.domain.runs.protocol import TRACES, AgentFinding, IngestBufferStatus, Launch
from workers import crash_points
from workers.agent.base.findings import Refused
from workers.agent.base.log import say
from workers.agent.delivery.gate import Gate
from workers.agent.delivery.range_replay import RangeReplays
from workers.agent.delivery.warming import warm_up
from workers.agent.graph import compile as compiler
from workers.agent.run_dir.journal_writer import Journal
from workers.agent.spark.jvm import Jvm
from workers.agent.startup.building import build_queries, hand_over
from workers.agent.startup.components import Components
from workers.agent.startup.found import Found, advised
from workers.agent.startup.positions import Starts, check_positions, survey_of_running, survey_positions
from workers.agent.startup.preflight import Preflight
from workers.agent.startup.session import Session
from workers.agent.startup.slots import Slots, too_few
from workers.agent.startup.standby import Standby
from workers.agent.startup.starting import OnEnd, Starting, set_pace
from workers.agent.startup.watching import Watches
from workers.agent.watching.guard_watch import GuardWatch


class Launcher:
    """Prepares and starts the queries of one run. `initialised_in`: seconds after which every component was ready;
    `prepared`: preflight found nothing, positions included, which for a standby are those of its promotion; `started`:
    queries run."""

    def __init__(
        self, launch: Launch, definition: Definition, jvm: Jvm, gate: Gate, journal: Journal, tmp: Path
    ) -> None:
        self._launch, self._definition = launch, definition
        self._gate, self._journal, self._tmp = gate, journal, tmp
        self._graph = compiler.of_run(launch, definition, tmp.parent)
        self._make_traces()
        self.session = Session(launch, self._graph, jvm, tmp)
        self.components = Components({**self.session.below, **self._graph.parts}, journal)
        self.queries = build_queries(launch, self._graph, gate, journal)
        self._preflight = Preflight(self._graph, self.session, self.components, self.queries)
        self._standby = Standby(self._preflight, gate)
        self._starts = Starts()
        self._watches: Watches | None = None
        self.survey: Survey | None = None
        self.guard = GuardWatch([], gate, definition.lifecycle.guard_interval, self._graph.parts.values())
        self.on_blocked: Callable[[list[AgentFinding]], None] = lambda _findings: None
        self.on_unready: Callable[[list[AgentFinding]], None] = lambda _findings: None
        self._started = time.monotonic()
        self.initialised_in: float | None = None
        self.prepared = False
        self.started = False

    def prepare(self) -> list[AgentFinding]:
        """Check everything, positions included. Returns all that speaks against a start."""
        findings = self._preflight.run(self._compare)
        self.prepared = not findings
        self._note_time(findings)
        return findings

    def prepare_standby(self) -> list[AgentFinding]:
        """The same for a run that only looks at positions. What else takes time before the first batch is done as
        well, so that promotion is quick."""
        known = Found(self._launch, self._graph)
        findings = self._preflight.run(lambda: self._check(known))
        if not findings and self.session.spark:
            warm_up(self.session.spark, self._graph, known.logs, self.queries, self._tmp)
        self._note_time(findings)
        if not findings:
            self._standby.wait(self.on_unready)
        return findings

    def promote(self, launch: Launch) -> list[AgentFinding]:
        """Take over what a standby has not: lineage, positions, quarantine, checkpoints. Returns everything that speaks
        against a start."""
        self._standby.promoted()
        self._launch = launch
        self._graph = self._graph.promoted(launch.lineage, launch.quarantined)
        self._make_traces()
        hand_over(launch, self.queries)
        self.session.promoted()
        findings = self._compare()
        self.prepared = not findings
        return findings

    def start(self, on_end: OnEnd) -> None:
        """Start all queries side by side, then the watches. Raises whatever keeps one from starting."""
        if (spark := self.session.spark) is None:
            return
        say(f"batches of {', '.join(query.name for query in self.queries)} start")
        set_pace(spark, self._definition.delivery)
        crash_points.reach("agent.ready")
        self._watches = Watches(self._graph, self.queries)
        self.guard.watched = self._watches.guards(self._starts, self._gate, self._journal)
        Starting(spark, self._graph, on_end).start(self.queries, self._starts.offsets)
        self._watches.start()
        self.guard.start(self.on_blocked)
        RangeReplays(self._launch, self._definition, self._gate, Slots.of(self._definition).share).start(spark)
        self.started = True

    def close_ingest_buffers(self) -> None:
        """Have the sources that are pushed to take nothing more in."""
        for source in self._graph.sources.values():
            source.close_ingest_buffer()

    def ingest_buffers(self) -> list[IngestBufferStatus]:
        """The sources that are pushed to, as they were at the last look."""
        found = self._watches.ingest_buffers() if self._watches else []
        for each in found:
            source = self._graph.sources[each.source]
            self.components.report(source.place.path, source.spec, each.failure)
        return found

    def take_survey(self, findings: Sequence[AgentFinding]) -> None:
        """Note what is known of every partition while the run goes on."""
        self.survey = survey_of_running(self._launch, self._graph, self.queries, findings)

    def advised(self, findings: Sequence[AgentFinding]) -> list[AgentFinding]:
        """The findings with what the last survey recommends."""
        return advised(findings, self.survey)

    def _compare(self) -> list[AgentFinding]:
        """Compare positions, and write down what is agreed."""
        self._starts = starts = check_positions(self._launch, self._graph, self.queries, self._journal)
        self.survey = starts.survey
        if findings := starts.findings or too_few(self._definition, sum(map(len, starts.offsets.values()))):
            return findings
        crash_points.reach("agent.compared")
        return []

    def _check(self, known: Found) -> list[AgentFinding]:
        """Look at positions without touching anything: what is seen is shown, and decided upon at the promotion."""
        try:
            self.survey = survey_positions(known, self.queries)
        except Refused as refused:
            return refused.findings
        return too_few(self._definition, sum(map(len, known.logs.values())))

    def _note_time(self, findings: Sequence[AgentFinding]) -> None:
        for finding in findings:
            say(f"{finding.code} {finding.path}: {finding.message}", "ERROR")
        if not findings:
            self.initialised_in = time.monotonic() - self._started
            say(f"every component is ready after {self.initialised_in:.1f} s")

    def _make_traces(self) -> None:
        if self._launch.trace:
            (self._tmp.parent / TRACES).mkdir(exist_ok=True)
