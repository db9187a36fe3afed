"""Changes that approvals or a freeze govern: requested, or made at once by an administrator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from controlplane.cli.base.session import Session, Waiting, path


@dataclass(frozen=True)
class Right:
    """How a governed change is asked for; without either it is made where nothing governs it."""

    request: Annotated[
        str | None,
        typer.Option("--request", metavar="REASON", help="Request the change, which other users then approve."),
    ] = None
    break_glass: Annotated[
        str | None,
        typer.Option(
            "--break-glass",
            metavar="REASON",
            help="For administrators: make the change despite approvals and freezes. Raises an alert.",
        ),
    ] = None


def sent(
    session: Session, name: str, kind: str, arguments: dict[str, Any], right: Right, waiting: Waiting | None = None
) -> bool:
    """Request the change, or break glass for it, where one of them is asked for; False where neither is. CommandError
    for both."""
    from controlplane.cli.base.errors import CommandError

    if right.request is None and right.break_glass is None:
        return False
    if right.request is not None and right.break_glass is not None:
        raise CommandError.of_usage("Give either --request or --break-glass.")
    body = {"kind": kind, "arguments": arguments}
    client = session.client()
    if right.request is not None:
        _, made = client.post(path(name, "change-requests"), {**body, "reason": right.request})
        if not session.printed(made):
            _print_request(made)
        return True
    _, done = client.post(path(name, "break-glass"), {**body, "reason": right.break_glass})
    print_made(session, done, waiting)
    return True


def _print_request(made: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    output.print_line(f"Requested: {made['kind']} of {made['pipeline']} ({made['id']}). {made['summary']}".rstrip())
    who = output.counted(made["approvers_needed"], "user", "users")
    output.note(f"Awaiting approval by {who}: headgate requests approve {made['id']}")


def print_made(session: Session, done: dict[str, Any], waiting: Waiting | None) -> None:
    """A change that was made, with the operation that carries it out. CommandError where that has failed."""
    from controlplane.cli.base import output
    from controlplane.cli.base.waiting import finish, require_success

    operation = done["operation"]
    if operation is not None and waiting is not None:
        operation = finish(session, session.client(), operation, waiting)
    if not session.printed({**done, "operation": operation}):
        output.print_line(f"Made: {done['kind']} of {done['pipeline']}.", style="green")
    if operation is not None:
        require_success(operation)
