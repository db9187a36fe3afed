"""The start of a run: components and positions are checked while the JVM comes up; queries start when all agree."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.domain.base.positions import SourceIdentity
from pipelines.domain.base.states import RunRole
from pipelines.domain.definitions.components.processor.default import DefaultProcessor
from pipelines.domain.definitions.document.references import references
from pipelines.domain.definitions.document.spec import BUFFER, Definition, Read
from pipelines.domain.definitions.parts.launchers import SparkLauncher
from pipelines.domain.ledger.journal import Noticed
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.ledger.sink_groups import Penalty
from pipelines.domain.positions.plan import Survey
from pipelines.domain.runs.protocol import TRACES, AgentFinding, IntakeStatus, Launch, QueryHead
from workers import crash_points
from workers.agent.base.findings import Refused
from workers.agent.delivery.books import ChannelBooks
from workers.agent.delivery.dead_letters import Office
from workers.agent.delivery.delivery import SinkGroup, cause_of
from workers.agent.delivery.gate import Gate, Position
from workers.agent.delivery.guard_watch import GuardWatch, SourceGuard, before_batch
from workers.agent.delivery.mirror import Mirror, SourceWatch
from workers.agent.delivery.query import ReadQuery
from workers.agent.delivery.range_replay import RangeReplays
from workers.agent.delivery.real_time import COUNTED, Flow, Query, RealTimeQuery
from workers.agent.delivery.warming import warm_up
from workers.agent.graph import compile as compiler
from workers.agent.graph.batch import Judge
from workers.agent.graph.component import Builder, Place
from workers.agent.positions.checkpoint import Checkpoint, Key, Offsets, positions
from workers.agent.positions.guard import LogRange
from workers.agent.run_dir.journal_writer import Journal
from workers.agent.sink_processors import processor
from workers.agent.spark import cluster as clusters
from workers.agent.spark import session as sessions
from workers.agent.spark.cluster import Cluster
from workers.agent.spark.jvm import Jvm
from workers.agent.startup.preflight import Components, Found, check_all, check_positions, look, survey

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_IDLE_LOOK_MS = 250
"""How soon a source that had nothing new is looked at again; each look takes a few milliseconds of a core."""
_STAY_READY_EVERY = 20.0
"""Seconds; Spark lets an idle Python worker go after a minute."""
OnEnd = Callable[[Any, BaseException | None], None]


def _unresolved(definition: Definition) -> list[AgentFinding]:
    """References whose values were not handed over."""
    return [
        AgentFinding(
            path=reference.path,
            code="UNRESOLVED_REFERENCE",
            message=f"No value was handed over for ${{{reference.kind}:{reference.name}}}.",
            suggestion="Restart the pipeline; its host resolves every reference at the start.",
        )
        for reference in references(definition)
    ]


@dataclass(frozen=True)
class Slots:
    """Task slots of a run. In its own JVM every channel has as many as `cores` says: a slot whose task waits costs
    nothing, and a sink that hangs leaves those of its neighbours alone. Those of a cluster are divided."""

    total: int
    channels: int

    @classmethod
    def of(cls, definition: Definition) -> Slots:
        """As the definition asks for them; in real-time mode tasks never end, and `cores` is what there is."""
        launcher = definition.placement.launcher
        channels = sum(len(read.channels) for read in definition.reads())
        fixed = isinstance(launcher, SparkLauncher) or definition.delivery.mode == "real_time"
        return cls(launcher.cores if fixed else launcher.cores * channels, channels)

    @property
    def share(self) -> int:
        """Of one channel."""
        return max(1, self.total // self.channels)


class Launcher:
    """Prepares and starts the queries of one run. `initialised_in`: seconds after which every component was ready;
    `prepared`: preflight found nothing, positions included, which for a standby are those of its promotion; `started`:
    queries run."""

    def __init__(
        self, launch: Launch, definition: Definition, jvm: Jvm, gate: Gate, journal: Journal, tmp: Path
    ) -> None:
        self._launch = launch
        self._definition = definition
        self._jvm = jvm
        self._gate = gate
        self._journal = journal
        self._tmp = tmp
        self._graph = compiler.of_run(launch, definition, tmp.parent)
        self._make_traces()
        self._office = Office(self._graph.dead_letters, journal, definition.errors.max_rate)
        self._starts: dict[str, Offsets] = {}
        self._logs: dict[str, dict[Key, LogRange]] = {}
        self._identities: dict[str, SourceIdentity] = {}
        self._notices: dict[str, list[Noticed]] = {}
        self.survey: Survey | None = None
        self.guard = GuardWatch([], gate, definition.lifecycle.guard_interval)
        self.on_blocked: Callable[[list[AgentFinding]], None] = lambda _findings: None
        self._cluster = cluster_of(launch, definition, self._graph)
        self._below: dict[str, Builder] = {clusters.PATH: self._cluster} if self._cluster else {}
        self.components = Components({**self._below, **self._graph.parts}, journal)
        self._slots = Slots.of(definition)
        self.queries = [self._query(read, gate) for read in definition.reads()]
        self.spark: SparkSession | None = None
        self._session_failure: Exception | None = None
        self._watches: list[SourceWatch] = []
        self._promoted = threading.Event()
        self.on_unready: Callable[[list[AgentFinding]], None] = lambda _findings: None
        self._began = time.monotonic()
        self.initialised_in: float | None = None
        self.prepared = False
        self.started = False

    def _query(self, read: Read, gate: Gate) -> Query:
        if self._definition.delivery.mode == "real_time":
            return self._real_time(read, gate)
        interceptors = self._graph.interceptors.get(read.source, [])
        return ReadQuery(
            read,
            [self._books(read, channel, gate) for channel in read.channels],
            checkpoint=self._checkpoint(read),
            gate=gate,
            keep=not all(interceptor.spec.repeatable for interceptor in interceptors),
            share=self._slots.share if self._slots.channels > 1 else None,
        )

    def _checkpoint(self, read: Read) -> Checkpoint:
        return Checkpoint(Path(self._launch.checkpoint_root) / read.name)

    def _real_time(self, read: Read, gate: Gate) -> RealTimeQuery:
        (channel,) = read.channels
        (sink,) = self._graph.sinks_of(read.source, channel).values()
        return RealTimeQuery(
            read,
            self._books(read, channel, gate),
            checkpoint=self._checkpoint(read),
            gate=gate,
            sink=sink,
            duration=self._definition.delivery.batch_duration,
        )

    def _books(self, read: Read, channel: str, gate: Gate) -> ChannelBooks:
        optional = len(read.channels) > 1 and channel in self._definition.optional_targets(read.source)
        return ChannelBooks(
            read.source,
            channel,
            group=self._group(read.source, channel, gate),
            judge=self._graph.judge(read.source, channel),
            office=self._office,
            journal=self._journal,
            optional=optional,
            overrun=self._overruns(read),
        )

    def _overruns(self, read: Read) -> bool:
        return self._graph.sources[read.source].overruns and self._definition.is_optional(read)

    def _group(self, source: str, channel: str, gate: Gate) -> SinkGroup:
        sinks = self._graph.sinks_of(source, channel)
        stored = channel in self._graph.inlets and not source.startswith(BUFFER)
        declared = self._definition.processor_of(channel)
        name, spec = ("", DefaultProcessor(type="default")) if stored else (declared.group, declared.processor)
        made = processor(spec, list(sinks), time.monotonic, time.time)
        made.restore(self._penalties(source, channel))
        return SinkGroup(name, spec.type, sinks, made, gate, self._slots.share)

    def _penalties(self, source: str, channel: str) -> list[Penalty]:
        return next((h.penalties for h in self._launch.heads if (h.source, h.channel) == (source, channel)), [])

    def prepare(self) -> list[AgentFinding]:
        """Probe, compare positions, open the session, initialise. Returns everything that speaks against a start."""
        findings = self._initialise(self._compare)
        self.prepared = not findings
        self._note_time(findings)
        return findings

    def prepare_standby(self) -> list[AgentFinding]:
        """The same for a run that only looks at positions. What else takes time before the first batch is done as
        well, so that promotion is quick."""
        findings = self._initialise(self._look)
        if not findings and self.spark:
            warm_up(self.spark, self._graph, self._logs, self.queries, self._tmp)
        self._note_time(findings)
        if not findings:
            threading.Thread(target=self._stay_ready, name="standby", daemon=True).start()
        return findings

    def _stay_ready(self) -> None:
        """Until the promotion. A component that is not ready any more ends the standby, while that costs nothing."""
        timeout = self._definition.lifecycle.init_timeout
        while (spark := self.spark) is not None and self._gate.position is not Position.STOPPED:
            findings = check_all(
                self._graph.parts, self.components, lambda part: part.stay_ready(spark), timeout, last=False
            )
            if findings and not self._promoted.is_set():
                self.on_unready(findings)
                return
            if self._promoted.wait(_STAY_READY_EVERY):
                return

    def _note_time(self, findings: Sequence[AgentFinding]) -> None:
        if not findings:
            self.initialised_in = time.monotonic() - self._began

    def _initialise(self, compare: Callable[[], list[AgentFinding]]) -> list[AgentFinding]:
        if unresolved := _unresolved(self._definition):
            return unresolved
        timeout = self._definition.lifecycle.init_timeout
        findings = check_all(self._below, self.components, lambda part: part.probe(), timeout, last=False)
        if findings:
            return findings
        session = threading.Thread(target=self._connect, name="session", daemon=True)
        session.start()
        findings = check_all(self._graph.parts, self.components, lambda part: part.probe(), timeout, last=False)
        findings, ready = self._without_those_away(findings)
        if findings := findings or compare():
            return findings
        session.join(min(timeout, self._cluster.spec.slots_timeout) if self._cluster else timeout)
        if (spark := self.spark) is None:
            return self._no_session()
        for parts in (self._below, ready):
            findings = findings or check_all(
                parts, self.components, lambda part: part.initialise(spark), timeout, last=True
            )
        return findings

    def _compare(self) -> list[AgentFinding]:
        """Compare positions, and write down what is agreed."""
        starts = check_positions(self._launch, self._graph, self.queries, self._journal)
        self._starts, self.survey = starts.offsets, starts.survey
        self._identities, self._notices = starts.identities, starts.notices
        if findings := starts.findings or self._too_few_slots(sum(map(len, self._starts.values()))):
            return findings
        crash_points.reach("agent.compared")
        return []

    def _look(self) -> list[AgentFinding]:
        """Look at positions without touching anything: what is seen is shown, and decided upon at the promotion."""
        known = Found(self._launch, self._graph)
        try:
            self.survey = look(known, self.queries)
        except Refused as refused:
            return refused.findings
        self._logs = known.logs
        return self._too_few_slots(sum(map(len, known.logs.values())))

    def promote(self, launch: Launch) -> list[AgentFinding]:
        """Take over what a standby has not: lineage, positions, quarantine, checkpoints. Returns everything that speaks
        against a start."""
        self._promoted.set()
        self._launch = launch
        self._graph = self._graph.promoted(launch.lineage, launch.quarantined)
        self._make_traces()
        for query in self.queries:
            query.checkpoint = self._checkpoint(query.read)
            for books in query.channels:
                books.group.processor.restore(self._penalties(books.source, books.channel))
        if self._cluster and self.spark:
            self._cluster.promoted(self.spark.sparkContext)
        findings = self._compare()
        self.prepared = not findings
        return findings

    def _make_traces(self) -> None:
        if self._launch.trace:
            (self._tmp.parent / TRACES).mkdir(exist_ok=True)

    def _without_those_away(self, findings: list[AgentFinding]) -> tuple[list[AgentFinding], dict[str, Builder]]:
        """The findings that speak against a start, and the components that can be initialised now."""
        away = spared(self._definition, findings)
        for query in self.queries:
            for books in query.channels:
                books.group.unready = books.group.sinks.keys() & away
        ready = {path: part for path, part in self._graph.parts.items() if _sink_at(path) not in away}
        return [finding for finding in findings if _sink_at(finding.path) not in away], ready

    def _too_few_slots(self, needed: int) -> list[AgentFinding]:
        """In real-time mode every partition keeps a task busy, all at once."""
        if self._definition.delivery.mode != "real_time":
            return []
        cores = self._definition.placement.launcher.cores
        if needed <= cores:
            return []
        return [
            AgentFinding(
                path="placement.launcher.cores",
                code="INSUFFICIENT_SLOTS",
                message=f"Real-time mode needs a slot for each of {needed} partitions; there are {cores}.",
                suggestion=f"Set placement.launcher.cores to {needed} or more; tasks that wait cost little.",
            )
        ]

    def _connect(self) -> None:
        try:
            if self._cluster:
                self.spark = self._cluster.connect(self._jvm, self._launch.spark.classpath, self._tmp)
            else:
                self.spark = sessions.connect(
                    self._jvm,
                    name=self._definition.name,
                    cores=self._slots.total,
                    tmp=self._tmp,
                    differing={"spark.default.parallelism": str(self._definition.placement.launcher.cores)},
                )
        except Exception as error:
            self._session_failure = error

    def _no_session(self) -> list[AgentFinding]:
        failure = self._session_failure
        if self._cluster:
            cause = cause_of(failure) if failure else f"no session within {self._cluster.spec.slots_timeout:.0f} s"
            return [clusters.unreachable(self._cluster.spec, cause)]
        raise RuntimeError("the Spark session did not open; see the agent's log") from failure

    def close_intakes(self) -> None:
        """Have the sources that are pushed to take nothing more in."""
        for source in self._graph.sources.values():
            source.close_intake()

    def intakes(self) -> list[IntakeStatus]:
        """The sources that are pushed to, as they were at the last look."""
        return [watch.intake for watch in self._watches if watch.intake]

    @property
    def on_cluster(self) -> bool:
        """Whether executors run elsewhere."""
        return self._cluster is not None

    def leave(self) -> None:
        """Nothing more will be run. To be called before the JVM is stopped; bounded by its life."""
        if self._cluster and self.spark:
            self._cluster.leave(self.spark.sparkContext)

    def start(self, on_end: OnEnd) -> None:
        """Start all queries side by side, then the watches. Raises whatever keeps one from starting."""
        if (spark := self.spark) is None:
            return
        hurry = self._definition.delivery.trigger_interval_ms == 0
        spark.conf.set("spark.sql.streaming.pollingDelay", "10ms" if hurry else f"{_IDLE_LOOK_MS}ms")
        crash_points.reach("agent.ready")
        mirrors = {name: self._mirror(name) for name in self._graph.sources}
        self.guard.watched = [self._guard(name, mirrors[name], known) for name, known in self._identities.items()]
        with ThreadPoolExecutor(max_workers=min(8, len(self.queries))) as pool:
            for future in [pool.submit(self._start, spark, query, on_end) for query in self.queries]:
                future.result()
        for name, source in self._graph.sources.items():
            self._watches.append(SourceWatch(source, self._own(name)))
            self._watches[-1].start()
            mirrors[name].start()
        self.guard.start(self.on_blocked)
        RangeReplays(self._launch, self._definition, self._gate, self._slots.share).start(spark)
        self.started = True

    def _own(self, source: str) -> list[Query]:
        return [query for query in self.queries if query.read.source == source]

    def _mirror(self, name: str) -> Mirror:
        source = self._graph.sources[name]
        optional = frozenset() if name.startswith(BUFFER) else self._definition.optional_targets(name)
        spared = frozenset() if source.waits_for_optional else optional
        return Mirror(source, [b for query in self._own(name) for b in query.channels if b.channel not in spared])

    def _guard(self, name: str, mirror: Mirror, known: SourceIdentity) -> SourceGuard:
        """The guard of a source whose log may be another one under the same name; its queries ask before each batch."""
        told = self._notices.get(name, ())
        guarded = SourceGuard(self._graph.sources[name], self._own(name), mirror, self._journal, known, told)
        for query in self._own(name):
            if isinstance(query, ReadQuery):
                query.before_batch = before_batch(guarded, self._gate)
        return guarded

    def take_survey(self, findings: Sequence[AgentFinding]) -> None:
        """Note what is known of every partition while the run goes on."""
        heads = [
            QueryHead(
                source=books.source,
                channel=books.channel,
                positions=positions(books.positions),
                done_batch=books.done_batch if books.done_batch >= 0 else None,
            )
            for query in self.queries
            for books in query.channels
        ]
        known = Found(self._launch.model_copy(update={"heads": heads}), self._graph)
        self.survey = survey(known, {query.read: query.checkpoint for query in self.queries}, findings)

    def _start(self, spark: SparkSession, query: Query, on_end: OnEnd) -> None:
        starts = self._starts[query.name]
        if isinstance(query, RealTimeQuery):
            frame = compiler.flow(spark, self._graph, query.read, starts)
            judgement = self._judge(query).judgement(frame, "", None)
            written = partial(judgement.written, frame, COUNTED)
            query.start(Flow(written, partial(self._recount, spark, query)), on_end)
        else:
            most = self._definition.max_events(query.read)
            query.start(
                compiler.endless(spark, self._graph, query.read, starts, most),
                self._definition.delivery.trigger_interval_ms,
                on_end,
            )

    def _recount(self, spark: SparkSession, query: RealTimeQuery, starts: Offsets, ends: Offsets) -> Counts:
        frame = compiler.past(spark, self._graph, query.read, starts, ends)
        from pyspark.sql import Observation

        counted = Observation()
        self._judge(query).judgement(frame, "", None).delivered(frame, counted).count()
        return Counts(**counted.get)

    def _judge(self, query: RealTimeQuery) -> Judge:
        return self._graph.judge(query.read.source, query.read.channels[0])


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


def cluster_of(launch: Launch, definition: Definition, graph: compiler.Graph) -> Cluster | None:
    """The cluster that a run is placed on; None for one in its own JVM."""
    spec = definition.placement.launcher
    if not isinstance(spec, SparkLauncher):
        return None
    parts = graph.parts.values()
    modules = sorted({type(part).__module__ for part in parts})
    code = sorted({part.spec.class_name.split(".")[0].split(":")[0] for part in parts if part.spec.type == "python"})
    standby = launch.role is RunRole.STANDBY
    place = Place(definition.name, launch.lineage, clusters.PATH, launch.data_root, standby=standby)
    return Cluster(spec, place, launch.run, modules, code)
