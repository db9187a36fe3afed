"""A sink group on a bench: a processor, members that fail when told to, and a clock that only tests move."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.definitions.checks.validate import Validation, validate_data
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.ledger.sink_groups import Penalty, Switch
from tests.unit.definitions import ORDERS
from workers.agent.sink_processors import AllFailed, Processor, processor

WALL = 1_700_000_000.0


def validated(members: list[str], spec: dict[str, Any]) -> Validation:
    """What is said of a definition with this group on one channel."""
    sink = {"type": "logger", "channel": "lake"}
    sinks = {"audit": ORDERS["sinks"]["audit"], **dict.fromkeys(members, sink)}
    return validate_data({**ORDERS, "sinks": sinks, "sink_groups": {"g": {"sinks": members, "processor": spec}}})


def definition(members: list[str], spec: dict[str, Any]) -> Definition:
    """A valid definition with this group."""
    found = validated(members, spec)
    assert found.definition is not None, found.findings
    return found.definition


@dataclass
class Bench:
    """`failing`: members that refuse every batch. `quotas`: how many more batches a member takes."""

    members: list[str]
    spec: dict[str, Any]
    now: float = 1000.0
    failing: set[str] = field(default_factory=set)
    quotas: dict[str, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    tried: list[str] = field(default_factory=list)
    switches: list[Switch] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.processor = self.made([])

    def made(self, penalties: list[Penalty]) -> Processor:
        """A processor as a new run makes it."""
        _, spec, members = definition(self.members, self.spec).processor_of("lake")
        made = processor(spec, members, lambda: self.now, lambda: WALL + self.now)
        made.restore(penalties)
        return made

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    def batch(self) -> str:
        """One batch; the member that took it. Raises AllFailed."""
        self.tried, self.switches = [], []
        for sink in self.processor.candidates():
            self.tried.append(sink)
            if self.works(sink):
                self.switches += self.processor.delivered(sink)
                self.counts[sink] += 1
                return sink
            self.switches += self.processor.failed(sink, f"{sink} is away")
        raise AllFailed.of("g", self.processor.pools())

    def works(self, sink: str) -> bool:
        """Whether it takes a batch now; that uses its quota."""
        if sink in self.failing or self.quotas.get(sink, 1) == 0:
            return False
        if sink in self.quotas:
            self.quotas[sink] -= 1
        return True

    def batches(self, number: int) -> list[str]:
        """Several batches; the members that took them."""
        return [self.batch() for _ in range(number)]
