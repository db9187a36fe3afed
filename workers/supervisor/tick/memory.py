"""What one supervisor process remembers of a run between ticks. Losing it costs some waiting and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from pipelines.domain.definitions.document.spec import Lifecycle
from pipelines.domain.definitions.parts.leases import Fence
from pipelines.domain.ledger.ledger import LedgerTotals
from pipelines.domain.runs.protocol import Control, ProcessIdentity, Status
from pipelines.models import Run
from workers.supervisor.decisions.actions import Action, EndRun, TakeOver
from workers.supervisor.decisions.snapshot import PipelineSnapshot


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


class StandbyTries(NamedTuple):
    """Warm standbys of a pipeline that were asked for since one was ready. `due`: CLOCK_BOOTTIME of the next;
    `refused`: why there was none."""

    number: int = 0
    due: float = 0.0
    refused: str = ""


@dataclass
class Memory:
    """By run token, revision, operation and pipeline; `complaints`: when an error of a pipeline was last reported;
    `troubles`: the error that the last tick met at a pipeline, in words.

    `standbys`: those of this host, by pipeline; `tries`: to have warm ones. `ends`: processes whose end the next
    tick begins with; `restart_due`: a run has ended, and another follows at once. `busy`: pipelines that something was
    done to in the last tick, which are looked at once more; None: look at all, since the last tick did not reach its
    end.
    """

    runs: dict[str, RunMemory] = field(default_factory=dict)
    lifecycles: dict[int, Lifecycle] = field(default_factory=dict)
    fences: dict[int, Fence | None] = field(default_factory=dict)
    operations: dict[UUID, float] = field(default_factory=dict)
    totals: dict[UUID, LedgerTotals] = field(default_factory=dict)
    standbys: dict[UUID, Run] = field(default_factory=dict)
    tries: dict[UUID, StandbyTries] = field(default_factory=dict)
    ends: set[ProcessIdentity] = field(default_factory=set)
    restart_due: bool = False
    busy: set[UUID] | None = None
    complaints: dict[tuple[UUID, str], float] = field(default_factory=dict)
    troubles: dict[UUID, str] = field(default_factory=dict)

    def run(self, run: Run) -> RunMemory:
        """What is remembered of a run; a new one has a clean sheet."""
        memory = self.runs.get(run.token)
        if memory is None:
            memory = self.runs[run.token] = RunMemory(Path(run.run_dir))
        return memory

    def note(self, snapshot: PipelineSnapshot, chosen: Sequence[Action]) -> None:
        """What the next tick should not come late for: a keeper's end, which follows that of all else, or where it has
        gone first, those of the rest."""
        self.restart_due |= any(isinstance(each, TakeOver) or _is_followed(each) for each in chosen)
        if (run := snapshot.run) is None or run.identity is None:
            return
        self.ends |= {run.identity.keeper} if run.identity.keeper in run.holders else set(run.holders)

    def forget(self) -> None:
        """Begin anew: somebody else has looked after the host meanwhile."""
        fresh = Memory()
        for each in fields(self):
            setattr(self, each.name, getattr(fresh, each.name))

    def keep(self, tokens: set[str], operations: set[UUID]) -> None:
        """Forget everything else."""
        self.runs = {token: memory for token, memory in self.runs.items() if token in tokens}
        self.operations = {id_: seen for id_, seen in self.operations.items() if id_ in operations}


def _is_followed(action: Action) -> bool:
    return isinstance(action, EndRun) and action.restart is not None
