"""Commands about hosts: list them, drain one, take it back, remove one, and declare a run of a silent one lost."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import quote

import typer

from controlplane.cli.base.session import AsJson, Name, begin, path

HostName = Annotated[str, typer.Argument(help="The host's name.", metavar="HOST")]
DrainOnTimeout = Annotated[
    Literal["abort", "stop"] | None,
    typer.Option(
        "--on-timeout",
        help="If an agent's drain does not end within drain_timeout: it goes on, and is asked again in ten minutes "
        "(abort), or it is stopped (stop).",
    ),
]

app = typer.Typer(
    help="Show hosts and what they have room for; drain one before work on it.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def hosts(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Show hosts and what they have room for; `drain` one before work on it, `undrain` it afterwards."""
    if ctx.invoked_subcommand is not None:
        return
    from controlplane.cli.base import output

    found = begin(ctx, as_json=as_json).get("hosts")
    if as_json:
        output.write_json(found)
        return
    columns = ("host", "state", "agents", "slots", "memory", "seen", "drained")
    output.table(columns, map(_row, found), empty="No worker has reported yet.")


def _row(host: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    state = host["state"] if host["supervised"] or host["state"] == "LOST" else f"{host['state']}, silent"
    slots = f"{host['promised']} of {host['slots']}" if host["slots"] else f"{host['promised']}"
    drained = f"{ago(host['drained_at'])} by {host['drained_by']}" if host["drained_at"] else None
    return host["name"], state, host["agents"], slots, _memory(host), ago(host["seen_at"]), drained


def _memory(host: dict[str, Any]) -> str:
    limit = host["memory_limit"] or host["memory_bytes"]
    return f"{host['memory_promised'] >> 20} of {limit >> 20} MiB"


@app.command()
def show(ctx: typer.Context, host: HostName, as_json: AsJson = False) -> None:
    """Show a host with its pipelines, and what ties each to it."""
    found = begin(ctx, as_json=as_json).get(_path(host))
    _tell(found, as_json=as_json)


@app.command()
def drain(ctx: typer.Context, host: HostName, on_timeout: DrainOnTimeout = None, as_json: AsJson = False) -> None:
    """Let a host take no new agents, and move what is not tied to it, one after another, where there is room."""
    body = {"on_timeout": on_timeout} if on_timeout else {}
    _, found = begin(ctx, as_json=as_json).post(_path(host, "drain"), body)
    _tell(found, as_json=as_json)


@app.command()
def undrain(ctx: typer.Context, host: HostName, as_json: AsJson = False) -> None:
    """Let a host take new agents again. Nothing moves back by itself."""
    _, found = begin(ctx, as_json=as_json).post(_path(host, "undrain"), {})
    _tell(found, as_json=as_json)


@app.command()
def remove(ctx: typer.Context, host: HostName) -> None:
    """Expect a silent host no longer. Refused while it is heard, or while a pipeline is assigned to it."""
    from controlplane.cli.base import output

    begin(ctx, as_json=False).delete(_path(host))
    output.say(f"{host} is expected no longer. A worker that speaks up from there brings it back.")


def _tell(host: dict[str, Any], *, as_json: bool) -> None:
    from controlplane.cli.base import output

    if as_json:
        output.write_json(host)
        return
    taking = f"takes no new agents since {output.ago(host['drained_at'])}" if host["drained_at"] else "takes agents"
    output.say(f"{host['name']}: {host['state']}, {taking}")
    rows = [(each["name"], each["phase"], each["live_run"], "; ".join(each["tied"])) for each in host["pipelines"]]
    output.table(("pipeline", "phase", "run", "tied to the host"), rows, empty="No pipeline has a place there.")


def declare_lost(
    ctx: typer.Context,
    name: Name,
    confirm: Annotated[
        str | None,
        typer.Option("--confirm", metavar="NAME", help="The name once more, instead of a question."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """State that a pipeline's run is dead, whose host is silent, so that the next one may start elsewhere.

    What it delivered after its last report is delivered again. If it does live, what it delivers from now on is
    delivered twice, until its host is heard of again and ends it. Nothing is lost either way.
    """
    from controlplane.cli.base import output

    client = begin(ctx, as_json=as_json)
    if confirm is None:
        output.note("What the run delivered after its last report is delivered again; if it lives, everything is.")
        confirm = typer.prompt(f"No process of it lives. Repeat the name {name}", err=True)
    _, run = client.post(path(name, "declare-lost"), {"confirm": confirm})
    if as_json:
        output.write_json(run)
    else:
        output.say(f"Run {run['number']} of {name} on {run['host']} has ended as {run['outcome']}.")


def _path(host: str, *parts: str) -> str:
    """The address of something below a host; a name with other characters cannot lead elsewhere."""
    return "/".join(["hosts", quote(host, safe=""), *parts])
