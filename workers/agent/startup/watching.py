"""What goes on beside the queries of a run, source by source: looks at its ends, its mirror, its guard; and at
sinks whose writes take long."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.domain.definitions.document.spec import BUFFER
from pipelines.domain.runs.protocol import IngestBufferStatus
from workers.agent.delivery.gate import Gate
from workers.agent.delivery.query import ReadQuery
from workers.agent.delivery.real_time import Query
from workers.agent.graph.compile import Graph
from workers.agent.run_dir.journal_writer import Journal
from workers.agent.startup.positions import Starts
from workers.agent.watching.guard_watch import SourceGuard, before_batch
from workers.agent.watching.mirror import Mirror, SourceWatch
from workers.agent.watching.sink_watch import SinkWatch


class Watches:
    """The watch and the mirror of every source, and the watch of every channel's sinks."""

    def __init__(self, graph: Graph, queries: Sequence[Query]) -> None:
        self._graph = graph
        self._own = {name: [query for query in queries if query.read.source == name] for name in graph.sources}
        self._mirrors = {name: self._mirror(name) for name in graph.sources}
        self._watches = {name: SourceWatch(source, self._own[name]) for name, source in graph.sources.items()}
        self._sinks = [SinkWatch(ledger) for query in queries for ledger in query.channels]

    def _mirror(self, name: str) -> Mirror:
        source = self._graph.sources[name]
        optional = frozenset() if name.startswith(BUFFER) else self._graph.definition.optional_targets(name)
        spared = frozenset() if source.waits_for_optional else optional
        return Mirror(source, [b for query in self._own[name] for b in query.channels if b.channel not in spared])

    def guards(self, starts: Starts, gate: Gate, journal: Journal) -> list[SourceGuard]:
        """The guards of the sources whose log may be another one under the same name; their queries ask before each
        batch."""
        found = []
        for name, known in starts.identities.items():
            reported = starts.notices.get(name, ())
            source, own = self._graph.sources[name], self._own[name]
            found.append(SourceGuard(source, own, self._mirrors[name], journal, known, reported))
            for query in own:
                if isinstance(query, ReadQuery):
                    query.before_batch = before_batch(found[-1], gate)
        return found

    def start(self) -> None:
        """Begin, each in a daemon thread."""
        for name, watch in self._watches.items():
            watch.start()
            self._mirrors[name].start()
        for each in self._sinks:
            each.start()

    def ingest_buffers(self) -> list[IngestBufferStatus]:
        """The sources that are pushed to, as they were at the last look."""
        return [watch.ingest_buffer for watch in self._watches.values() if watch.ingest_buffer]
