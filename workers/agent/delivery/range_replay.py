"""Ranges that are read again into a channel, beside the queries: with components of their own, through the same gate.

A batch is planned, delivered and done as those of a query are, in a journal of its own. After a crash the next run
reads these journals, asks the sinks about a batch that was planned and never done, and goes on behind the last done.
On another host the order says what was done.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.definitions.document.spec import Definition, Read
from pipelines.domain.ledger.journal import (
    Done,
    EntryKind,
    Exited,
    JournalCorrupt,
    Planned,
    SinkFailed,
    SourceFailed,
    read_entries,
)
from pipelines.domain.reprocessing.range_replay import ORDER, Order, journal_name
from pipelines.domain.runs.protocol import Launch
from workers.agent.base.log import say
from workers.agent.delivery.dead_letters import DeadLetterQueue
from workers.agent.delivery.deduplication import policy
from workers.agent.delivery.delivery import SinkGroup, cause_of
from workers.agent.delivery.gate import Cancelled, Gate, Position, TurnedAway
from workers.agent.delivery.ledger import ChannelLedger
from workers.agent.graph import compile as compiler
from workers.agent.graph.component import Builder
from workers.agent.graph.kept import Events
from workers.agent.run_dir.journal_writer import Journal
from workers.agent.sink_processors import processor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHECK_SECONDS = 1.0


class Withdrawn(Exception):
    """Nobody wants the replay any more."""


class Impossible(Exception):
    """The range cannot be read; nothing of it was delivered by this run."""


@dataclass(frozen=True)
class Before:
    """What earlier runs have done of an order. `over`: it has ended, well or badly."""

    done: int = -1
    planned: Planned | None = None
    over: bool = False


def progress(place: Path) -> Before:
    """Read the order, and the journals of all runs that took part here, oldest first: a later one knows more, unless
    the replay has gone on elsewhere since. Raises JournalCorrupt."""
    order = Order.load(place / ORDER)
    found = Before(done=order.done if order else -1)
    for path in sorted(place.glob("journal-*.jsonl"), key=lambda each: int(each.stem.partition("-")[2])):
        entries, _ = read_entries(path.read_bytes(), 0)
        for entry in entries:
            payload = entry.payload()
            if isinstance(payload, Planned) and payload.batch > found.done:
                found = replace(found, planned=payload.attempted())
            elif isinstance(payload, SinkFailed | SourceFailed) and found.planned:
                found = replace(found, planned=found.planned.attempted())
            elif isinstance(payload, Done) and payload.batch > found.done:
                found = Before(done=payload.batch)
            elif entry.kind is EntryKind.EXIT:
                found = replace(found, over=True)
    return found


@dataclass(frozen=True)
class RangeReplays:
    """Looks for orders of a pipeline and carries them out, one after the other. `share`: task slots of a channel."""

    launch: Launch
    definition: Definition
    gate: Gate
    share: int

    def start(self, spark: SparkSession) -> None:
        """Begin to look, in a daemon thread that ends with the gate."""
        threading.Thread(target=self._watch, args=(spark,), name="range replays", daemon=True).start()

    def _watch(self, spark: SparkSession) -> None:
        while not self.gate.stopped_within(_CHECK_SECONDS):
            for place in self._orders():
                self._attend(spark, place)

    def _orders(self) -> Iterator[Path]:
        for path in sorted((self.launch.data_root / "replays").glob(f"*/{ORDER}")):
            try:
                if not progress(path.parent).over:
                    yield path.parent
            except (JournalCorrupt, OSError, ValueError) as error:
                say(f"the replay {path.parent.name} cannot be read: {error}", "WARNING")

    def _attend(self, spark: SparkSession, place: Path) -> None:
        """Carry one order out as far as this run can; how it ended is the last entry of its journal."""
        order = Order.load(place / ORDER)
        if order is None:
            return
        journal = Journal(place / journal_name(self.launch.epoch), self.launch.epoch)
        try:
            self._carry_out(spark, place, order, journal)
            journal.append(Exited(code=0, reason=""))
        except (TurnedAway, Cancelled, Py4JNetworkError):
            say(f"the replay {order.operation} continues in the next run")
        except Exception as error:
            if self.gate.position is not Position.STOPPED:
                journal.append(Exited(code=1, reason=cause_of(error)))
        finally:
            journal.close()

    def _carry_out(self, spark: SparkSession, place: Path, order: Order, journal: Journal) -> None:
        before = progress(place)
        graph = compiler.of_run(self.launch, self.definition, place)
        self._check(graph, order, before)
        for part in _parts(graph, order):
            part.probe()
            part.initialise(spark)
        ledger = self._ledger(graph, order, journal)
        key = TopicPartition(order.topic, order.partition)
        ledger.continue_from({key: order.start + (before.done + 1) * order.size}, before.done)
        if before.planned is not None:
            ledger.resolve(before.planned)
        for batch in range(before.done + 1, order.batches):
            start, end = order.range_of(batch)
            self._step(
                place,
                order,
                lambda start=start, end=end, batch=batch: ledger.deliver(  # type: ignore[misc]
                    Events(compiler.past(spark, graph, Read(order.source, (order.channel,)), {key: start}, {key: end})),
                    batch,
                    {key: end},
                ),
            )

    def _step(self, place: Path, order: Order, deliver: Callable[[], None]) -> None:
        """One batch, through the gate. Raises TurnedAway, Cancelled or Withdrawn."""
        self.gate.enter(order.alias)
        try:
            if not (place / ORDER).exists():
                raise Withdrawn("Canceled.")
            deliver()
        finally:
            self.gate.leave(order.alias)

    def _check(self, graph: compiler.Graph, order: Order, before: Before) -> None:
        """The log must still hold everything that is left to be read."""
        log = graph.sources[order.source].log_ranges().get(TopicPartition(order.topic, order.partition))
        start = order.range_of(before.done + 1)[0] if before.done + 1 < order.batches else order.end
        if log is None:
            raise Impossible(f"{order.topic}/{order.partition} does not exist.")
        if start < log.start or order.end > log.end:
            gone = max(0, min(log.start, order.end) - start)
            raise Impossible(
                f"{order.topic}/{order.partition} holds {log.start} to {log.end}, not all of [{start}, {order.end}): "
                f"{gone} offsets have expired, {max(0, order.end - log.end)} do not exist yet."
            )

    def _ledger(self, graph: compiler.Graph, order: Order, journal: Journal) -> ChannelLedger:
        declared = self.definition.processor_of(order.channel)
        sinks = graph.sinks_of(order.source, order.channel)
        made = processor(declared.processor, list(sinks), time.monotonic, time.time)
        group = SinkGroup(declared.group, declared.processor.type, sinks, made, self.gate, self.share)
        dead_letter_queue = DeadLetterQueue(graph.dead_letters, journal, self.definition.errors.max_rate)
        classifier = graph.classifier(order.source, order.channel)
        return ChannelLedger(
            order.alias,
            order.channel,
            group=group,
            classifier=classifier,
            dead_letter_queue=dead_letter_queue,
            journal=journal,
            deduplicates=policy(self.definition.delivery),
        )


def _parts(graph: compiler.Graph, order: Order) -> list[Builder]:
    """What has to be ready: interceptors and selector of the source, the sinks, and where dead letters go."""
    selector = graph.selectors.get(order.source)
    return [
        *graph.interceptors[order.source],
        *([selector] if selector else []),
        *graph.sinks_of(order.source, order.channel).values(),
        graph.dead_letters,
    ]
