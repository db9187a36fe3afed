"""What the cards of the guided demo act on: the demo's pipeline, its topics, its producer and its broker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.devstack import topics
from controlplane.devstack.client import Api, Json
from controlplane.devstack.demo import PARTITIONS, Demo
from controlplane.devstack.guide import counting
from controlplane.install.services.interrupt import Interrupt
from pipelines.domain.base.positions import TopicPartition
from workers.agent.kafka.admin import KafkaCluster

Facts = dict[str, Any]
Keep = Callable[..., None]
"""Stores facts of a fault that observing or undoing it needs."""


class Impossible(Exception):
    """The card cannot be used here; the text says why."""


@dataclass(frozen=True)
class Notice:
    """How Headgate showed that it had noticed, what it said, and the page that shows it."""

    noticed: str
    explained: str
    link: str


@dataclass(frozen=True)
class Site:
    """`broker`: the record of the broker's process; None where the broker is the user's own. `feed`: has the producer
    run, with numbers from one on; `starve`: stops it."""

    api: Api
    demo: Demo
    broker: Path | None
    feed: Callable[[int], None]
    starve: Callable[[], None]
    interrupt: Interrupt

    @property
    def address(self) -> str:
        """The pipeline's, in the API and on the page."""
        return f"/pipelines/{self.demo.name}"

    def pipeline(self) -> Json:
        """Desired state, phase and headline."""
        return self.api.get(self.address)

    def runs(self) -> list[Json]:
        """Newest first."""
        found: list[Json] = self.api.get(f"{self.address}/runs")["results"]
        return sorted(found, key=lambda run: -int(run["number"]))

    def ledger(self) -> Json:
        """The ledger's totals."""
        return self.api.get(f"{self.address}/ledger/summary")

    def status(self) -> Json:
        """Everything that is known of the pipeline."""
        return self.api.get(f"{self.address}/status")

    def positions(self) -> dict[int, int]:
        """The next offset of each partition of the source, as the agent has it."""
        places = [place for query in self.status()["queries"] for place in query["positions"]]
        return {int(place["partition"]): int(place["next_offset"]) for place in places}

    def committed(self) -> dict[int, int]:
        """The committed offsets of the pipeline's group."""
        keys = [TopicPartition(self.demo.source, partition) for partition in range(PARTITIONS)]
        found = KafkaCluster.of(self.demo.servers, {}, None).commits(self.demo.group, keys)
        return {key.partition: commit.offset for key, commit in found.items()}

    def read(self) -> int:
        """Records read so far."""
        return int(self.ledger()["read"])

    def marks(self) -> Facts:
        """Where counting starts."""
        return counting.marks(self.demo)

    def produced(self) -> dict[int, int]:
        """The end of each partition of the source."""
        return topics.end_offsets(self.demo.servers, self.demo.source)

    def counted(self, facts: Facts) -> Json:
        """What became of the records from the marks to `until`."""
        return counting.count(self.demo, facts, self.ledger())
