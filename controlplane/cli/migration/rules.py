"""Commands about the rules for migrations: freezes, and approval policies."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.session import Limit, Session
from controlplane.cli.monitoring.alerts import Label, Pipeline

freezes = Group("Set periods in which no migration starts and no pipeline is changed. Migrations in progress continue.")
policies = Group("Set how many users other than the author must approve a migration or a change request.")

FreezeId = Annotated[
    int, typer.Argument(help="The freeze's id; `headgate freezes list` shows it.", metavar="ID", min=1)
]
PolicyId = Annotated[
    int, typer.Argument(help="The policy's id; `headgate approval-policies list` shows it.", metavar="ID", min=1)
]


@freezes.verb("list")
def list_freezes(session: Session, limit: Limit = 1000) -> None:
    """List freezes, newest first."""
    from controlplane.cli.base import output

    found = session.client().pages("freezes", limit=limit)
    if session.printed(found):
        return
    columns = ("id", "scope", "state", "from", "to", "by", "reason")
    output.table(columns, map(_freeze_row, found), empty="No freezes. Add one: headgate freezes add")


def _freeze_row(freeze: dict[str, Any]) -> tuple[object, ...]:
    times = freeze["starts_at"], freeze["ends_at"]
    return str(freeze["id"]), _scope(freeze), _state(*times), *times, freeze["created_by"], freeze["reason"]


def _state(starts_at: str, ends_at: str) -> str:
    from datetime import UTC, datetime

    now = datetime.now(UTC)
    if now < datetime.fromisoformat(starts_at):
        return "scheduled"
    return "active" if now < datetime.fromisoformat(ends_at) else "ended"


@freezes.verb("add")
def add_freeze(
    session: Session,
    ends_at: Annotated[
        str, typer.Option("--ends-at", help="The end (RFC 3339; in this machine's time zone where it has none).")
    ],
    reason: Annotated[str, typer.Option("--reason", help="The reason, shown to users whose migration is refused.")],
    starts_at: Annotated[str | None, typer.Option("--starts-at", help="The start. Default: now.")] = None,
    label: Label = "",
    pipeline: Pipeline = "",
) -> None:
    """Freeze migrations for a period: of a label, of a pipeline, or, with neither, of all pipelines."""
    from controlplane.cli.base import output

    times = {"starts_at": _moment(starts_at), "ends_at": _moment(ends_at)}
    body = {**times, "reason": reason, "label": label, "pipeline": pipeline}
    _, made = session.client().post("freezes", body)
    if session.printed(made):
        return
    when = f"from {made['starts_at']} to {made['ends_at']}"
    output.print_line(f"Freeze {made['id']}: no migration of {_scope(made)} starts {when}.")


def _moment(text: str | None) -> str:
    from datetime import UTC, datetime

    from controlplane.cli.base.inputs import moment

    return datetime.now(UTC).isoformat() if text is None else moment(text)


@freezes.verb("remove")
def remove_freeze(session: Session, freeze: FreezeId) -> None:
    """Remove a freeze."""
    _remove(session, "freezes", freeze, "Freeze")


@policies.verb("list")
def list_policies(session: Session, limit: Limit = 1000) -> None:
    """List approval policies. The strictest policy that matches a pipeline applies."""
    from controlplane.cli.base import output

    found = session.client().pages("approval-policies", limit=limit)
    if session.printed(found):
        return
    columns = ("id", "scope", "approvers", "approvals expire after (s)", "updated by", "updated")
    empty = "No approval policies: authors can approve their own migrations. Add one: headgate approval-policies add"
    output.table(columns, map(_policy_row, found), empty=empty)


def _policy_row(policy: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    figures = policy["approvers"], policy["expiry_seconds"]
    return str(policy["id"]), _scope(policy), *figures, policy["updated_by"], ago(policy["updated_at"])


@policies.verb("add")
def add_policy(
    session: Session,
    approvers: Annotated[
        int, typer.Option("--approvers", min=1, max=20, help="The number of users other than the author.")
    ],
    expiry_seconds: Annotated[
        int, typer.Option("--expiry-seconds", min=60, max=31_536_000, help="Seconds after which an approval expires.")
    ] = 86_400,
    label: Label = "",
    pipeline: Pipeline = "",
) -> None:
    """Require approvals for a label, a pipeline, or, with neither, all pipelines; replaces the policy of that scope."""
    from controlplane.cli.base import output

    body = {"approvers": approvers, "expiry_seconds": expiry_seconds, "label": label, "pipeline": pipeline}
    _, made = session.client().post("approval-policies", body)
    if session.printed(made):
        return
    who = output.counted(made["approvers"], "user other than the author", "users other than the author")
    output.print_line(
        f"Approval policy {made['id']}: {who} must approve a migration of {_scope(made)}; an approval expires after "
        f"{made['expiry_seconds']} s."
    )


@policies.verb("remove")
def remove_policy(session: Session, policy: PolicyId) -> None:
    """Remove an approval policy. Other policies still apply."""
    _remove(session, "approval-policies", policy, "Approval policy")


def _remove(session: Session, group: str, number: int, what: str) -> None:
    from controlplane.cli.base import output

    session.client().delete(f"{group}/{number}")
    if not session.printed({"id": number, "result": "removed"}):
        output.print_line(f"{what} {number}: removed")


def _scope(rule: dict[str, Any]) -> str:
    if rule["pipeline"]:
        return f"the pipeline {rule['pipeline']}"
    return f"the label {rule['label']}" if rule["label"] else "all pipelines"
