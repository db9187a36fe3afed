"""Commands that change what a pipeline does: start, pause, resume, stop, force-stop, restart."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from controlplane.cli.base.session import AsJson, Name, begin, path

Wait = Annotated[bool, typer.Option("--wait", help="Wait until it is done, and show the steps.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0.1, max=86_400, help="How many seconds --wait may take.")]
Drain = Annotated[
    bool, typer.Option("--drain/--no-drain", help="Finish what was read first, or drop the batch in hand.")
]

PauseOnTimeout = Annotated[
    Literal["abort", "stay"] | None,
    typer.Option(
        "--on-timeout",
        help="If the batch in hand does not end within drain_timeout: go on as before (abort), or read nothing (stay).",
    ),
]
StopOnTimeout = Annotated[
    Literal["stop", "abort"] | None,
    typer.Option(
        "--on-timeout",
        help="If the drain does not end within drain_timeout: stop without it (stop), or go on as before (abort).",
    ),
]
RestartOnTimeout = Annotated[
    Literal["abort", "stop"] | None,
    typer.Option(
        "--on-timeout",
        help="If the drain does not end within drain_timeout: go on as before (abort), or stop without it (stop).",
    ),
]

DEFAULT_TIMEOUT_S = 300.0


def start(
    ctx: typer.Context,
    name: Name,
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Start a pipeline. Every component is initialised before the first record is read."""
    _act(ctx, "start", name, {}, wait=wait, timeout=timeout, as_json=as_json)


def pause(
    ctx: typer.Context,
    name: Name,
    on_timeout: PauseOnTimeout = None,
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Pause a pipeline: nothing is read, the process stays warm. Done when that is proven."""
    _act(ctx, "pause", name, _given(on_timeout=on_timeout), wait=wait, timeout=timeout, as_json=as_json)


def resume(
    ctx: typer.Context,
    name: Name,
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Resume a paused pipeline."""
    _act(ctx, "resume", name, {}, wait=wait, timeout=timeout, as_json=as_json)


def stop(
    ctx: typer.Context,
    name: Name,
    drain: Drain = True,
    on_timeout: StopOnTimeout = None,
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Stop a pipeline: its process ends. Nothing is lost either way; without draining, a batch may be repeated."""
    _act(ctx, "stop", name, _given(drain=drain, on_timeout=on_timeout), wait=wait, timeout=timeout, as_json=as_json)


def force_stop(
    ctx: typer.Context,
    name: Name,
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Kill a pipeline's processes at once. No record is lost; a batch in hand comes again, which may double records."""
    _act(ctx, "force-stop", name, {}, wait=wait, timeout=timeout, as_json=as_json)


def restart(
    ctx: typer.Context,
    name: Name,
    on_timeout: RestartOnTimeout = None,
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Drain a pipeline, end its process and start it again."""
    _act(ctx, "restart", name, _given(on_timeout=on_timeout), wait=wait, timeout=timeout, as_json=as_json)


def _given(**options: object) -> dict[str, Any]:
    """What was said; the server knows the rest."""
    return {name: value for name, value in options.items() if value is not None}


def _act(
    ctx: typer.Context, action: str, name: str, body: dict[str, Any], *, wait: bool, timeout: float, as_json: bool
) -> None:
    from controlplane.cli.base import output, waiting

    client = begin(ctx, as_json=as_json)
    _, operation = client.post(path(name, action), body)
    try:
        if wait:
            operation = waiting.wait_for(client, operation, timeout=timeout, quiet=as_json)
    except KeyboardInterrupt:
        output.note(waiting.goes_on(operation))
        raise
    if as_json:
        output.write_json(operation)
    else:
        _tell(operation)
    if operation["state"] not in waiting.OPEN_STATES:
        waiting.require_success(operation)


def _tell(operation: dict[str, Any]) -> None:
    from controlplane.cli.base import output, waiting

    what = f"{operation['kind']} of {operation['pipeline']}"
    if operation["state"] in waiting.OPEN_STATES:
        output.say(f"The {what} has been requested. Look: headgate status {operation['pipeline']} --watch")
        if operation["kind"] == "force-stop":
            output.note(operation.get("message") or "")
    elif operation["state"] == "SUCCEEDED":
        output.say(f"The {what} is done. {operation.get('message') or ''}".rstrip(), style="green")
