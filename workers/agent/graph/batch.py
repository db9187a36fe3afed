"""One batch of a query: what it reads, what becomes of each event, and the attempts to deliver it.

Every attempt counts the verdicts in the same pass as the write. The order of verdicts: filtered or dead, whichever came
first, unrouted, routed elsewhere, refused by the sink, held by it since an earlier attempt, delivered. What is held
counts as delivered.

A verdict also says which component decides it. In the pass it is a number: that of the interceptor which filters the
event, or one below zero. The bytes of the bodies that are delivered are added up beside the verdicts.
"""

from __future__ import annotations

import base64
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import Column, Observation
from pyspark.sql import functions as f

from pipelines.domain.ledger.journal import Planned
from pipelines.domain.ledger.ledger import Cause, Counts
from pipelines.domain.runs.crashes import QUARANTINE
from workers.agent.base.event import ORIGIN
from workers.agent.graph.kept import Events, KeptPlans
from workers.agent.positions.held import Held

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COUNTS_TIMEOUT = 30.0
_EVENT = ("key", "body", "headers", *ORIGIN)
_DEAD = ("dead_lettered", "unrouted")


class Verdict(NamedTuple):
    """What becomes of an event: the counter that it counts in, and the path of the component that decides it."""

    counter: str
    component: str = ""

    def __str__(self) -> str:
        return "@".join(self) if self.component else self.counter


DELIVERED = Verdict("delivered")
_HELD = Verdict("held")
_BYTES = "delivered_bytes"
IS_DELIVERED = -1

Condition = tuple[Column, Verdict]
"""The first that holds for an event gives its verdict; where none does, it is delivered."""


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
    elsewhere. `selector`: path of the selector, the component that leaves an event unrouted or sends it elsewhere.
    `filters`, `adds`: paths of the interceptors that can filter or add events, by their numbers. `fails`: paths of the
    components ahead of the sink that can make a dead letter of an event.
    """

    channel: str
    selector: str
    keeps_bad: bool
    filters: Mapping[int, str] = field(default_factory=dict)
    adds: Mapping[int, str] = field(default_factory=dict)
    fails: Sequence[str] = ()
    _known: dict[str, Classification] = field(default_factory=dict, compare=False)

    def classification(
        self, events: DataFrame | Events, sink: str, refused: Column | None, held: Held | None = None
    ) -> Classification:
        """How the events of this judge's batches, which all have the same columns, are judged and counted on their way
        to the sink at path `sink`, which holds some of them already. Expressions are made once: making them costs more
        than a small batch."""
        if held is not None:
            return self._classification(events.columns, sink, refused, held)
        known = self._known.get(sink)
        if known is None or known.refused is not refused:
            known = self._known[sink] = self._classification(events.columns, sink, refused)
        return known

    def _classification(
        self, columns: list[str], sink: str, refused: Column | None, held: Held | None = None
    ) -> Classification:
        conditions = list(self._conditions(frozenset(columns), sink, refused))
        if held is not None and (there := held.column(copies="copy" in columns)) is not None:
            conditions.append((there, _HELD))
        filters = self.filters if "filtered_by" in columns else {}
        numbers = _numbered(filters, [each for _, each in conditions])
        chosen = _chosen(conditions, numbers, filtered="filtered_by" in columns)
        size = _size(chosen, numbers)
        return Classification(
            verdicts={number: each for each, number in numbers.items()},
            refused=refused,
            own=[name for name in (*_EVENT, "copy") if name in columns],
            chosen=chosen,
            sources=list(self._sources("copy" in columns)),
            size=size,
            reason=self._reason(frozenset(columns), sink, refused),
        )

    def must_arrive(self, events: Events) -> bool:
        """Whether the channel is required for any event of these that it has to deliver."""
        return self.classification(events, "", None).has_required(events.frame, self.channel)

    def _conditions(self, columns: frozenset[str], sink: str, refused: Column | None) -> Iterator[Condition]:
        if "problem" in columns:
            yield from self._dead()
        if "targets" in columns:
            yield f.size("targets") == 0, self._bad("unrouted", self.selector)
            yield ~f.array_contains("targets", self.channel), Verdict("routed_elsewhere", self.selector)
        if refused is not None:
            yield refused.isNotNull(), Verdict("dead_lettered", sink)

    def _dead(self) -> Iterator[Condition]:
        """Where one component alone can have a problem with an event, nobody looks which it is."""
        several = len(self.fails) > 1
        for path in self.fails if several else ():
            yield f.col("problem.component") == path, self._bad("dead_lettered", path)
        rest = "" if several else "".join(self.fails)
        yield f.col("problem").isNotNull(), self._bad("dead_lettered", rest)

    def _bad(self, counter: str, component: str) -> Verdict:
        keeps = self.keeps_bad or component == QUARANTINE
        return Verdict(counter if keeps else "routed_elsewhere", component)

    def _sources(self, copies: bool) -> Iterator[Column]:
        """Counts of what was read, and of what was made of it."""
        if not copies:
            yield f.count(f.lit(1)).alias("read")
            return
        yield _number_of(f.col("copy") == 0).alias("read")
        if len(self.adds) > 1:
            for number, path in self.adds.items():
                yield _number_of(f.col("added_by") == number).alias(str(Verdict("added", path)))
        else:
            yield _number_of(f.col("copy") > 0).alias(str(Verdict("added", "".join(self.adds.values()))))

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
    """The expressions of a judge for one sink. `verdicts`: by their numbers; `own`: columns that the sink is given;
    `chosen`: the number of the verdict, None where every event is delivered; `sources`: counts of what was read;
    `size`: bytes of the body where the event arrives, else none; `reason`: component and cause of a dead or unrouted
    event, None where none can be. What is counted is interpreted for each event, so verdict and size are made in
    generated code before; `mark` tells those of several channels apart."""

    verdicts: Mapping[int, Verdict]
    refused: Column | None
    own: list[str]
    chosen: Column | None
    sources: list[Column]
    size: Column
    reason: Column | None

    def judged(self, mark: str = "") -> dict[str, Column]:
        """The columns that are counted."""
        verdict = {} if self.chosen is None else {f"{mark}verdict": self.chosen}
        return {f"{mark}size": self.size, **verdict}

    def counters(self, mark: str = "") -> list[Column]:
        """How often each verdict was given, and the bytes that arrive."""
        total = f.coalesce(f.sum(f"{mark}size"), f.lit(0)).alias(mark + _BYTES)
        if self.chosen is None:
            return [f.count(f.lit(1)).alias(f"{mark}{DELIVERED}"), total]
        given = f.col(f"{mark}verdict")
        return [*(_number_of(given == n).alias(f"{mark}{each}") for n, each in self.verdicts.items()), total]

    def arrives(self, mark: str = "") -> Column | None:
        """Whether an event that was judged is to be delivered; None where every one is."""
        return None if self.chosen is None else f.col(f"{mark}verdict") == IS_DELIVERED

    def delivered(self, frame: DataFrame, counted: Observation | str) -> DataFrame:
        """The events that are to be delivered, among other columns. All verdicts are counted on the way, under an
        observation or a name."""
        return self._arriving(self._counted(frame.withColumns(self.judged()), counted))

    def written(self, frame: DataFrame, counted: Observation | str, columns: Sequence[Column]) -> DataFrame:
        """The same in a sink's own columns, among a few more."""
        return self._arriving(self.all_in(frame, counted, columns))

    def all_in(self, frame: DataFrame, counted: Observation | str, columns: Sequence[Column]) -> DataFrame:
        """All events in a sink's own columns, among a few more, with their `verdict` where not every one is to be
        delivered. It is made together with the columns, and nothing is left out: another step behind the count would
        copy each event once more."""
        copy = [f.col("copy")] if "copy" in self.own else []
        judged = [column.alias(name) for name, column in self.judged().items()]
        return self._counted(frame.select(*columns, *judged, *copy), counted)

    def _counted(self, frame: DataFrame, counted: Observation | str) -> DataFrame:
        return frame.observe(counted, *self.sources, *self.counters())

    def _arriving(self, frame: DataFrame) -> DataFrame:
        arrives = self.arrives()
        return frame if arrives is None else frame.where(arrives)

    def has_required(self, frame: DataFrame, channel: str) -> bool:
        """Whether an event that is to be delivered must be; true where the frame does not say it."""
        if "required" not in frame.columns or self.chosen is None:
            return True
        to_deliver = frame.where(self.chosen == IS_DELIVERED)
        return not to_deliver.where(f.array_contains("required", channel)).isEmpty()

    def dead(self, frame: DataFrame) -> DataFrame | None:
        """The dead and unrouted events, with `component` and `cause`; None where none can be."""
        dead = [number for number, each in self.verdicts.items() if each.counter in _DEAD]
        if not dead or self.chosen is None or self.reason is None:
            return None
        bad = frame.where(self.chosen.isin(*dead)).select(*_EVENT, self.reason.alias("reason"))
        return bad.select(*_EVENT, "reason.component", "reason.cause")


@dataclass(frozen=True)
class Batch:
    """The events of a batch, its journal entry, and who judges them."""

    events: Events
    planned: Planned
    classifier: Classifier

    @property
    def spark(self) -> SparkSession:
        """The session of the events."""
        return self.events.spark

    def attempt(self, sink: str = "", refused: Column | None = None, held: Held | None = None) -> Attempt:
        """Try to deliver it to the sink at path `sink`, but for what is `held`; counts belong to one attempt only."""
        classification = self.classifier.classification(self.events, sink, refused, held)
        return Attempt(self, classification, sink, None if held is not None else self.events.plans)


class Attempt:
    """One pass over a batch: `events`, or what `in_columns` gives, must be written by one action; then there are
    `counts`. `sink`: the path of that which is written to; `repeats`: tasks of the write that ran more than once,
    because a cluster lost them; `ms`: how long the write took; `plans`: those of earlier batches, if one may serve."""

    def __init__(self, batch: Batch, classification: Classification, sink: str, plans: KeptPlans | None) -> None:
        self.planned = batch.planned
        self.plans = plans
        self._batch, self._classification, self.sink = batch, classification, sink
        self.repeats = 0
        self.ms = 0
        self._refusals: list[Refusal] = []
        self._counted, self._mark = Observation(), ""
        self._found: tuple[Counts, int] | None = None
        self._already: Counts | None = None

    @cached_property
    def events(self) -> DataFrame:
        """What the sink must take: key, body, headers and origin, and `copy` where a record can be several events."""
        return self._classification.delivered(self._batch.events.frame, self._counted).select(*self._classification.own)

    def in_columns(self, columns: Sequence[Column], counted: str | None = None) -> DataFrame:
        """All events in the sink's own columns, with others that it has to pass over. Where there is a `verdict`, it
        has to take those that are IS_DELIVERED. `counted`: under this name, of which `counted_as` is told."""
        return self._classification.all_in(self.frame, counted or self._counted, columns)

    @property
    def given(self) -> DataFrame:
        """The batch as it was handed over."""
        return self._batch.events.given

    def parts(self, columns: Sequence[Column]) -> tuple[object, ...]:
        """What its write is made of."""
        return self._classification, columns

    def counted_as(self, values: Mapping[str, int], mark: str = "") -> None:
        """What was counted in this pass, or in one with others, where its own counts begin with `mark`."""
        self._found = _of_pass(values, mark)

    def counted_in(self, counted: Observation | str, mark: str) -> Classification:
        """This pass is made together with others, and counted among them under names that begin with `mark`; where no
        observation does it, `counted_as` is told. Returns how its events are judged."""
        if not isinstance(counted, str):
            self._counted, self._mark = counted, mark
        return self._classification

    @property
    def frame(self) -> DataFrame:
        """All events of the batch, whatever becomes of them."""
        return self._batch.events.frame

    @property
    def copies(self) -> bool:
        """Whether a record can be several events."""
        return "copy" in self._classification.own

    def peek(self, most: int) -> DataFrame:
        """A few events of the batch, whatever becomes of them; they are not counted."""
        return self._batch.events.frame.limit(most)

    @property
    def spark(self) -> SparkSession:
        """The session; to ask `events` for it would count them."""
        return self._batch.spark

    def refuse(self, refusals: list[Refusal]) -> None:
        """Events that the sink refused for good: they become dead letters instead of delivered."""
        self._refusals += refusals

    def already(self, counts: Counts) -> None:
        """The sink holds this batch since an earlier attempt, which had these counts; nothing is evaluated. Their bytes
        are also of what is refused."""
        self._already = counts

    @property
    def written(self) -> int:
        """How many events this pass has given to the sink. Raises TimeoutError where Spark does not report it."""
        return self.counts.delivered - (self._found[1] if self._found else 0)

    @property
    def counts(self) -> Counts:
        """Row counts of the pass. Raises TimeoutError where Spark does not report them."""
        if self._already is not None:
            return self._without_refused(self._already)
        if self._found is None:
            self._found = _of_pass(_values(self._counted), self._mark)
        return self._without_refused(self._found[0].refused(self.sink, len(self._refusals)))

    def _without_refused(self, counts: Counts) -> Counts:
        size = counts.delivered_bytes
        return counts.with_bytes(None if size is None else size - sum(len(each.body or b"") for each in self._refusals))

    def dead(self) -> DataFrame | None:
        """The events of this pass that are dead or unrouted, with `component` and `cause`; None where none can be."""
        return self._classification.dead(self._batch.events.frame)

    @property
    def refusals(self) -> list[Refusal]:
        """What the sink refused in this pass."""
        return list(self._refusals)


def _of_pass(values: Mapping[str, int], mark: str) -> tuple[Counts, int]:
    """What is `counted` of the pass with this mark; what was read is the same for all."""
    own = (name for name in values if name.startswith(mark) or ":" not in name)
    return counted({name.removeprefix(mark): values[name] for name in own})


def counted(values: Mapping[str, int]) -> tuple[Counts, int]:
    """The counts of a pass by counter and by component, and how many of the delivered events the sink had before."""
    sums: Counter[str] = Counter()
    parts: dict[str, dict[Cause, int]] = {}
    for name, number in values.items():
        counter, _, component = name.partition("@")
        sums[counter] += number
        if component and number:
            parts.setdefault(component, {})[counter] = number  # type: ignore[index]
    size, held = sums.pop(_BYTES, None), sums.pop(_HELD.counter, 0)
    sums[DELIVERED.counter] += held
    return Counts(**sums).with_parts(parts).with_bytes(size), held


def _numbered(filters: Mapping[int, str], others: Sequence[Verdict]) -> dict[Verdict, int]:
    """Verdicts with their numbers in a pass; those that filter have that of their interceptor."""
    below = dict.fromkeys([DELIVERED, *others])
    filtered = {Verdict("filtered", path): number for number, path in filters.items()}
    return filtered | {each: -number for number, each in enumerate(below, start=-IS_DELIVERED)}


def _chosen(conditions: Sequence[Condition], numbers: Mapping[Verdict, int], *, filtered: bool) -> Column | None:
    """The number of the verdict whose condition is the first that holds. What an interceptor has filtered is so."""
    chosen = f.lit(IS_DELIVERED)
    for condition, each in reversed(conditions):
        chosen = f.when(condition, f.lit(numbers[each])).otherwise(chosen)
    if filtered:
        return f.coalesce("filtered_by", chosen)
    return chosen if conditions else None


def _number_of(condition: Column) -> Column:
    """Spark makes a column of the condition of a `count_if`, and copies each event to take it away again."""
    return f.count(f.when(condition, 1))


def _size(chosen: Column | None, numbers: Mapping[Verdict, int]) -> Column:
    own = f.octet_length("body").cast("bigint")
    if chosen is None:
        return own
    arrived = [number for each, number in numbers.items() if each in (DELIVERED, _HELD)]
    return f.when(chosen.isin(arrived), own).otherwise(f.lit(0).cast("bigint"))


def _values(observation: Observation) -> dict[str, Any]:
    future = observation._jo.future()  # type: ignore[union-attr]
    deadline = time.monotonic() + _COUNTS_TIMEOUT
    while not future.isCompleted():
        if time.monotonic() > deadline:
            raise TimeoutError("Spark did not report the row counts of a finished write")
        time.sleep(0.001)
    return dict(observation.get)
