"""The stacks of a run: dumped now where it lives, else what it has left."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.base.session import AsJson, Name, begin, path

WAIT_S = 15.0


def stacks(
    ctx: typer.Context,
    name: Name,
    run: Annotated[int | None, typer.Option("--run", min=1, help="The run's number; the latest, unless given.")] = None,
    live: Annotated[bool, typer.Option("--live/--no-live", help="Dump the stacks of a running agent now.")] = True,
    every: Annotated[bool, typer.Option("--all", help="All dumps that there are, not only the newest.")] = False,
    process: Annotated[
        str | None, typer.Option("--process", help="Only of this process: driver, workers or jvm.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the stacks of a pipeline's agent: what every thread does, and which component is at work."""
    from controlplane.cli.base import output

    client = begin(ctx, as_json=as_json)
    found = _run(client, name, run)
    address, asked = f"runs/{found['id']}/stacks", None
    if live and found["state"] != "ENDED":
        asked = client.post(address, {})[1]["asked"]
    answer = client.get(address, wait=WAIT_S if asked else 0.0, asked=asked)
    if every:
        answer = client.get(address)
    answer["dumps"] = answer["dumps"] if every else answer["dumps"][:1]
    if as_json:
        output.write_json(answer)
    else:
        _print(answer, process, found)


def _run(client: Any, name: str, number: int | None) -> dict[str, Any]:
    from controlplane.cli.base.errors import CommandError, ExitCode

    for run in client.pages(path(name, "runs"), limit=None if number else 1):
        if number in {None, run["number"]}:
            return dict(run)
    raise CommandError(
        title=f"{name} has no such run",
        detail="" if number is None else f"There is no run {number}.",
        hint=f"headgate runs {name} lists them.",
        code="run_not_found",
        exit_code=ExitCode.FAILED,
    )


def _print(answer: dict[str, Any], process: str | None, run: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    if answer["elsewhere"]:
        output.note(f"The texts are at {answer['elsewhere']}.")
    if not answer["dumps"]:
        output.note(f"There is no dump of run {run['number']}: its keeper did not answer, or nobody has asked.")
    for dump in answer["dumps"]:
        at_work = ", ".join(dump["stuck"]) or "no component"
        output.say(f"{dump['at']} {dump['rung']} of run {run['number']}; at work: {at_work}")
        for file in dump["files"]:
            if process in {None, file["process"]}:
                output.say(f"--- {file['process']} ({file['name']})")
                output.write_text(file["text"])
