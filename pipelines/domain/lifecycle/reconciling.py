"""A database that is older than what a host remembers, for example after a backup was restored.

Run numbers and generations only grow. A run directory with a higher number than the database knows, or a command that
was given for a later generation, proves that the database has forgotten something; acting on it could read records
again that were delivered, or undo what a person asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pipelines.domain.base.findings import Finding

DATABASE_BEHIND = "DATABASE_BEHIND"
REASON = "database_behind"


class SourceOfTruth(StrEnum):
    """HOST: its runs and their journals are taken in. DATABASE: they are set aside; its own positions count."""

    HOST = "host"
    DATABASE = "database"


@dataclass(frozen=True)
class Ahead:
    """What a host knows that the database does not. `living`: those of the runs whose agent lives."""

    runs: tuple[int, ...] = ()
    generation: int | None = None
    living: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.runs) or self.generation is not None

    def finding(self, host: str, generation: int) -> Finding:
        """The question to a person."""
        facts = []
        if self.runs:
            alive = f", and the agent of run {self.living[-1]} lives" if self.living else ""
            facts.append(f"{host} has {_runs(self.runs)} that the database does not have{alive}")
        if self.generation is not None:
            facts.append(f"{host} has the request {self.generation}; the database has {generation}")
        return Finding(
            path="",
            code=DATABASE_BEHIND,
            message=f"{'; '.join(facts)}. The database is older than the host: was a backup restored?",
            suggestion="Choose the source of truth (headgate hosts reconcile NAME --source-of-truth host|database): "
            "the host, whose journals are then ingested, or the database, which resumes from its own positions and may "
            "deliver records again.",
        )


def _runs(numbers: tuple[int, ...]) -> str:
    return f"run {numbers[0]}" if len(numbers) == 1 else f"runs {numbers[0]} to {numbers[-1]}"
