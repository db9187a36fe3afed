"""What one supervisor process remembers of a run between ticks. Losing it costs some waiting and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from uuid import UUID

from pipelines.domain.definitions.document.spec import Lifecycle
from pipelines.domain.definitions.parts.leases import Fence
from pipelines.domain.ledger.ledger import LedgerTotals
from pipelines.domain.runs.protocol import Control, Status
from pipelines.models import Run


@dataclass
class RunMemory:
    """`control`: the order given last. `reported`: the status that this tick has read; `recorded`: the one stored last,
    `lasting`: what of it does not change all the time. `drained`: this tick has read all that the journal holds. Times
    are CLOCK_BOOTTIME. `full_at`: when its disk was last seen full.
    """

    directory: Path
    spawned: bool = False
    control: Control | None = None
    half_dead_since: float | None = None
    healthy_since: float | None = None
    halted_since: float | None = None
    journal_fault: str | None = None
    drained: bool = False
    reported: Status | None = None
    recorded: Status | None = None
    lasting: str = ""
    status_at: float = 0.0
    full_at: float | None = None
    sampled_at: float = 0.0


@dataclass
class Memory:
    """By run token, revision, operation and pipeline; `complaints`: when an error of a pipeline was last reported;
    `troubles`: the error that the last tick met at a pipeline, in words.

    `busy`: pipelines that something was done to in the last tick, which are looked at once more; None: look at all,
    since the last tick did not reach its end.
    """

    runs: dict[str, RunMemory] = field(default_factory=dict)
    lifecycles: dict[int, Lifecycle] = field(default_factory=dict)
    fences: dict[int, Fence | None] = field(default_factory=dict)
    operations: dict[UUID, float] = field(default_factory=dict)
    totals: dict[UUID, LedgerTotals] = field(default_factory=dict)
    busy: set[UUID] | None = None
    complaints: dict[tuple[UUID, str], float] = field(default_factory=dict)
    troubles: dict[UUID, str] = field(default_factory=dict)

    def run(self, run: Run) -> RunMemory:
        """What is remembered of a run; a new one has a clean sheet."""
        memory = self.runs.get(run.token)
        if memory is None:
            memory = self.runs[run.token] = RunMemory(Path(run.run_dir))
        return memory

    def forget(self) -> None:
        """Begin anew: somebody else has looked after the host meanwhile."""
        fresh = Memory()
        for each in fields(self):
            setattr(self, each.name, getattr(fresh, each.name))

    def keep(self, tokens: set[str], operations: set[UUID]) -> None:
        """Forget everything else."""
        self.runs = {token: memory for token, memory in self.runs.items() if token in tokens}
        self.operations = {id_: seen for id_, seen in self.operations.items() if id_ in operations}
