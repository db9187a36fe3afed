"""Commands about what governs migrations: freezes, in which none begins, and who has to approve."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.base.session import AsJson, Limit, begin
from controlplane.cli.monitoring.alerts import Label, Pipeline

freezes = typer.Typer(
    no_args_is_help=True, help="Times in which no migration begins: list, add, remove. What is under way goes on."
)
policies = typer.Typer(
    no_args_is_help=True,
    help="How many people other than its author have to approve a migration: list, add, remove.",
)

FreezeId = Annotated[
    int, typer.Argument(help="The freeze's number; `headgate freezes list` has it.", metavar="ID", min=1)
]
PolicyId = Annotated[
    int, typer.Argument(help="The policy's number; `headgate approval-policies list` has it.", metavar="ID", min=1)
]


@freezes.command("list")
def list_freezes(ctx: typer.Context, limit: Limit = 1000, as_json: AsJson = False) -> None:
    """List freezes, newest first."""
    from controlplane.cli.base import output

    found = begin(ctx, as_json=as_json).pages("freezes", limit=limit)
    if as_json:
        output.write_json(found)
        return
    columns = ("id", "of", "state", "from", "to", "by", "reason")
    output.table(columns, map(_freeze_row, found), empty="No freezes. `headgate freezes add` adds one.")


def _freeze_row(freeze: dict[str, Any]) -> tuple[object, ...]:
    times = freeze["starts_at"], freeze["ends_at"]
    return str(freeze["id"]), _scope(freeze), _state(*times), *times, freeze["created_by"], freeze["reason"]


def _state(starts_at: str, ends_at: str) -> str:
    from datetime import UTC, datetime

    now = datetime.now(UTC)
    if now < datetime.fromisoformat(starts_at):
        return "to come"
    return "now" if now < datetime.fromisoformat(ends_at) else "over"


@freezes.command("add")
def add_freeze(
    ctx: typer.Context,
    ends_at: Annotated[
        str, typer.Option("--ends-at", help="Until when (RFC 3339; this machine's zone where none is said).")
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why; whoever is kept from beginning reads it.")],
    starts_at: Annotated[str | None, typer.Option("--starts-at", help="From when; now, unless given.")] = None,
    label: Label = "",
    pipeline: Pipeline = "",
    as_json: AsJson = False,
) -> None:
    """Let no migration begin for a time: of a label, of a pipeline, or, with neither, of everything."""
    from controlplane.cli.base import output

    times = {"starts_at": _moment(starts_at), "ends_at": _moment(ends_at)}
    body = {**times, "reason": reason, "label": label, "pipeline": pipeline}
    _, made = begin(ctx, as_json=as_json).post("freezes", body)
    if as_json:
        output.write_json(made)
        return
    when = f"from {made['starts_at']} to {made['ends_at']}"
    output.say(f"Freeze {made['id']}: no migration of {_scope(made)} begins {when}.")


def _moment(text: str | None) -> str:
    from datetime import UTC, datetime

    from controlplane.cli.base.inputs import moment

    return datetime.now(UTC).isoformat() if text is None else moment(text)


@freezes.command("remove")
def remove_freeze(ctx: typer.Context, freeze: FreezeId, as_json: AsJson = False) -> None:
    """Remove a freeze; migrations of it may begin."""
    _remove(ctx, "freezes", freeze, "Freeze", as_json=as_json)


@policies.command("list")
def list_policies(ctx: typer.Context, limit: Limit = 1000, as_json: AsJson = False) -> None:
    """List approval policies; of those that concern a pipeline the strictest counts."""
    from controlplane.cli.base import output

    found = begin(ctx, as_json=as_json).pages("approval-policies", limit=limit)
    if as_json:
        output.write_json(found)
        return
    columns = ("id", "of", "approvers", "seconds an approval counts", "set by", "set")
    empty = "No approval policies: the author's own approval is enough. `headgate approval-policies add` adds one."
    output.table(columns, map(_policy_row, found), empty=empty)


def _policy_row(policy: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    figures = policy["approvers"], policy["expiry_seconds"]
    return str(policy["id"]), _scope(policy), *figures, policy["updated_by"], ago(policy["updated_at"])


@policies.command("add")
def add_policy(
    ctx: typer.Context,
    approvers: Annotated[
        int, typer.Option("--approvers", min=1, max=20, help="How many people other than the author have to approve.")
    ],
    expiry_seconds: Annotated[
        int, typer.Option("--expiry-seconds", min=60, max=31_536_000, help="For how long an approval counts.")
    ] = 86_400,
    label: Label = "",
    pipeline: Pipeline = "",
    as_json: AsJson = False,
) -> None:
    """Set how many have to approve: of a label, of a pipeline, or, with neither, of everything; in place of what was
    set there before."""
    from controlplane.cli.base import output

    body = {"approvers": approvers, "expiry_seconds": expiry_seconds, "label": label, "pipeline": pipeline}
    _, made = begin(ctx, as_json=as_json).post("approval-policies", body)
    if as_json:
        output.write_json(made)
        return
    who = output.counted(made["approvers"], "person other than the author has", "people other than the author have")
    counts = f"an approval counts for {made['expiry_seconds']} s"
    output.say(f"Approval policy {made['id']}: {who} to approve a migration of {_scope(made)}; {counts}.")


@policies.command("remove")
def remove_policy(ctx: typer.Context, policy: PolicyId, as_json: AsJson = False) -> None:
    """Remove an approval policy; the others count on."""
    _remove(ctx, "approval-policies", policy, "Approval policy", as_json=as_json)


def _remove(ctx: typer.Context, group: str, number: int, what: str, *, as_json: bool) -> None:
    from controlplane.cli.base import output

    begin(ctx, as_json=as_json).delete(f"{group}/{number}")
    output.write_json({"id": number, "result": "removed"}) if as_json else output.say(f"{what} {number}: removed")


def _scope(rule: dict[str, Any]) -> str:
    if rule["pipeline"]:
        return f"the pipeline {rule['pipeline']}"
    return f"the label {rule['label']}" if rule["label"] else "everything"
