"""One batch of a query: what it reads, what becomes of each event, and the attempts to deliver it.

Every attempt counts the verdicts in the same pass as the write. The order of verdicts: filtered, dead, unrouted, routed
elsewhere, refused by the sink, delivered.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, Observation
from pyspark.sql import functions as f

from pipelines.domain.journal import Planned
from pipelines.domain.ledger import Counts
from workers.agent.event import ORIGIN
from workers.agent.quarantine import is_marked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COUNTS_TIMEOUT = 30.0
_EVENT = ("key", "body", "headers", *ORIGIN)
DELIVERED = "delivered"
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
class Judge:
    """What becomes of each event of a source in one channel.

    `keeps_bad`: this channel accounts for the source's dead and unrouted events; in the others they count as routed
    elsewhere. `selector`: path of the selector, the component that leaves an event unrouted.
    """

    channel: str
    selector: str
    keeps_bad: bool

    def verdicts(self, frame: DataFrame, refused: Column | None) -> Verdicts:
        """The verdicts that are possible at all in a frame with these columns."""
        return list(self._verdicts(frozenset(frame.columns), refused))

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

    def cause(self, frame: DataFrame, sink: str, refused: Column | None) -> Column:
        """Component and cause of a dead or unrouted event."""
        reasons = []
        if "problem" in frame.columns:
            reasons.append(f.col("problem"))
        if "targets" in frame.columns:
            words = "No channel of the selector takes it."
            reasons.append(f.when(f.size("targets") == 0, _reason(self.selector, f.lit(words))))
        if refused is not None:
            reasons.append(f.when(refused.isNotNull(), _reason(sink, refused)))
        return f.coalesce(*reasons)


def _reason(component: str, cause: Column) -> Column:
    return f.struct(f.lit(component).alias("component"), cause.alias("cause"))


@dataclass(frozen=True)
class Batch:
    """The frame of a batch, its journal entry, and who judges its events."""

    frame: DataFrame
    planned: Planned
    judge: Judge

    def attempt(self, sink: str, refused: Column | None) -> Attempt:
        """Try to deliver it to the sink at path `sink`; counts belong to one attempt only."""
        return Attempt(self, sink, refused)


class Attempt:
    """One pass over a batch: `events` is what the sink must take; `counts` once that frame was written. `repeats`:
    tasks of the write that ran more than once, because a cluster lost them."""

    def __init__(self, batch: Batch, sink: str = "", refused: Column | None = None) -> None:
        self.planned = batch.planned
        self._batch, self._sink, self._refused = batch, sink, refused
        self.repeats = 0
        self._refusals: list[Refusal] = []
        self._read, self._passed = Observation(), Observation()
        self._counts: Counts | None = None
        self._held: Counts | None = None
        self._verdicts = batch.judge.verdicts(batch.frame, refused)
        self.events = delivered_events(batch.frame, self._verdicts, read=self._read, passed=self._passed)

    def refuse(self, refusals: list[Refusal]) -> None:
        """Events that the sink refused for good: they become dead letters instead of delivered."""
        self._refusals += refusals

    def already(self, counts: Counts) -> None:
        """The sink holds this batch since an earlier attempt, which had these counts; nothing is evaluated."""
        self._held = counts

    @property
    def counts(self) -> Counts:
        """Row counts of the pass. Raises TimeoutError where Spark does not report them."""
        if self._held is not None:
            return self._held
        if self._counts is None:
            self._counts = Counts(**_values(self._read), **_values(self._passed))
        refused = len(self._refusals)
        return self._counts.model_copy(
            update={
                "delivered": self._counts.delivered - refused,
                "dead_lettered": self._counts.dead_lettered + refused,
            }
        )

    def dead(self) -> DataFrame | None:
        """The events of this pass that are dead or unrouted, with `component` and `cause`; None where none can be."""
        names = [name for name, _ in self._verdicts if name in _DEAD]
        if not names:
            return None
        judged = self._batch.frame.withColumn("verdict", verdict(self._verdicts))
        bad = judged.where(f.col("verdict").isin(*sorted(set(names))))
        reason = self._batch.judge.cause(self._batch.frame, self._sink, self._refused)
        return bad.select(*_EVENT, "verdict", reason.alias("reason")).select(
            *_EVENT, "verdict", "reason.component", "reason.cause"
        )

    @property
    def refusals(self) -> list[Refusal]:
        """What the sink refused in this pass."""
        return list(self._refusals)


def delivered_events(
    frame: DataFrame, verdicts: Verdicts, *, read: Observation | str, passed: Observation | str
) -> DataFrame:
    """The events of a frame that are to be delivered. What is read and what passes is counted on the way, under two
    observations or names."""
    judged = frame.withColumn("verdict", verdict(verdicts)) if verdicts else frame
    observed = judged.observe(read, *_counters(frame, verdicts))
    left = observed.where(f.col("verdict") == DELIVERED) if verdicts else observed
    own = [name for name in (*_EVENT, "copy") if name in left.columns]
    return left.select(*own).observe(passed, f.count(f.lit(1)).alias(DELIVERED))


def verdict(verdicts: Verdicts) -> Column:
    """The first verdict whose condition holds."""
    chosen = f.lit(DELIVERED)
    for name, condition in reversed(verdicts):
        chosen = f.when(condition, f.lit(name)).otherwise(chosen)
    return chosen


def _counters(frame: DataFrame, verdicts: Verdicts) -> list[Column]:
    copies = "copy" in frame.columns
    read = f.count_if(f.col("copy") == 0) if copies else f.count(f.lit(1))
    counters = [read.alias("read")]
    if copies:
        counters.append(f.count_if(f.col("copy") > 0).alias("added"))
    names = sorted({name for name, _ in verdicts})
    return counters + [f.count_if(f.col("verdict") == name).alias(name) for name in names]


def _values(observation: Observation) -> dict[str, Any]:
    future = observation._jo.future()  # type: ignore[union-attr]
    deadline = time.monotonic() + _COUNTS_TIMEOUT
    while not future.isCompleted():
        if time.monotonic() > deadline:
            raise TimeoutError("Spark did not report the row counts of a finished write")
        time.sleep(0.001)
    return dict(observation.get)
