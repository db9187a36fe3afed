"""From a graph to its queries: the books of each channel, and the sinks that take its batches."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from pipelines.domain.definitions.components.processor.default import DefaultProcessor
from pipelines.domain.definitions.document.guarantees import guarantee_of
from pipelines.domain.definitions.document.spec import BUFFER, Read
from pipelines.domain.definitions.parts.launchers import SparkLauncher
from pipelines.domain.ledger.sink_groups import Penalty
from pipelines.domain.runs.protocol import Launch
from workers.agent.delivery.dead_letters import DeadLetterQueue
from workers.agent.delivery.deduplication import policy
from workers.agent.delivery.delivery import SinkGroup
from workers.agent.delivery.gate import Gate
from workers.agent.delivery.ledger import ChannelLedger
from workers.agent.delivery.query import ReadQuery
from workers.agent.delivery.real_time import Query, RealTimeQuery
from workers.agent.graph.compile import Graph
from workers.agent.positions.checkpoint import Checkpoint
from workers.agent.run_dir.journal_writer import Journal
from workers.agent.sink_processors import processor
from workers.agent.startup.slots import Slots


def build_queries(launch: Launch, graph: Graph, gate: Gate, journal: Journal) -> list[Query]:
    """The query of each read, in the definition's mode. Nothing is contacted."""
    dead_letter_queue = DeadLetterQueue(graph.dead_letters, journal, graph.definition.errors.max_rate)
    building = _Building(launch, graph, gate, journal, dead_letter_queue, Slots.of(graph.definition))
    return [building.query(read) for read in graph.definition.reads()]


def hand_over(launch: Launch, queries: list[Query]) -> None:
    """Give queries that were built for a standby the checkpoints and penalties of the run that it is now."""
    for query in queries:
        query.checkpoint = _checkpoint(launch, query.read)
        for ledger in query.channels:
            ledger.group.processor.restore(_penalties(launch, ledger.source, ledger.channel))


@dataclass(frozen=True)
class _Building:
    launch: Launch
    graph: Graph
    gate: Gate
    journal: Journal
    dead_letter_queue: DeadLetterQueue
    slots: Slots

    def query(self, read: Read) -> Query:
        if self.graph.definition.delivery.mode == "real_time":
            return self._real_time(read)
        interceptors = self.graph.interceptors.get(read.source, [])
        return ReadQuery(
            read,
            [self._ledger(read, channel) for channel in read.channels],
            checkpoint=_checkpoint(self.launch, read),
            gate=self.gate,
            keep=not all(interceptor.spec.repeatable for interceptor in interceptors),
            share=self.slots.share if self.slots.channels > 1 else None,
        )

    def _real_time(self, read: Read) -> RealTimeQuery:
        (channel,) = read.channels
        (sink,) = self.graph.sinks_of(read.source, channel).values()
        return RealTimeQuery(
            read,
            self._ledger(read, channel),
            checkpoint=_checkpoint(self.launch, read),
            gate=self.gate,
            sink=sink,
            duration=self.graph.definition.delivery.batch_duration,
        )

    def _ledger(self, read: Read, channel: str) -> ChannelLedger:
        definition, shared = self.graph.definition, len(read.channels) > 1
        overruns = self.graph.sources[read.source].overruns
        waited_for = shared or overruns
        return ChannelLedger(
            read.source,
            channel,
            group=self._group(read.source, channel),
            classifier=self.graph.classifier(read.source, channel),
            dead_letter_queue=self.dead_letter_queue,
            journal=self.journal,
            optional=shared and channel in definition.optional_targets(read.source),
            sometimes_optional=waited_for and channel in definition.sometimes_optional(read.source),
            overrun=overruns and definition.is_optional(read),
            interval=definition.batch_interval(read),
            deduplicates=policy(definition.delivery),
            guarantee=guarantee_of(definition, read, channel).guarantee,
            outlived=isinstance(definition.placement.launcher, SparkLauncher),
        )

    def _group(self, source: str, channel: str) -> SinkGroup:
        sinks = self.graph.sinks_of(source, channel)
        stored = channel in self.graph.inlets and not source.startswith(BUFFER)
        declared = self.graph.definition.processor_of(channel)
        name, spec = ("", DefaultProcessor(type="default")) if stored else (declared.group, declared.processor)
        made = processor(spec, list(sinks), time.monotonic, time.time)
        made.restore(_penalties(self.launch, source, channel))
        return SinkGroup(name, spec.type, sinks, made, self.gate, self.slots.share)


def _checkpoint(launch: Launch, read: Read) -> Checkpoint:
    return Checkpoint(Path(launch.checkpoint_root) / read.name)


def _penalties(launch: Launch, source: str, channel: str) -> list[Penalty]:
    return next((h.penalties for h in launch.heads if (h.source, h.channel) == (source, channel)), [])
