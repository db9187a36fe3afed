"""Waits for an operation and shows its steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from controlplane.cli.base import output
from controlplane.cli.base.client import Client
from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import Session, Waiting

OPEN_STATES = {"PENDING", "RUNNING"}
POLL_S = 1.0
"""How long one request may wait at the server: short, so that steps are shown as they change."""

SHORTEST_POLL_S = 0.2
"""An overloaded server answers immediately; the pause between requests protects it."""

Operation = dict[str, Any]
Show = Callable[[Operation], None]


def finish(session: Session, client: Client, operation: Operation, waiting: Waiting) -> Operation:
    """Wait for the operation where that is asked for; Ctrl-C ends the waiting, not the operation."""
    if not waiting.wait:
        return operation
    try:
        return wait_for(client, operation, timeout=waiting.timeout, quiet=session.for_programs)
    except KeyboardInterrupt:
        output.note(continues(operation))
        raise


def wait_for(client: Client, operation: Operation, *, timeout: float, quiet: bool) -> Operation:
    """Wait until the operation has ended. CommandError where that takes longer than `timeout` seconds."""
    deadline = time.monotonic() + timeout
    with _display(operation, quiet=quiet) as show:
        show(operation)
        while operation["state"] in OPEN_STATES:
            left = deadline - time.monotonic()
            if left <= 0:
                raise _timed_out(operation, timeout)
            operation = _poll(client, operation, wait=min(POLL_S, left))
            show(operation)
    return operation


def _poll(client: Client, operation: Operation, *, wait: float) -> Operation:
    """The operation as it is now, after at most `wait` seconds; unchanged while the server is unreachable."""
    started = time.monotonic()
    try:
        operation = client.get(f"operations/{operation['id']}", wait=round(max(0.1, wait), 2))
    except CommandError as error:
        if not error.is_temporary:
            raise
    if operation["state"] in OPEN_STATES:
        time.sleep(max(0.0, min(wait, SHORTEST_POLL_S) - (time.monotonic() - started)))
    return operation


def require_success(operation: Operation) -> None:
    """CommandError where the operation has ended without success."""
    if operation["state"] in {*OPEN_STATES, "SUCCEEDED"}:
        return
    error = operation.get("error") or {}
    raise CommandError(
        title=f"The {operation['kind']} of {operation['pipeline']} ended as {operation['state']}",
        detail=error.get("message") or operation.get("message") or "",
        hint=error.get("hint") or f"Inspect it: headgate status {operation['pipeline']}",
        code=error.get("code") or "operation_failed",
    )


def continues(operation: Operation) -> str:
    """How to follow an operation that continues after the command has ended."""
    return (
        f"The {operation['kind']} of {operation['pipeline']} continues. "
        f"Follow it: headgate status {operation['pipeline']} --watch (operation {operation['id']})"
    )


def _timed_out(operation: Operation, timeout: float) -> CommandError:
    return CommandError(
        title=f"The {operation['kind']} of {operation['pipeline']} has not ended after {timeout:g} s",
        detail=continues(operation),
        hint="Raise the limit with --timeout SECONDS.",
        code="timed_out",
        exit_code=ExitCode.TIMED_OUT,
    )


@contextmanager
def _display(operation: Operation, *, quiet: bool) -> Iterator[Show]:
    if quiet:
        yield lambda _: None
        return
    out = output.console(stderr=True)
    if out.is_terminal:
        with _bars(operation, out) as show:
            yield show
    else:
        yield _lines(out)


def _lines(out: Any) -> Show:
    """A line for each change of a step."""
    seen: dict[str, tuple[str, str]] = {}

    def show(operation: Operation) -> None:
        for step in operation["steps"]:
            now = (step["state"], step.get("message") or "")
            if now != seen.get(step["name"], ("pending", "")):
                out.print(output.safe(f"{step['name']}: {step['state']} {now[1]}".rstrip()))
            seen[step["name"]] = now

    return show


@contextmanager
def _bars(operation: Operation, out: Any) -> Iterator[Show]:
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(finished_text="✓"), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=False) as progress:
        tasks = {step["name"]: progress.add_task(step["name"], total=1, start=False) for step in operation["steps"]}

        def show(now: Operation) -> None:
            for step in now["steps"]:
                if step["name"] in tasks:
                    _show_step(progress, tasks[step["name"]], step)

        yield show


def _show_step(progress: Any, task: Any, step: dict[str, Any]) -> None:
    if step["state"] != "pending":
        progress.start_task(task)
    message = output.safe(f"{step['name']} {step['state']} {step.get('message') or ''}".rstrip())
    ended = step["state"] in ("done", "failed")
    progress.update(task, description=message, completed=1 if ended else 0)
