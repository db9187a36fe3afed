"""What one supervisor process remembers of a run between ticks. Losing it costs some waiting and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from pipelines.domain.ledger import Books
from pipelines.domain.spec import Lifecycle


@dataclass
class RunMemory:
    """`status`: what was recorded last, without what changes all the time. Times are CLOCK_BOOTTIME."""

    spawned: bool = False
    half_dead_since: float | None = None
    healthy_since: float | None = None
    journal_fault: str | None = None
    status: dict[str, Any] = field(default_factory=dict)
    status_at: float = 0.0
    sampled_at: float = 0.0


@dataclass
class Memory:
    """By run token, revision, operation and pipeline; `complaints`: when an error of a pipeline was last reported.

    `busy`: pipelines that something was done to in the last tick, which are looked at once more; None: look at all,
    since the last tick did not reach its end.
    """

    runs: dict[str, RunMemory] = field(default_factory=dict)
    lifecycles: dict[int, Lifecycle] = field(default_factory=dict)
    operations: dict[UUID, float] = field(default_factory=dict)
    books: dict[UUID, Books] = field(default_factory=dict)
    busy: set[UUID] | None = None
    complaints: dict[tuple[UUID, str], float] = field(default_factory=dict)

    def run(self, token: str) -> RunMemory:
        """What is remembered of a run; a new one has a clean sheet."""
        return self.runs.setdefault(token, RunMemory())

    def keep(self, tokens: set[str], operations: set[UUID]) -> None:
        """Forget everything else."""
        self.runs = {token: memory for token, memory in self.runs.items() if token in tokens}
        self.operations = {id_: seen for id_, seen in self.operations.items() if id_ in operations}
