"""What is done about the processes of a run, whatever its role."""

from __future__ import annotations

from pipelines.domain.base.states import RunState
from workers.supervisor.decisions.actions import Action, RecordDumps, RecordProcesses
from workers.supervisor.decisions.snapshot import RunSnapshot


def never_spawned(run: RunSnapshot) -> bool:
    """The intent is recorded, and neither a process nor a trace of one exists."""
    untouched = run.exit is None or run.exit.revoked
    return run.state is RunState.PENDING and run.identity is None and untouched and not run.spawned_here


def record(run: RunSnapshot) -> list[Action]:
    """Write down the processes that identity.json names, once they are seen."""
    identity = run.identity
    if identity is None or identity.token != run.token:
        return []
    driver = identity.driver.pid if identity.driver else None
    if run.state is RunState.PENDING or driver != run.known_driver:
        return [RecordProcesses(identity)]
    return []


def dumped(run: RunSnapshot) -> list[Action]:
    """Write down new dumps of its stacks."""
    return [RecordDumps(run.new_dumps)] if run.new_dumps else []
