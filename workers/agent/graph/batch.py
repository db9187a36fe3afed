"""One batch of a query: what it reads, what becomes of each event, and the attempts to deliver it.

Every attempt counts the verdicts in the same pass as the write. The order of verdicts: filtered, dead, unrouted, routed
elsewhere, refused by the sink, held by it since an earlier attempt, delivered. What is held counts as delivered.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, Observation
from pyspark.sql import functions as f

from pipelines.domain.ledger.journal import Planned
from pipelines.domain.ledger.ledger import Counts
from workers.agent.base.event import ORIGIN
from workers.agent.graph.quarantine import is_marked
from workers.agent.positions.held import Held

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COUNTS_TIMEOUT = 30.0
_EVENT = ("key", "body", "headers", *ORIGIN)
DELIVERED = "delivered"
_HELD = "held"
_IS_DELIVERED = f"verdict = '{DELIVERED}'"
_DEAD = ("dead_lettered", "unrouted")

Verdicts = list[tuple[str, Column]]
"""(name of the count, condition) in their order; what none of them takes is delivered."""


@dataclass(frozen=True)
class Refusal:
    """An event that a sink refused for good."""

    key: bytes | None
    body: bytes | None
    headers: list[tuple[str, bytes]]
    topic: str
    partition: int
    offset: int
    cause: str
    component: str = ""


def base64_text(data: bytes | bytearray | None) -> str | None:
    """Bytes of an event as JSON can carry them."""
    return None if data is None else base64.b64encode(data).decode()


@dataclass(frozen=True)
class Classifier:
    """What becomes of each event of a source in one channel.

    `keeps_bad`: this channel accounts for the source's dead and unrouted events; in the others they count as routed
    elsewhere. `selector`: path of the selector, the component that leaves an event unrouted.
    """

    channel: str
    selector: str
    keeps_bad: bool
    _known: dict[str, Classification] = field(default_factory=dict, compare=False)

    def classification(
        self, frame: DataFrame, sink: str, refused: Column | None, held: Held | None = None
    ) -> Classification:
        """How the events of this judge's frames, which all have the same columns, are judged and counted on their way
        to the sink at path `sink`, which holds some of them already. Expressions are made once: making them costs more
        than a small batch."""
        if held is not None:
            return self._classification(frame.columns, sink, refused, held)
        known = self._known.get(sink)
        if known is None or known.refused is not refused:
            known = self._known[sink] = self._classification(frame.columns, sink, refused)
        return known

    def _classification(
        self, columns: list[str], sink: str, refused: Column | None, held: Held | None = None
    ) -> Classification:
        verdicts = list(self._verdicts(frozenset(columns), refused))
        if held is not None and (there := held.column(copies="copy" in columns)) is not None:
            verdicts.append((_HELD, there))
        return Classification(
            verdicts=verdicts,
            refused=refused,
            own=[name for name in (*_EVENT, "copy") if name in columns],
            chosen=verdict(verdicts) if verdicts else None,
            counters=_counters("copy" in columns, verdicts),
            reason=self._reason(frozenset(columns), sink, refused),
        )

    def must_arrive(self, frame: DataFrame) -> bool:
        """Whether the channel is required for any event of these that it has to deliver."""
        return self.classification(frame, "", None).has_required(frame, self.channel)

    def _verdicts(self, columns: frozenset[str], refused: Column | None) -> Iterator[tuple[str, Column]]:
        if "kept" in columns:
            yield "filtered", ~f.col("kept")
        if "problem" in columns:
            yield "dead_lettered", is_marked()
            yield self._bad("dead_lettered"), f.col("problem").isNotNull()
        if "targets" in columns:
            yield self._bad("unrouted"), f.size("targets") == 0
            yield "routed_elsewhere", ~f.array_contains("targets", self.channel)
        if refused is not None:
            yield "dead_lettered", refused.isNotNull()

    def _bad(self, verdict: str) -> str:
        return verdict if self.keeps_bad else "routed_elsewhere"

    def _reason(self, columns: frozenset[str], sink: str, refused: Column | None) -> Column | None:
        reasons = []
        if "problem" in columns:
            reasons.append(f.col("problem"))
        if "targets" in columns:
            words = "No channel of the selector matches the event."
            reasons.append(f.when(f.size("targets") == 0, _reason(self.selector, f.lit(words))))
        if refused is not None:
            reasons.append(f.when(refused.isNotNull(), _reason(sink, refused)))
        return f.coalesce(*reasons) if reasons else None


def _reason(component: str, cause: Column) -> Column:
    return f.struct(f.lit(component).alias("component"), cause.alias("cause"))


@dataclass(frozen=True)
class Classification:
    """The expressions of a judge for one sink. `own`: columns that the sink is given; `chosen`: the verdict, None where
    every event is delivered; `reason`: component and cause of a dead or unrouted event, None where none can be."""

    verdicts: Verdicts
    refused: Column | None
    own: list[str]
    chosen: Column | None
    counters: list[Column]
    reason: Column | None

    def delivered(self, frame: DataFrame, counted: Observation | str) -> DataFrame:
        """The events that are to be delivered, among other columns. All verdicts are counted on the way, under an
        observation or a name."""
        return self._passed(frame if self.chosen is None else frame.withColumn("verdict", self.chosen), counted)

    def written(self, frame: DataFrame, counted: Observation | str, columns: Sequence[Column]) -> DataFrame:
        """The same in a sink's own columns, among a few more. They are made together with the verdict: another step
        behind the count would copy each event once more."""
        also = [f.col("copy")] if "copy" in self.own else []
        if self.chosen is not None:
            also.append(self.chosen.alias("verdict"))
        return self._passed(frame.select(*columns, *also), counted)

    def _passed(self, frame: DataFrame, counted: Observation | str) -> DataFrame:
        passed = frame.observe(counted, *self.counters)
        return passed if self.chosen is None else passed.where(_IS_DELIVERED)

    def has_required(self, frame: DataFrame, channel: str) -> bool:
        """Whether an event that is to be delivered must be; true where the frame does not say it."""
        if "required" not in frame.columns or self.chosen is None:
            return True
        to_deliver = frame.where(self.chosen == DELIVERED)
        return not to_deliver.where(f.array_contains("required", channel)).isEmpty()

    def dead(self, frame: DataFrame) -> DataFrame | None:
        """The dead and unrouted events, with `component` and `cause`; None where none can be."""
        names = {name for name, _ in self.verdicts if name in _DEAD}
        if not names or self.chosen is None or self.reason is None:
            return None
        bad = frame.withColumn("verdict", self.chosen).where(f.col("verdict").isin(*sorted(names)))
        return bad.select(*_EVENT, "verdict", self.reason.alias("reason")).select(
            *_EVENT, "verdict", "reason.component", "reason.cause"
        )


@dataclass(frozen=True)
class Batch:
    """The frame of a batch, its journal entry, and who judges its events."""

    frame: DataFrame
    planned: Planned
    classifier: Classifier

    @property
    def spark(self) -> SparkSession:
        """The session of the frame."""
        return self.frame.sparkSession

    def attempt(self, sink: str = "", refused: Column | None = None, held: Held | None = None) -> Attempt:
        """Try to deliver it to the sink at path `sink`, but for what is `held`; counts belong to one attempt only."""
        return Attempt(self, self.classifier.classification(self.frame, sink, refused, held))


class Attempt:
    """One pass over a batch: `events`, or what `in_columns` gives, must be written by one action; then there are
    `counts`. `repeats`: tasks of the write that ran more than once, because a cluster lost them."""

    def __init__(self, batch: Batch, classification: Classification) -> None:
        self.planned = batch.planned
        self._batch, self._classification = batch, classification
        self.repeats = 0
        self._refusals: list[Refusal] = []
        self._counted = Observation()
        self._counts: Counts | None = None
        self._already: Counts | None = None
        self._held = 0

    @cached_property
    def events(self) -> DataFrame:
        """What the sink must take: key, body, headers and origin, and `copy` where a record can be several events."""
        return self._classification.delivered(self._batch.frame, self._counted).select(*self._classification.own)

    def in_columns(self, columns: Sequence[Column]) -> DataFrame:
        """The same in the sink's own columns, with others that it has to pass over."""
        return self._classification.written(self._batch.frame, self._counted, columns)

    @property
    def copies(self) -> bool:
        """Whether a record can be several events."""
        return "copy" in self._classification.own

    def peek(self, most: int) -> DataFrame:
        """A few events of the batch, whatever becomes of them; they are not counted."""
        return self._batch.frame.limit(most)

    @property
    def spark(self) -> SparkSession:
        """The session; to ask `events` for it would count them."""
        return self._batch.frame.sparkSession

    def refuse(self, refusals: list[Refusal]) -> None:
        """Events that the sink refused for good: they become dead letters instead of delivered."""
        self._refusals += refusals

    def already(self, counts: Counts) -> None:
        """The sink holds this batch since an earlier attempt, which had these counts; nothing is evaluated."""
        self._already = counts

    @property
    def written(self) -> int:
        """How many events this pass has given to the sink. Raises TimeoutError where Spark does not report it."""
        return self.counts.delivered - self._held

    @property
    def counts(self) -> Counts:
        """Row counts of the pass. Raises TimeoutError where Spark does not report them."""
        if self._already is not None:
            return self._already
        if self._counts is None:
            self._counts, self._held = counted(_values(self._counted))
        refused = len(self._refusals)
        return self._counts.model_copy(
            update={
                "delivered": self._counts.delivered - refused,
                "dead_lettered": self._counts.dead_lettered + refused,
            }
        )

    def dead(self) -> DataFrame | None:
        """The events of this pass that are dead or unrouted, with `component` and `cause`; None where none can be."""
        return self._classification.dead(self._batch.frame)

    @property
    def refusals(self) -> list[Refusal]:
        """What the sink refused in this pass."""
        return list(self._refusals)


def counted(values: Mapping[str, int]) -> tuple[Counts, int]:
    """The counts of a pass, and how many of the delivered events the sink had before."""
    held = values.get(_HELD, 0)
    others = {name: value for name, value in values.items() if name != _HELD}
    return Counts(**{**others, DELIVERED: others[DELIVERED] + held}), held


def verdict(verdicts: Verdicts) -> Column:
    """The first verdict whose condition holds."""
    chosen = f.lit(DELIVERED)
    for name, condition in reversed(verdicts):
        chosen = f.when(condition, f.lit(name)).otherwise(chosen)
    return chosen


def _counters(copies: bool, verdicts: Verdicts) -> list[Column]:
    every = f.count(f.lit(1))
    counters = [(f.count_if(f.col("copy") == 0) if copies else every).alias("read")]
    if copies:
        counters.append(f.count_if(f.col("copy") > 0).alias("added"))
    if not verdicts:
        return [*counters, every.alias(DELIVERED)]
    names = sorted({DELIVERED, *(name for name, _ in verdicts)})
    return counters + [f.count_if(f.col("verdict") == name).alias(name) for name in names]


def _values(observation: Observation) -> dict[str, Any]:
    future = observation._jo.future()  # type: ignore[union-attr]
    deadline = time.monotonic() + _COUNTS_TIMEOUT
    while not future.isCompleted():
        if time.monotonic() > deadline:
            raise TimeoutError("Spark did not report the row counts of a finished write")
        time.sleep(0.001)
    return dict(observation.get)
