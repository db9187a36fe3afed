"""The start of a run: components and positions are checked while the JVM comes up; queries start when all agree."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.domain.protocol import AgentFinding, Launch
from pipelines.domain.references import references
from pipelines.domain.spec import Definition
from workers.agent import compile as compiler
from workers.agent import spark as sessions
from workers.agent.checkpoint import Checkpoint, Offsets
from workers.agent.gate import Gate
from workers.agent.jvm import Jvm
from workers.agent.ledger import Journal
from workers.agent.mirror import Mirror, SourceWatch
from workers.agent.preflight import Components, check_all, check_positions
from workers.agent.query import ChannelQuery
from workers.agent.sink_processors import DefaultProcessor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OnEnd = Callable[[ChannelQuery, BaseException | None], None]


def _unresolved(definition: Definition) -> list[AgentFinding]:
    """References that nobody has resolved: there is no store to resolve them from."""
    return [
        AgentFinding(
            path=reference.path, code="UNRESOLVED_REFERENCE",
            message=f"Nothing on this host resolves ${{{reference.kind}:{reference.name}}}.",
            suggestion="Write the value itself, or leave the option out.",
        )
        for reference in references(definition)
    ]  # fmt: skip


class Launcher:
    """Prepares and starts the queries of one run. `prepared`: preflight found nothing; `started`: queries run."""

    def __init__(
        self, launch: Launch, definition: Definition, jvm: Jvm, gate: Gate, journal: Journal, tmp: Path
    ) -> None:
        self._launch = launch
        self._definition = definition
        self._jvm = jvm
        self._journal = journal
        self._tmp = tmp
        self._graph = compiler.build(definition, launch.lineage)
        self._starts: dict[str, Offsets] = {}
        self.components = Components(self._graph, journal)
        self.queries = [self._query(source, channel, gate) for source, channel in definition.queries()]
        self.spark: SparkSession | None = None
        self.prepared = False
        self.started = False

    def _query(self, source: str, channel: str, gate: Gate) -> ChannelQuery:
        ((name, _),) = self._definition.sinks_of(channel).items()
        return ChannelQuery(
            source, channel,
            processor=DefaultProcessor(name, self._graph.sinks[name], gate),
            checkpoint=Checkpoint(Path(self._launch.checkpoint_root) / f"{source}.{channel}"),
            gate=gate, journal=self._journal,
        )  # fmt: skip

    def prepare(self) -> list[AgentFinding]:
        """Probe, compare positions, open the session, initialise. Returns everything that speaks against a start."""
        if unresolved := _unresolved(self._definition):
            return unresolved
        timeout = self._definition.lifecycle.init_timeout
        session = threading.Thread(target=self._connect, name="session", daemon=True)
        session.start()
        findings = check_all(self._graph, self.components, lambda part: part.probe(), timeout, last=False)
        if not findings:
            starts = check_positions(self._launch, self._graph, self.queries, self._journal)
            findings, self._starts = starts.findings, starts.offsets
        if findings:
            return findings
        session.join(timeout)
        if (spark := self.spark) is None:
            raise RuntimeError("the Spark session did not open; see the agent's log")
        findings = check_all(self._graph, self.components, lambda part: part.initialise(spark), timeout, last=True)
        self.prepared = not findings
        return findings

    def _connect(self) -> None:
        cores = self._definition.placement.launcher.cores
        self.spark = sessions.connect(self._jvm, name=self._definition.name, cores=cores, tmp=self._tmp)

    def start(self, spark: SparkSession, on_end: OnEnd) -> None:
        """Start all queries side by side, then the watches. Raises whatever keeps one from starting."""
        with ThreadPoolExecutor(max_workers=min(8, len(self.queries))) as pool:
            for future in [pool.submit(self._start, spark, query, on_end) for query in self.queries]:
                future.result()
        for name, source in self._graph.sources.items():
            own = [query for query in self.queries if query.source == name]
            optional = self._definition.optional_targets(name)
            SourceWatch(name, source, own).start()
            Mirror(source, [query for query in own if query.channel not in optional]).start()
        self.started = True

    def _start(self, spark: SparkSession, query: ChannelQuery, on_end: OnEnd) -> None:
        delivery = self._definition.delivery
        frame = compiler.frame(
            spark, self._graph.sources[query.source], self._graph.interceptors[query.source],
            self._starts[query.name], delivery.max_events_per_batch,
        )  # fmt: skip
        query.start(frame, delivery.trigger_interval_ms, on_end)
