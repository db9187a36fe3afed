"""Commands about change requests: list, show, approve, deny, cancel, apply."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import Limit, Reason, Session, Waiting, path

app = Group("Approve, deny and apply changes of pipelines that approval policies govern.")

Id = Annotated[
    str, typer.Argument(help="The request's id, or a pipeline's name: its newest open request.", metavar="ID")
]
_FACTS = ("id", "pipeline", "kind", "state", "summary", "reason", "created_by", "expires_at", "message")


@app.verb("list")
def list_requests(
    session: Session,
    pipeline: Annotated[str | None, typer.Option("--pipeline", help="Only this pipeline.")] = None,
    state: Annotated[str | None, typer.Option("--state", help="open, final, or a state.")] = None,
    limit: Limit = 200,
) -> None:
    """List change requests, newest first."""
    from controlplane.cli.base import output

    found = session.client().pages("change-requests", limit=limit, pipeline=pipeline, state=state)
    if session.printed(found):
        return
    columns = ("id", "pipeline", "change", "state", "approvals", "created", "by", "reason")
    empty = output.none("change requests", (pipeline, state), "Make one: headgate stop NAME --request REASON")
    output.table(columns, map(_row, found), empty=empty)


def _row(found: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    approvals = f"{found['approvals_counted']} of {found['approvers_needed']}"
    what = found["id"], found["pipeline"], found["kind"], found["state"]
    return *what, approvals, ago(found["created_at"]), found["created_by"], found["reason"]


@app.verb()
def show(session: Session, request: Id) -> None:
    """Show a change request: what it changes, who has approved it, and whether it can be applied."""
    _print(session, _find(session.client(), request))


@app.verb()
def approve(session: Session, request: Id) -> None:
    """Approve a change. Its author cannot where a policy asks for others."""
    _post(session, request, "approve", lambda found: {"hash": found["hash"]})


@app.verb()
def deny(
    session: Session,
    request: Id,
    reason: Annotated[str, typer.Option("--reason", help="The reason, shown to the author.")],
) -> None:
    """Deny a change. It can no longer be applied."""
    _post(session, request, "deny", lambda _: {"reason": reason})


@app.verb()
def cancel(session: Session, request: Id, reason: Reason = "") -> None:
    """Cancel a change request."""
    _post(session, request, "cancel", lambda _: {"reason": reason})


@app.verb()
def apply(session: Session, request: Id, waiting: Waiting) -> None:
    """Make an approved change, once. During a freeze it is refused."""
    from controlplane.cli.base.governed import print_made

    client = session.client()
    _, done = client.post(_address(_find(client, request), "apply"), {})
    print_made(session, done, waiting)


def _post(session: Session, request: str, action: str, body: Any) -> None:
    client = session.client()
    found = _find(client, request)
    _, made = client.post(_address(found, action), body(found))
    _print(session, made)


def _address(found: dict[str, Any], action: str) -> str:
    return path(found["pipeline"], "change-requests", found["id"], action)


def _print(session: Session, found: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    if session.printed(found):
        return
    facts = [(name.replace("_", " "), found[name]) for name in _FACTS]
    counted = ", ".join(each["by"] for each in found["approvals"] if each["counts"]) or "-"
    approvals = ("approvals", f"{found['approvals_counted']} of {found['approvers_needed']} ({counted})")
    output.table(("", ""), [*facts, approvals], empty="")
    if found["stale"]:
        output.note("The pipeline has changed since: cancel the request, and make it anew.")
    for freeze in found["frozen"]:
        output.note(freeze)
    if found["state"] == "APPROVED" and not found["stale"]:
        output.note(f"Apply it: headgate requests apply {found['id']}")


def _find(client: Any, request: str) -> dict[str, Any]:
    """The request of this id, or the newest open one of a pipeline. CommandError where there is none."""
    from uuid import UUID

    try:
        query: dict[str, str] = {"id": str(UUID(request))}
    except ValueError:
        query = {"pipeline": request, "state": "open"}
    rows: list[dict[str, Any]] = client.get("change-requests", **query)["results"]
    if not rows:
        raise CommandError(
            f"There is no change request {request}",
            hint="`headgate requests list` lists all of them.",
            code="request_not_found",
        )
    return rows[0]
