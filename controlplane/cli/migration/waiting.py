"""Waiting for a migration, and how a command ends by what has become of it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.migration.output import Progress

FINAL = {"COMMITTED", "ROLLED_BACK", "ABORTED"}
LOOK_S = 0.5
_NOT_BEGUN = {
    "DRAFT": "It is blocked.",
    "PLANNED": "It is not approved yet.",
    "APPROVED": "It is approved, and was not begun.",
}
_STAGE_AFTER = {"plan_stale": "DRAFT", "migration_blocked": "DRAFT", "not_approved": "PLANNED"}
"""Where somebody has to begin again who was refused with this code."""


def is_begun(found: dict[str, Any]) -> bool:
    """Whether it goes on by itself, or has ended."""
    return found["stage"] not in _NOT_BEGUN


def follow(
    client: Any, found: dict[str, Any], *, timeout: float, quiet: bool, begin: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Look until it has ended, waits for a person, or needs attention. CommandError after `timeout` seconds. `begin`:
    the plan that is begun as soon as others have approved it."""
    deadline, progress = time.monotonic() + timeout, Progress(quiet=quiet)
    while True:
        try:
            found = client.get(f"migrations/{found['id']}")
            if begin is not None and found["stage"] == "APPROVED":
                found, begin = ask_for(client, found, "advance", begin), None
            progress.tell(f"{found['stage']}: {found['message']}")
        except CommandError as error:
            if not error.may_pass:
                raise
            progress.tell(error.title)
        if found["stage"] in FINAL | {"NEEDS_ATTENTION"} or found["waits_for"]:
            return found
        if time.monotonic() > deadline:
            raise _late(found, timeout)
        time.sleep(LOOK_S)


def ask_for(client: Any, found: dict[str, Any], action: str, body: dict[str, Any]) -> dict[str, Any]:
    """Approve or begin one. CommandError with what can be done where that is refused and the migration stays open."""
    address = f"migrations/{found['id']}"
    try:
        _, made = client.post(f"{address}/{action}", body)
    except CommandError as refused:
        if refused.exit_code is not ExitCode.REFUSED:
            raise
        made = client.get(address)
        if not is_begun(made):
            hint = _choices(made["id"], _STAGE_AFTER.get(refused.code, "APPROVED"))
            raise replace(refused, detail=f"{refused.detail} {_stays_open(made)}", hint=hint) from None
    begun: dict[str, Any] = made
    return begun


def _late(found: dict[str, Any], timeout: float) -> CommandError:
    begun = is_begun(found)
    late = CommandError(
        title=f"The migration has not ended after {timeout:g} s",
        detail=f"It goes on without you: headgate migrate watch {found['id']}",
        code="timed_out",
        exit_code=ExitCode.TIMED_OUT,
    )
    if begun:
        return late
    return replace(
        late,
        title=f"The migration was not begun within {timeout:g} s",
        detail=f"{_NOT_BEGUN[found['stage']]} {_stays_open(found)}",
        hint=_choices(found["id"], found["stage"]),
    )


def _stays_open(found: dict[str, Any]) -> str:
    return f"It does not begin by itself. While it is open, {found['pipeline']} takes no other migration."


def _choices(migration_id: str, stage: str) -> str:
    ways_on = {
        "DRAFT": f"Plan it again: headgate migrate replan {migration_id}.",
        "PLANNED": f"Have it approved: headgate migrate approve {migration_id}. "
        f"Then begin it: headgate migrate advance {migration_id}.",
        "APPROVED": f"Begin it: headgate migrate advance {migration_id}.",
    }
    return f"{ways_on[stage]} Or give it up: headgate migrate abort {migration_id}."


def require_committed(found: dict[str, Any]) -> None:
    """CommandError unless it was committed."""
    if found["stage"] == "COMMITTED":
        return
    waits = found.get("waits_for")
    raise CommandError(
        title=f"The migration of {found['pipeline']} is {found['stage']}",
        detail=_at_gate(waits) if waits else found["message"],
        hint=_what_next(found),
        code="migration_waits" if waits else f"migration_{found['stage'].lower()}",
        exit_code=ExitCode.TIMED_OUT if waits else ExitCode.FAILED,
        findings=found.get("findings") or [],
    )


def _at_gate(gate: str) -> str:
    from pipelines.domain.migration.steps import GATE_SECONDS

    if gate == "COMMITTED":
        return f"It waits for a person before {gate}; the pipeline works meanwhile."
    late = f"Where nobody lets it go on within {GATE_SECONDS / 60:g} minutes, it is taken back."
    return f"It waits for a person before {gate}. {late}"


def _what_next(found: dict[str, Any]) -> str:
    if found.get("waits_for"):
        on = f"Let it go on: headgate migrate advance {found['id']}."
        return f"{on} Or take it back: headgate migrate rollback {found['id']}."
    shows = "watch" if found["stage"] == "NEEDS_ATTENTION" else "report"
    return f"headgate migrate {shows} {found['id']}"


def require_unblocked(made: dict[str, Any], *, given_up: bool = False) -> None:
    """CommandError with everything that blocks its plan. `given_up`: it was, so that it stands in nobody's way."""
    if made["stage"] != "DRAFT":
        return
    again = f"headgate migrate replan {made['id']}"
    hint = f"When the findings are gone: {again}. Or give it up: headgate migrate abort {made['id']}."
    raise CommandError(
        title="The migration is blocked",
        detail="Nothing was touched.",
        hint="It was given up; run it again when the findings are gone." if given_up else hint,
        code="migration_blocked",
        exit_code=ExitCode.REFUSED,
        findings=(made["plan"] or {}).get("blockers", []),
    )
