"""Commands about runs: list, stacks, declare-lost."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.governed import Right, sent
from controlplane.cli.base.session import Limit, Name, Session, path

WAIT_S = 15.0
_FRAME = re.compile(r"^  File .*, line \S+ in (\S+)$")

app = Group("Show the runs of a pipeline and the stacks of its agent, or declare a run lost.")


@app.verb("list")
def list_runs(session: Session, name: Name, limit: Limit = 50) -> None:
    """List the runs of a pipeline, newest first."""
    from controlplane.cli.base import reports

    found = session.client().pages(path(name, "runs"), limit=limit)
    if not session.printed(found):
        reports.runs(found)


@app.verb()
def stacks(
    session: Session,
    name: Name,
    run: Annotated[int | None, typer.Option("--run", min=1, help="The run's number. Default: the latest.")] = None,
    live: Annotated[bool, typer.Option("--live/--no-live", help="Request a new dump from a running agent.")] = True,
    every: Annotated[bool, typer.Option("--all", help="Show all stored dumps, not only the newest.")] = False,
    process: Annotated[str | None, typer.Option("--process", help="Only this process: driver, workers or jvm.")] = None,
) -> None:
    """Print the thread stacks of a pipeline's agent, and the component that is at work."""
    from controlplane.cli.base.following import find_run

    client = session.client()
    found = find_run(client, name, run)
    address, asked = f"runs/{found['id']}/stacks", None
    if live and found["state"] != "ENDED":
        asked = client.post(address, {})[1]["asked"]
    answer = client.get(address, wait=WAIT_S if asked else 0.0, asked=asked)
    if every:
        answer = client.get(address)
    answer["dumps"] = answer["dumps"] if every else answer["dumps"][:1]
    if not session.printed(answer):
        _print_stacks(answer, process, found)


def _print_stacks(answer: dict[str, Any], process: str | None, run: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    if answer["elsewhere"]:
        output.note(f"The texts are stored at {answer['elsewhere']}.")
    if not answer["dumps"]:
        output.note(f"Run {run['number']} has no dump: none was requested, or its keeper did not answer.")
    for dump in answer["dumps"]:
        at_work = ", ".join(dump["stuck"]) or "no component"
        output.print_line(f"{dump['at']} {dump['stop_stage']} of run {run['number']}; at work: {at_work}")
        for file in dump["files"]:
            if process in {None, file["process"]}:
                output.print_line(f"--- {file['process']} ({file['name']})")
                output.write_text(_marked(file["text"], dump["stuck"]))


def _marked(text: str, stuck: list[str]) -> str:
    """The text with `>>` before the frames of components at work, and before the latest call of their threads."""
    lines, marked, top = text.splitlines(keepends=True), set(), None
    for number, line in enumerate(lines):
        called = _FRAME.match(line)
        top = None if called is None else number if top is None else top
        if called and called[1] in stuck:
            marked |= {top, number}
    return "".join(f">>{line[2:]}" if number in marked else line for number, line in enumerate(lines))


@app.verb("declare-lost")
def declare_lost(
    session: Session,
    name: Name,
    right: Right,
    confirm: Annotated[
        str | None,
        typer.Option("--confirm", metavar="NAME", help="Repeat the pipeline's name to skip the prompt."),
    ] = None,
) -> None:
    """Declare the run of a pipeline on a silent host lost, so that the next run can start on another host.

    Records delivered after its last report are delivered again. If the run is alive, everything that it delivers is
    delivered twice until its host reports again and ends it. No record is lost in either case.
    """
    from controlplane.cli.base import output

    client = session.client()
    if confirm is None:
        output.note("Records delivered after the run's last report are delivered again; all of them if it is alive.")
        confirm = typer.prompt(f"Confirm that no process of the run is alive. Repeat the name {name}", err=True)
    if sent(session, name, "declare-lost", {"confirm": confirm}, right):
        return
    _, run = client.post(path(name, "declare-lost"), {"confirm": confirm})
    if not session.printed(run):
        output.print_line(f"Run {run['number']} of {name} on {run['host']} has ended as {run['outcome']}.")
