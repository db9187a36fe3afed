"""A channel on a bench: books, gate and query are the agent's own, Spark, sinks and disk are not.

The sinks are lists. Of the journals it is known what a loss of power would leave of them.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from pipelines.domain.base.positions import Frozen, TopicPartition
from pipelines.domain.definitions.document.spec import Read
from pipelines.domain.ledger.journal import Planned, SinkPosition, read_entries
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.ledger.sink_groups import Penalty, Pools, Switch
from workers.agent.delivery.dead_letters import DeadLetterQueue
from workers.agent.delivery.delivery import SinkGroup
from workers.agent.delivery.gate import Cancelled, Gate
from workers.agent.delivery.ledger import ChannelLedger
from workers.agent.delivery.query import ReadQuery
from workers.agent.graph.batch import Attempt, Refusal
from workers.agent.graph.component import DeadLetterBuilder, Place, Resolution, SinkBuilder
from workers.agent.graph.kept import Events
from workers.agent.positions.checkpoint import Checkpoint, dump
from workers.agent.run_dir.journal_writer import Journal
from workers.agent.sink_processors import Processor
from workers.agent.sink_processors.default import Default

P = TypeVar("P", bound=Frozen)
TOPIC = "orders"
KEY = TopicPartition(TOPIC, 0)


class Context:
    """As much of Spark's context as an attempt asks for."""

    master = "local[2]"

    def setJobGroup(self, *_: Any, **__: Any) -> None:  # noqa: N802
        """Nothing runs here."""

    def cancelJobGroup(self, _: str) -> None:  # noqa: N802
        """Nothing can be cancelled here."""


FRAME: Any = SimpleNamespace(
    sparkSession=SimpleNamespace(sparkContext=Context(), conf=SimpleNamespace(set=lambda *_: None)),
    persist=lambda _: FRAME,
    unpersist=lambda: None,
    coalesce=lambda _: FRAME,
)
CLASSIFIER: Any = SimpleNamespace(classification=lambda *_: SimpleNamespace(dead=lambda _: None))
ALLOWED = 250
"""Dead letters that a component may make of one batch."""


class Disk:
    """The journals of runs that follow each other, and how much of each was synced."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._directory = directory
        self._runs = 0
        self._synced: Counter[int] = Counter()
        monkeypatch.setattr(os, "fdatasync", self._sync)

    def _sync(self, file: int) -> None:
        found = os.fstat(file)
        self._synced[found.st_ino] = found.st_size

    def journal(self, epoch: int = 1) -> Journal:
        """That of the next run."""
        self._runs += 1
        return Journal(self._path(self._runs), epoch)

    def _path(self, run: int) -> Path:
        return self._directory / f"{run}.jsonl"

    def _journals(self) -> list[bytes]:
        return [self._path(run).read_bytes() for run in range(1, self._runs + 1)]

    def lose_power(self) -> None:
        """Nothing is left but what was synced."""
        for run in range(1, self._runs + 1):
            path = self._path(run)
            os.truncate(path, self._synced[path.stat().st_ino])

    def entries(self) -> list[Any]:
        """What the journals say."""
        return [payload for journal in self._journals() for payload in _payloads(journal)]

    def synced(self) -> list[Any]:
        """What they would say after a loss of power."""
        sizes = [self._synced[self._path(run).stat().st_ino] for run in range(1, self._runs + 1)]
        left = [journal[:size] for journal, size in zip(self._journals(), sizes, strict=True)]
        return [payload for journal in left for payload in _payloads(journal)]

    def of_kind(self, payload: type[P]) -> list[P]:
        """Entries of one kind."""
        return [each for each in self.entries() if isinstance(each, payload)]


def _payloads(journal: bytes) -> list[Any]:
    return [entry.payload() for entry in read_entries(journal)[0]]


class Store(SinkBuilder):
    """A sink that keeps offsets in a list. `bad`: it refuses these for good; `failing`: so many attempts end by
    `failure` after half of the batch; `asked`: called when a write begins; `silent`: it cannot say what it holds;
    `unreachable`: so often it does not answer before a write; `together`: it is written in one pass with those that say
    the same; `passes`: how many such passes it has made; `abandoned`: how often it was told to send nothing more."""

    def __init__(self, name: str = "lake") -> None:
        super().__init__(SimpleNamespace(write_deadline=60.0), Place("p", 1, f"sinks.{name}"))
        self.records: list[int] = []
        self.bad: set[int] = set()
        self.failing = 0
        self.failure: BaseException = ConnectionError(f"{name} is away")
        self.silent = False
        self.unreachable = 0
        self.asked: Callable[[], None] = lambda: None
        self.together: str | None = None
        self.passes = self.abandoned = 0

    @property
    def written_with(self) -> str | None:
        return self.together

    def write_together(self, passes: Sequence[tuple[SinkBuilder, Attempt]]) -> None:
        self.passes += 1
        for sink, attempt in passes:
            sink.write(attempt)

    def abandon(self, spark: Any) -> float:
        self.abandoned += 1
        return 0.0

    def reach(self) -> None:
        if self.unreachable:
            self.unreachable -= 1
            raise ConnectionError("away")

    def ends(self) -> list[SinkPosition]:
        return [SinkPosition(topic="out", partition=0, offset=len(self.records))]

    def write(self, attempt: Attempt) -> Counts:
        self.asked()
        offsets = offsets_of(attempt.planned)
        good = [offset for offset in offsets if offset not in self.bad]
        if self.failing:
            self.failing -= 1
            self.records += good[: len(good) // 2]
            raise self.failure
        self.records += good
        refused = [offset for offset in offsets if offset in self.bad]
        attempt.refuse([_refusal(offset) for offset in refused])
        attempt.already(Counts(read=len(offsets), delivered=len(offsets)).refused(self.place.path, len(refused)))
        return attempt.counts

    def resolve(self, planned: Planned) -> Resolution:
        if self.silent:
            raise ConnectionError("away")
        (end,) = planned.ends_of(self.place.name)
        of_batch = set(offsets_of(planned))
        return Resolution(sum(offset in of_batch for offset in self.records[end.offset :]))


def offsets_of(planned: Planned) -> list[int]:
    """The offsets of a batch."""
    return [offset for item in planned.ranges for offset in range(item.start, item.end)]


def _refusal(offset: int) -> Refusal:
    return Refusal(None, b"bad", [], TOPIC, 0, offset, "no")


class InTurn:
    """A processor that tries the sinks of `order`, for ever; they are live."""

    def __init__(self, *order: str) -> None:
        self.order = list(order)

    def candidates(self) -> Iterator[str]:
        return iter(self.order)

    def delivered(self, sink: str) -> list[Switch]:
        return []

    def failed(self, sink: str, cause: str) -> list[Switch]:
        return []

    def pause(self) -> float:
        return 7.0

    def pools(self) -> Pools:
        return Pools(live=self.order, failed=[])

    def restore(self, penalties: list[Penalty]) -> None:
        """None are kept."""


class DeadLetterStore(DeadLetterBuilder):
    """Keeps dead letters in a list."""

    def __init__(self) -> None:
        super().__init__(None, Place("p", 1, "errors.dead_letter"))
        self.kept: list[int] = []
        self.asked: Callable[[], None] = lambda: None

    def store(self, planned: Planned, dead_letters: Sequence[Refusal]) -> list[str]:
        self.asked()
        self.kept += [dead_letter.offset for dead_letter in dead_letters]
        return [f"at {dead_letter.offset}" for dead_letter in dead_letters]


class Bench:
    """One run of a pipeline with one source, and the channel `lake` with its sinks."""

    def __init__(
        self,
        journal: Journal,
        directory: Path,
        sinks: Sequence[Store],
        dead_letters: DeadLetterStore,
        processor: Processor | None = None,
        classifier: Any = CLASSIFIER,
        gate: Gate | None = None,
        **kind: Any,
    ) -> None:
        self.gate = gate or Gate(1)
        self.checkpoint = Checkpoint(directory)
        named = {sink.place.name: sink for sink in sinks}
        chosen = processor or Default(named, clock=lambda: 0.0, wall=lambda: 0.0)
        self.group = SinkGroup("g" if processor else "", "any", named, chosen, self.gate)
        dead_letter_queue = DeadLetterQueue(dead_letters, journal, ALLOWED)
        self.ledger = ChannelLedger(
            "shop",
            "lake",
            group=self.group,
            classifier=classifier,
            dead_letter_queue=dead_letter_queue,
            journal=journal,
            **kind,
        )
        self.ledger.continue_from({KEY: 0}, None)
        self.query = ReadQuery(Read("shop", ("lake",)), [self.ledger], checkpoint=self.checkpoint, gate=self.gate)

    def plan(self, number: int, *ends: int) -> None:
        """Do as Spark does before a batch; `ends` by partition."""
        offsets = {TopicPartition(TOPIC, partition): end for partition, end in enumerate(ends)}
        _entry(self.checkpoint.path / "offsets" / str(number), json.dumps(dump(offsets)))

    def run(self, number: int, *ends: int) -> None:
        """Do as Spark does with a batch, but for its commit."""
        self.plan(number, *ends)
        self.query.run_batch(FRAME, number)

    def commit(self, number: int) -> None:
        """Do as Spark does after a batch."""
        _entry(self.checkpoint.path / "commits" / str(number))


class Stage:
    """A bench with one sink, or with two of which the first is tried first."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("workers.agent.graph.batch.Observation", object)
        self.path = path
        self.disk = Disk(path, monkeypatch)
        self.sink, self.other, self.dead_letters = Store(), Store("second"), DeadLetterStore()
        self.held: list[float] = []

    def bench(self, *, group: bool = False, **kind: Any) -> Bench:
        """A run that begins where nothing has begun."""
        sinks = [self.sink, self.other] if group else [self.sink]
        processor = InTurn("lake", "second") if group else None
        made = Bench(self.disk.journal(), self.path, sinks, self.dead_letters, processor, **kind)

        def hold(seconds: float) -> None:
            self.held.append(seconds)
            made.gate.check()

        made.gate.hold = hold  # type: ignore[method-assign]
        return made

    def left_open(self, **kind: Any) -> Planned:
        """A run gives its first batch up after half of it was written."""
        bench = self.bench(**kind)
        self.sink.failing = 1
        bench.gate.stop(cancel=True)
        with pytest.raises(Cancelled):
            bench.ledger.deliver(Events(FRAME), 0, {KEY: 6})
        (planned,) = self.disk.of_kind(Planned)
        return planned

    def kinds(self) -> list[str]:
        """The journal's entries."""
        return [type(each).__name__ for each in self.disk.entries()]


def _entry(path: Path, *more: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["v1", "{}", *more]))
