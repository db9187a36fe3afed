"""Waiting for a migration, and how a command ends by its result."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.migration.output import Progress

FINAL = {"COMMITTED", "ROLLED_BACK", "ABORTED"}
POLL_S = 0.5
_NOT_STARTED = {
    "DRAFT": "The plan is blocked.",
    "PLANNED": "The plan is not approved.",
    "APPROVED": "The plan is approved, but the migration is not started.",
}
_STAGE_AFTER = {"plan_stale": "DRAFT", "migration_blocked": "DRAFT", "not_approved": "PLANNED"}
"""The stage from which you continue after a refusal with this code."""


def is_started(found: dict[str, Any]) -> bool:
    """Whether it is in progress, or has ended."""
    return found["stage"] not in _NOT_STARTED


def follow(
    client: Any, found: dict[str, Any], *, timeout: float, quiet: bool, start: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Poll until it has ended, waits at a gate, or needs attention. CommandError after `timeout` seconds. `start`: the
    plan that is started as soon as other users have approved it."""
    deadline, progress = time.monotonic() + timeout, Progress(quiet=quiet)
    while True:
        try:
            found = client.get(f"migrations/{found['id']}")
            if start is not None and found["stage"] == "APPROVED":
                found, start = request(client, found, "advance", start), None
            progress.show(f"{found['stage']}: {found['message']}")
        except CommandError as error:
            if not error.is_temporary:
                raise
            progress.show(error.title)
        if found["stage"] in FINAL | {"NEEDS_ATTENTION"} or found["waits_for"]:
            return found
        if time.monotonic() > deadline:
            raise _timed_out(found, timeout)
        time.sleep(POLL_S)


def request(client: Any, found: dict[str, Any], action: str, body: dict[str, Any]) -> dict[str, Any]:
    """Approve or start a migration. CommandError with the next commands where that is refused and it stays open."""
    address = f"migrations/{found['id']}"
    try:
        _, made = client.post(f"{address}/{action}", body)
    except CommandError as refused:
        if refused.exit_code is not ExitCode.REFUSED:
            raise
        made = client.get(address)
        if not is_started(made):
            hint = _next_commands(made["id"], _STAGE_AFTER.get(refused.code, "APPROVED"), _number(refused.code, made))
            raise replace(refused, detail=f"{refused.detail} {_stays_open(made)}", hint=hint) from None
    current: dict[str, Any] = made
    return current


def _number(code: str, made: dict[str, Any]) -> str:
    """What the next start has to acknowledge, where it was refused for that."""
    return f" --acknowledge {made['plan']['to_acknowledge']}" if code == "not_acknowledged" else ""


def _timed_out(found: dict[str, Any], timeout: float) -> CommandError:
    late = CommandError(
        title=f"The migration has not ended after {timeout:g} s",
        detail=f"It continues. Follow it: headgate migrations watch {found['id']}",
        code="timed_out",
        exit_code=ExitCode.TIMED_OUT,
    )
    if is_started(found):
        return late
    return replace(
        late,
        title=f"The migration has not started within {timeout:g} s",
        detail=f"{_NOT_STARTED[found['stage']]} {_stays_open(found)}",
        hint=_next_commands(found["id"], found["stage"]),
    )


def _stays_open(found: dict[str, Any]) -> str:
    return f"It does not start automatically. While it is open, {found['pipeline']} accepts no other migration."


def _next_commands(migration_id: str, stage: str, number: str = "") -> str:
    commands = {
        "DRAFT": f"Plan it again: headgate migrations replan {migration_id}.",
        "PLANNED": f"Have it approved: headgate migrations approve {migration_id}. "
        f"Then start it: headgate migrations advance {migration_id}.",
        "APPROVED": f"Start it: headgate migrations advance {migration_id}{number}.",
    }
    return f"{commands[stage]} Or cancel it: headgate migrations cancel {migration_id}."


def require_committed(found: dict[str, Any]) -> None:
    """CommandError unless it is committed."""
    if found["stage"] == "COMMITTED":
        return
    waits = found.get("waits_for")
    raise CommandError(
        title=f"The migration of {found['pipeline']} is {found['stage']}",
        detail=_at_gate(waits) if waits else found["message"],
        hint=_hint(found),
        code="migration_waits" if waits else f"migration_{found['stage'].lower()}",
        exit_code=ExitCode.TIMED_OUT if waits else ExitCode.FAILED,
        findings=found.get("findings") or [],
    )


def _at_gate(gate: str) -> str:
    from pipelines.domain.migration.steps import GATE_SECONDS

    if gate == "COMMITTED":
        return f"Action required: it waits at the gate before {gate}. The pipeline runs meanwhile."
    limit = f"Without your decision within {GATE_SECONDS / 60:g} minutes it is rolled back."
    return f"Action required: it waits at the gate before {gate}. {limit}"


def _hint(found: dict[str, Any]) -> str:
    if found.get("waits_for"):
        advance = f"Continue: headgate migrations advance {found['id']}."
        return f"{advance} Or roll it back: headgate migrations rollback {found['id']}."
    verb = "show" if found["stage"] == "NEEDS_ATTENTION" else "report"
    return f"Details: headgate migrations {verb} {found['id']}"


def require_unblocked(made: dict[str, Any], *, cancelled: bool = False) -> None:
    """CommandError with all blockers of its plan. `cancelled`: it was, so that it does not block other migrations."""
    if made["stage"] != "DRAFT":
        return
    again = f"headgate migrations replan {made['id']}"
    hint = f"After you resolve them: {again}. Or cancel it: headgate migrations cancel {made['id']}."
    raise CommandError(
        title="The migration is blocked",
        detail="Nothing has been changed.",
        hint="It is cancelled. Run the command again after you resolve the blockers." if cancelled else hint,
        code="migration_blocked",
        exit_code=ExitCode.REFUSED,
        findings=(made["plan"] or {}).get("blockers", []),
    )
