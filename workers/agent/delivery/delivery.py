"""Delivering a batch through the sinks of a channel: who is tried, for how long, and what happens when it fails.

A batch that nobody takes is held and tried again, for ever; a stop that gives it up is not a failure of its sinks.
"""

from __future__ import annotations

import itertools
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]

from pipelines.domain.base.causes import LONGEST, explained, sentences
from pipelines.domain.ledger.journal import Planned, SinkPosition
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.ledger.sink_groups import Pools, Switch
from pipelines.domain.runs.protocol import AgentFinding
from workers import crash_points
from workers.agent.base import at_work
from workers.agent.base.findings import Blocked, Refused, blocked_by, refuse
from workers.agent.base.frames import within
from workers.agent.delivery.attribution import Side, side_of
from workers.agent.delivery.deduplication import Deduplication
from workers.agent.delivery.gate import Gate
from workers.agent.graph.batch import Attempt, Batch
from workers.agent.graph.component import Resolution, SinkBuilder
from workers.agent.positions.held import Held
from workers.agent.sink_processors import AllFailed, Processor
from workers.agent.spark import repeats
from workers.agent.spark.deadline import Deadline, DeadlineExceeded, SlotsLost, check_slots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from workers.agent.delivery.joint_write import JointWrite

T = TypeVar("T")
Patience = Callable[[], bool]


def always() -> bool:
    """Try again for as long as it takes."""
    return True


_SOURCE_LOST = re.compile(
    r"KAFKA_DATA_LOSS|OffsetOutOfRange|data may have been lost|Cannot fetch offset|RangeLost|LogDamaged", re.IGNORECASE
)

_OF_PYTHON = re.compile(r"Traceback \(most recent call last\)|thrown from the Python worker")
_RAISED = re.compile(r"^.*Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(\S.*)$", re.MULTILINE)
"""The line below the frames of a traceback, which says what was raised."""


_ENDED_WORKERS = 3
"""So many attempts in a row, in each of which a Python worker ends inside a component: it is the component's doing."""


class SourceLost(Exception):
    """Records of the batch can no longer be read: no sink's fault, and no attempt will change it."""


@dataclass(frozen=True)
class Failure:
    """One attempt that failed; `since` is the wall time of the first one of this batch. `side`: who failed, the sink
    that was written to or the source that was read meanwhile."""

    sink: str
    cause: str
    attempt: int
    since: float
    side: Side = Side.SINK


@dataclass(frozen=True)
class Delivery:
    """A batch that a sink has acknowledged. `failed`: attempts before it, by sink; `abandoned`: the sinks where one of
    them may go on writing; `pass_`: the one that worked."""

    pass_: Attempt
    counts: Counts
    sink: str
    failed: Counter[str] = field(default_factory=Counter)
    abandoned: frozenset[str] = frozenset()

    @property
    def attempts(self) -> int:
        """All of them."""
        return self.failed.total() + 1

    @property
    def before(self) -> Counter[str]:
        """How often each sink may have been given some of the batch before this one had all of it."""
        return self.failed + Counter({self.sink: self.pass_.repeats})


@dataclass(frozen=True)
class _Done(Generic[T]):
    result: T
    sink: str
    failed: Counter[str]
    abandoned: frozenset[str]


@dataclass(frozen=True)
class Writing:
    """A write that goes on; `since` is of the monotonic clock."""

    sink: str
    since: float
    deadline: Deadline


@dataclass(frozen=True)
class Listener:
    """Who hears of failures and switches while a batch is being delivered."""

    failed: Callable[[Failure], None]
    switched: Callable[[Switch], None]


def cause_of(error: BaseException) -> str:
    """The innermost cause in a line, out of a Java or Python exception; of a worker in Python, what it raised. One that
    is known is said in words, with what to do."""
    text = str(error)
    causes = re.findall(r"^Caused by: (.+)$", text, re.MULTILINE)
    lost = re.search(r"executor [^)]*\): (.+)$", text, re.MULTILINE)
    thrown = re.search(r"^: (.+)$", text, re.MULTILINE)
    first = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    cause = causes[-1] if causes else lost[1] if lost else thrown[1] if thrown else first
    raised = _RAISED.findall(text) if _OF_PYTHON.search(cause) else []
    what, advice = explained(raised[-1] if raised else cause)
    return (sentences(what, advice) if advice else what)[:LONGEST]


class SinkGroup:
    """The sinks of one channel, one of which takes each batch. `name` is empty for a sink without a declared group;
    `kind` is the type of the processor; `share`: the task slots that the channel may use; `unready`: sinks that were
    away when the run began, and are made ready before their first batch; `source_is_away`: whether the source that is
    read meanwhile does not answer."""

    def __init__(
        self, name: str, kind: str, sinks: Mapping[str, SinkBuilder], processor: Processor, gate: Gate, share: int = 1
    ) -> None:
        self.name = name
        self.kind = kind
        self.sinks = dict(sinks)
        self.processor = processor
        self.writing: Writing | None = None
        self.unready: set[str] = set()
        self._suspected: set[str] = set()
        self.source_is_away: Callable[[], bool] = lambda: False
        self._gate = gate
        self._share = share
        self._left_behind = False
        self._ended_workers = 0

    def ends(self, listener: Listener, patient: Patience = always) -> dict[str, list[SinkPosition]]:
        """End offsets by sink. A single sink is waited for like a delivery; of a group, those that can be asked now.
        One that deduplicates has none yet, if it cannot: they are noted before it is given anything.
        Raises AllFailed where it is not `patient`."""
        if len(self.sinks) == 1:
            found = {
                name: self._try(lambda each: _asked(self.sinks[each]), listener, patient).result for name in self.sinks
            }
        else:
            live = self.processor.pools().live
            found = {name: _ends(sink) if name in live else [] for name, sink in self.sinks.items()}
        later = {name for name, sink in self.sinks.items() if sink.deduplicates and len(self.sinks) > 1}
        return {name: ends for name, ends in found.items() if ends or name in later}

    @property
    def written_with(self) -> Hashable | None:
        """Groups with equal values can be written in one pass; None: this one cannot."""
        return next(iter(self.sinks.values())).written_with if len(self.sinks) == 1 else None

    def hold(self, seconds: float) -> None:
        """Wait with a batch in hand. Raises Cancelled as soon as a stop gives the batch up."""
        self._gate.hold(seconds)

    def resolve(self, planned: Planned, asked: Collection[str]) -> Resolution:
        """What these sinks say of a batch that was planned and never done, together."""
        each = [self.resolve_in(sink, planned) for sink in asked]
        if planned.open_ended and not all(one.complete for one in each):
            raise _tail_unreadable(planned)
        return Resolution(
            delivered_before=sum(one.delivered_before for one in each),
            complete=all(one.complete for one in each),
            committed=len(self.sinks) == len(each) == 1 and each[0].committed,
        )

    def resolve_in(self, sink: str, planned: Planned) -> Resolution:
        """What one of them says; the batch's bound where it cannot be asked."""
        try:
            return within(self.sinks[sink].place.path, self.sinks[sink].resolve)(planned)
        except Py4JNetworkError:
            raise
        except Exception:
            return Resolution(delivered_before=max(1, planned.attempts) * planned.bound, complete=False)

    def pools(self) -> Pools:
        """Who is live and who is out."""
        return self.processor.pools()

    def warm_up(self, batch: Batch) -> None:
        """Have each sink that is ready go through a batch without events."""
        for name in self.sinks.keys() - self.unready:
            sink = self.sinks[name]
            within(sink.place.path, sink.warm_up)(batch.attempt(sink.place.path, sink.refuses()))

    def deliver(
        self,
        batch: Batch,
        listener: Listener,
        patient: Patience = always,
        deduplication: Deduplication | None = None,
        joint: JointWrite | None = None,
    ) -> Delivery:
        """Write the batch, however long that takes; `patient` is asked after each round that failed whether there is
        another one. `deduplication`: leaves out of each attempt what sinks hold of earlier ones. `joint`: the first
        attempt is written with those of other groups.

        Raises Cancelled where a stop gives the batch up, SourceLost where its records are gone, Blocked where no
        attempt can finish it, Py4JNetworkError where the JVM is gone, AllFailed where there is no other round,
        SlotsLost where writes that were cancelled hold too many slots.
        """
        numbers = itertools.count(1)

        def write(sink: str) -> tuple[Attempt, Counts]:
            number = next(numbers)
            return self._write(sink, batch, number, deduplication, joint if number == 1 else None)

        done = self._try(write, listener, patient)
        attempt, counts = done.result
        if deduplication is not None:
            deduplication.delivered(done.sink, attempt.written, batch.spark)
        return Delivery(attempt, counts, done.sink, done.failed, done.abandoned)

    def _try(self, action: Callable[[str], T], listener: Listener, patient: Patience) -> _Done[T]:
        """Let candidates act until one succeeds. A source that fails ends the round: no other sink could do better, and
        none is penalized."""
        failed: Counter[str] = Counter()
        abandoned: set[str] = set()
        causes: dict[str, str] = {}
        since = 0.0
        while True:
            side = Side.SINK
            for sink in self.processor.candidates():
                try:
                    result = action(sink)
                except (Py4JNetworkError, SlotsLost):
                    raise
                except Exception as error:
                    self._raise_what_is_no_failure(error)
                    since = since or time.time()
                    failed[sink] += 1
                    abandoned |= {sink} if isinstance(error, DeadlineExceeded) else set()
                    causes[sink] = cause_of(error)
                    side = self._side(error)
                    if side is Side.SINK:
                        _notify(self.processor.failed(sink, causes[sink]), listener)
                    listener.failed(Failure(sink, causes[sink], failed.total(), since, side))
                    if side is Side.SOURCE:
                        break
                else:
                    _notify(self.processor.delivered(sink), listener)
                    return _Done(result, sink, failed, frozenset(abandoned))
            if side is Side.SINK and not patient():
                raise AllFailed(self.name, causes)
            self._gate.hold(self.processor.pause())

    def _side(self, error: Exception) -> Side:
        """Who failed. Where the error itself does not tell, the sink is to blame only while the source answers."""
        return side_of(error) or (Side.SOURCE if self.source_is_away() else Side.SINK)

    def _write(
        self, sink: str, batch: Batch, number: int, deduplication: Deduplication | None, joint: JointWrite | None
    ) -> tuple[Attempt, Counts]:
        self._make_ready(sink, batch.spark)
        held = deduplication.held(batch.spark) if deduplication else None
        if deduplication:
            deduplication.prepare(sink)
        try:
            attempt, counts = self._attempt(sink, batch, number, held, joint)
        except Exception:
            self._suspected.add(sink)
            if deduplication:
                deduplication.failed(sink, batch.spark)
            raise
        self._suspected.discard(sink)
        if deduplication and attempt.repeats:
            deduplication.repeated(sink)
        return attempt, counts

    def _make_ready(self, sink: str, spark: SparkSession) -> None:
        """What fails here has given the sink nothing. One whose last write failed is asked first whether it is there: a
        write that cannot succeed would have to be looked for."""
        builder = self.sinks[sink]
        if self._left_behind:
            check_slots(spark.sparkContext, self._share, self._gate.hold)
        if sink in self.unready:
            within(builder.place.path, builder.probe)()
            within(builder.place.path, builder.initialise)(spark)
            self.unready.discard(sink)
        elif sink in self._suspected:
            within(builder.place.path, builder.reach)()

    def _attempt(
        self, sink: str, batch: Batch, number: int, held: Held | None, joint: JointWrite | None
    ) -> tuple[Attempt, Counts]:
        builder = self.sinks[sink]
        context = batch.spark.sparkContext
        attempt = batch.attempt(builder.place.path, builder.refuses(), held)
        planned = batch.planned
        group = joint.group if joint else f"{planned.source}.{planned.channel}/{planned.batch}/{sink}/{number}"
        deadline = Deadline(context, group, builder.write_deadline)
        started = time.monotonic()
        self.writing = Writing(sink, started, deadline)
        crash_points.reach("agent.writing")
        try:
            with deadline:
                counts = _written(builder, attempt, deadline, joint)
                attempt.repeats = repeats.count(context, group)
                attempt.ms = round((time.monotonic() - started) * 1000)
                return attempt, counts
        except DeadlineExceeded:
            self._left_behind = True
            raise
        finally:
            self.writing = None

    def _raise_what_is_no_failure(self, error: Exception) -> None:
        """A stop, a source that lost records and a batch that blocks say nothing about a sink."""
        self._gate.check()
        components = at_work.ended_inside()
        if isinstance(error, DeadlineExceeded):
            return
        self._ended_workers = self._ended_workers + 1 if components else 0
        if self._ended_workers >= _ENDED_WORKERS:
            raise _ends_its_process(components[0]) from error
        if isinstance(error, Blocked):
            raise error
        if blocked := blocked_by(str(error)):
            raise blocked from error
        if _SOURCE_LOST.search(str(error)):
            raise SourceLost(cause_of(error)) from error


def _written(builder: SinkBuilder, attempt: Attempt, deadline: Deadline, joint: JointWrite | None) -> Counts:
    if joint is None:
        return within(builder.place.path, builder.write)(attempt)
    joint.write(builder, attempt, deadline)
    return attempt.counts


def _ends_its_process(component: str) -> Blocked:
    finding = AgentFinding(
        path=component,
        code="INTERCEPTOR_FAILED",
        message=f"The interceptor ended its Python worker, or made it crash, {_ENDED_WORKERS} times in a row.",
        suggestion="Fix the interceptor, then start the pipeline again; the agent's log may have details.",
    )
    return Blocked(finding)


def _tail_unreadable(planned: Planned) -> Refused:
    return refuse(
        f"channels.{planned.channel}",
        "SINK_TAIL_UNREADABLE",
        "The sink did not report how much of an unfinished real-time batch it holds.",
        "Make the sink reachable; nothing is read until that is known.",
        retryable=True,
    )


def _notify(switches: list[Switch], listener: Listener) -> None:
    for switch in switches:
        listener.switched(switch)


def _asked(sink: SinkBuilder) -> list[SinkPosition]:
    return within(sink.place.path, sink.ends)()


def _ends(sink: SinkBuilder) -> list[SinkPosition]:
    try:
        return _asked(sink)
    except Exception:
        return []  # the write that follows says what is wrong, and recovery announces a bound
