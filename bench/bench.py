"""What every case gets: the broker, the options, and the ways to say, to skip and to fail."""

from __future__ import annotations

import itertools
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from bench.figures import Result, result
from bench.machine import cool_down
from bench.records import Delivered
from bench.systems.base import Failed, System, Work
from bench.topics import Topics

S = TypeVar("S", bound=System)
Values = dict[tuple[str, str], list[float]]
"""Of single runs, by (system, metric)."""


@dataclass
class Options:
    """`records`: instead of each case's own sizes; `seconds`: of a latency or idle measurement;
    `rest`: the longest wait for a machine at rest before each run.
    """

    records: int | None = None
    runs: int = 3
    seconds: float = 120.0
    rest: float = 120.0

    def sizes(self, *usual: int) -> list[int]:
        """How many records to move."""
        return [self.records] if self.records else list(usual)


@dataclass
class Bench:
    """One invocation of the benchmark, on one broker. `records`: how many each case moved; `skipped`: what was not
    measured, by case.
    """

    topics: Topics
    options: Options
    directory: Path
    skipped: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    records: dict[str, int] = field(default_factory=dict)
    _number: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def say(self, line: str) -> None:
        """A line for the person who waits."""
        print(line, flush=True)

    def skip(self, case: str, why: str) -> None:
        """Leave something out, and say so here and in the report."""
        self.say(f"  skipped: {why}")
        self.skipped[case].append(why)

    def able(self, case: str, systems: Sequence[S]) -> list[S]:
        """Those of the systems that can do the work; the others are skipped with the reason."""
        able = []
        for system in systems:
            if refusal := system.refusal(Work(self.topics.servers, "probe", "probe", self.directory)):
                self.skip(case, f"{system.name}: {refusal}")
            else:
                able.append(system)
        return able

    @contextmanager
    def source(self, count: int, *, with_shop: bool = False) -> Iterator[str]:
        """A topic with so many records, for as long as the block lasts."""
        name = f"source{next(self._number)}"
        self.topics.create(name)
        try:
            if count:
                self.say(f"  filling a topic with {count:,} records")
                self.topics.fill(name, count, with_shop=with_shop)
            yield name
        finally:
            self.topics.delete(name)

    @contextmanager
    def work(self, source: str, *, hurry: bool = False, more: Sequence[str] = ()) -> Iterator[Work]:
        """A sink topic and a directory for one run on a machine that has come to rest; both are gone afterwards."""
        run = f"run{next(self._number)}"
        work = Work(self.topics.servers, source, run, self.directory / run, hurry=hurry)
        sinks = [work.sink, *(work.more(name) for name in more)]
        if (busy := cool_down(self.options.rest)) > 50:
            self.say(f"  the machine is {busy:.0f} % busy with something else")
        self.topics.create(*sinks)
        try:
            yield work
        finally:
            self.topics.delete(*sinks)
            shutil.rmtree(work.directory, ignore_errors=True)


def check(system: str, delivered: Delivered) -> None:
    """Raise Failed where a sink does not hold every record exactly once."""
    if not delivered.exact:
        raise Failed(
            f"{system} delivered {delivered.total:,} of {delivered.count:,} records: {delivered.missing:,} missing, "
            f"{delivered.duplicates:,} twice, {delivered.strangers:,} unknown"
        )


def results(case: str, values: Values) -> list[Result]:
    """Medians of everything that was measured; keys are (system, metric)."""
    return [result(case, system, metric, list(runs)) for (system, metric), runs in values.items()]
