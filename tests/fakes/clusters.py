"""Kafka in memory, for replays: what was sent, and what it should answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.reprocessing.dead_letters import HttpTarget, TopicLocation
from workers.ports import Away, Gone, Outgoing


@dataclass
class FakeClusters:
    """`workers.ports.Clusters`. `limit`: bytes that a topic takes; `away`: so many calls fail, after `before` records
    of them arrived."""

    sent: list[Outgoing] = field(default_factory=list)
    connections: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    stored: dict[TopicLocation, bytes] = field(default_factory=dict)
    limit: int = 1_000_000
    away: int = 0
    before: int = 0
    acknowledges: bool = True
    closed: int = 0
    error: Exception | None = None

    def outlet(self, servers: str, options: Mapping[str, Any], pipeline: str, reach: ReachPolicy) -> FakeClusters:
        self.connections.append((servers, dict(options)))
        return self

    def send(self, records: Sequence[Outgoing]) -> list[str | None]:
        if self.error is not None:
            raise self.error
        if self.away:
            self.away -= 1
            self.sent += records[: self.before]
            raise Away("broker away", range(self.before) if self.acknowledges else ())
        answers = [None if len(record.body) <= self.limit else "too large" for record in records]
        self.sent += [record for record, answer in zip(records, answers, strict=True) if answer is None]
        return answers

    def close(self) -> None:
        self.closed += 1

    def record(self, servers: str, options: Mapping[str, Any], place: TopicLocation, reach: ReachPolicy) -> bytes:
        if place not in self.stored:
            raise Gone(f"{place.topic} is empty.")
        return self.stored[place]


@dataclass
class FakePushSources:
    """`workers.ports.PushSources`: what is posted goes where records go."""

    answers: FakeClusters
    asked: list[HttpTarget] = field(default_factory=list)

    def outlet(self, to: HttpTarget) -> FakeClusters:
        self.asked.append(to)
        return self.answers
