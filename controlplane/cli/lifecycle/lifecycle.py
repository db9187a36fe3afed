"""Commands that change what a pipeline does: start, pause, resume, stop, force-stop, restart."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from controlplane.cli.base.governed import Right, sent
from controlplane.cli.base.session import Name, Session, Waiting, path

Drain = Annotated[
    bool,
    typer.Option("--drain/--no-drain", help="Finish the in-flight batch, or cancel it: the next start reads it again."),
]
PauseOnTimeout = Annotated[
    Literal["abort", "stay"] | None,
    typer.Option(
        "--on-timeout",
        help="If the in-flight batch exceeds drain_timeout: continue running (abort), or stay without reading (stay).",
    ),
]
StopOnTimeout = Annotated[
    Literal["stop", "abort"] | None,
    typer.Option(
        "--on-timeout",
        help="If the drain exceeds drain_timeout: stop without it (stop), or continue running (abort).",
    ),
]
RestartOnTimeout = Annotated[
    Literal["abort", "stop"] | None,
    typer.Option(
        "--on-timeout",
        help="If the drain exceeds drain_timeout: continue running (abort), or stop without it (stop).",
    ),
]


def start(session: Session, name: Name, waiting: Waiting, right: Right) -> None:
    """Start a pipeline. Preflight checks of all components run before the first record is read."""
    _request(session, "start", name, waiting, right)


def pause(session: Session, name: Name, waiting: Waiting, right: Right, on_timeout: PauseOnTimeout = None) -> None:
    """Pause a pipeline. It reads nothing, and its process stays ready. The pause is verified."""
    _request(session, "pause", name, waiting, right, on_timeout=on_timeout)


def resume(session: Session, name: Name, waiting: Waiting, right: Right) -> None:
    """Resume a paused pipeline."""
    _request(session, "resume", name, waiting, right)


def stop(
    session: Session, name: Name, waiting: Waiting, right: Right, drain: Drain = True, on_timeout: StopOnTimeout = None
) -> None:
    """Stop a pipeline and end its process. No record is lost; without draining, the next run completes the batch."""
    _request(session, "stop", name, waiting, right, drain=drain, on_timeout=on_timeout)


def force_stop(session: Session, name: Name, waiting: Waiting, right: Right) -> None:
    """Kill a pipeline's processes immediately. No record is lost; the next run completes the in-flight batch."""
    _request(session, "force-stop", name, waiting, right)


def restart(session: Session, name: Name, waiting: Waiting, right: Right, on_timeout: RestartOnTimeout = None) -> None:
    """Drain a pipeline, end its process and start it again."""
    _request(session, "restart", name, waiting, right, on_timeout=on_timeout)


def _request(session: Session, action: str, name: str, waiting: Waiting, right: Right, **options: object) -> None:
    """Request an operation. Options that are not given are left to the server's defaults."""
    from controlplane.cli.base.waiting import finish, require_success

    body = {option: value for option, value in options.items() if value is not None}
    if sent(session, name, action, body, right, waiting):
        return
    client = session.client()
    _, operation = client.post(path(name, action), body)
    operation = finish(session, client, operation, waiting)
    if not session.printed(operation):
        _print(operation)
    require_success(operation)


def _print(operation: dict[str, Any]) -> None:
    from controlplane.cli.base import output
    from controlplane.cli.base.waiting import OPEN_STATES

    what, pipeline = operation["kind"], operation["pipeline"]
    message = operation.get("message") or ""
    if operation["state"] in OPEN_STATES:
        output.print_line(f"Requested: {what} of {pipeline}. Follow it: headgate status {pipeline} --watch")
        if what == "force-stop":
            output.note(message)
    elif operation["state"] == "SUCCEEDED":
        output.print_line(f"Done: {what} of {pipeline}. {message}".rstrip(), style="green")
