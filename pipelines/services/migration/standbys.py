"""The one way from migrations to standby agents, and what the outcome of their preflight is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.base.states import AgentPhase, DesiredState, RunRole, RunState
from pipelines.models import Pipeline, Revision, Run
from pipelines.services.base.audit import Actor
from pipelines.services.runs import standby

ACTOR = Actor("migration")


def prepare(*, pipeline: Pipeline, revision: Revision, host: str) -> Run:
    """Ask for a standby agent of a revision on a host. Raises Conflict where there is one, or where it has no room."""
    return standby.prepare(pipeline=pipeline, revision=revision, host=host, actor=ACTOR)


def promote(*, run: Run, desired: DesiredState) -> None:
    """Make it the run that consumes: role, epoch, lineage, revision and host at once. Raises Conflict where it is not
    ready, where the run before it is not proven over, or, with findings, where it cannot go on from there."""
    standby.promote(run=run, actor=ACTOR, desired=desired)


def discard(*, run: Run, reason: str) -> None:
    """It is not wanted any more; doing so twice is harmless."""
    standby.discard(run=run, actor=ACTOR, reason=reason)


@dataclass(frozen=True)
class Preflight:
    """What came of a standby's start. `ready` and `failed` are both False while it is under way."""

    ready: bool = False
    failed: bool = False
    message: str = ""
    components: list[dict[str, Any]] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)


def outcome(run: Run) -> Preflight:
    """How far a standby has come, by its last report and its end."""
    seen: dict[str, Any] = run.observed or {}
    components, findings = seen.get("components", []), seen.get("findings", [])
    if run.state == RunState.ENDED:
        words = findings[0]["message"] if findings else run.exit_reason or "The new agent has ended."
        return Preflight(failed=True, message=words, components=components, findings=findings)
    if run.role == RunRole.STANDBY and seen.get("phase") == AgentPhase.STANDBY:
        warned = sum(len(each.get("warnings", [])) for each in components)
        words = "Every component is ready."
        if warned:
            words = f"Every component is ready, with {warned} warning{'s' if warned > 1 else ''}."
        return Preflight(ready=True, message=words, components=components)
    waiting = [each["name"] for each in components if each.get("state") == "initialising"]
    words = f"Initializing {', '.join(waiting)}." if waiting else "The new agent is starting."
    return Preflight(message=words, components=components)
