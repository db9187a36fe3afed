"""Writes that are planned once and serve one small batch after the other: to plan a write takes longer than a small
batch itself, and these differ in their rows alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COUNTED = "kept"
_MOST = 16
"""Plans that a query keeps: sinks are written to one by one and all together, seldom in other combinations."""


def _as_given(frame: DataFrame) -> DataFrame:
    return frame


class Events:
    """The events of a batch. `frame` is made of what is `given` when somebody asks for it. `plans`: those of earlier
    batches, where this one may be written by one of them."""

    def __init__(
        self,
        given: DataFrame,
        made: Callable[[DataFrame], DataFrame] = _as_given,
        plans: KeptPlans | None = None,
    ) -> None:
        self.given = given
        self.plans = plans
        self._made = made

    @cached_property
    def frame(self) -> DataFrame:
        """The events themselves."""
        return self._made(self.given)

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return self.frame.columns

    @property
    def spark(self) -> SparkSession:
        """The session; nothing is made."""
        return self.given.sparkSession


@dataclass(frozen=True)
class Write:
    """What a plan is made of: the paths of the sinks, who judges the events of each and its columns, and the options
    of their writer."""

    sinks: tuple[str, ...]
    parts: tuple[object, ...]
    options: Mapping[str, str]

    def is_like(self, other: Write) -> bool:
        """Whether both are made of the same expressions, which are objects of the JVM: nobody compares their text."""
        same = [one is another for one, another in zip(self.parts, other.parts, strict=True)]
        return all(same) and self.options == other.options


class KeptPlans:
    """Of the writes to Kafka of one query, by their sinks."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], tuple[Write, Any]] = {}

    def write(self, write: Write, given: DataFrame, records: Callable[[str], DataFrame]) -> Mapping[str, int] | None:
        """Write a batch by the plan of an earlier one; where there is none, by one that is made of its `records`, which
        are counted under a name. Returns the counts, None where the plan of one batch cannot serve another: nothing is
        written."""
        known = self._known.get(write.sinks)
        if known is None or not known[0].is_like(write):
            if len(self._known) >= _MOST:
                self._known.clear()
            known = self._known[write.sinks] = write, _plan(records(_COUNTED), write.options)
        plan = known[1]
        return None if plan is None else json.loads(plan.write(given._jdf))


def _plan(records: DataFrame, options: Mapping[str, str]) -> Any:
    jvm: Any = records.sparkSession._jvm
    made = jvm.org.apache.spark.sql.kafka010.KeptWrite(records._jdf, dict(options))
    return made if made.serves() else None
