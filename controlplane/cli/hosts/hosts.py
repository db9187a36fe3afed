"""Commands about hosts: list, show, drain, undrain, remove."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import quote

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.session import Session

HostName = Annotated[str, typer.Argument(help="The host's name.", metavar="HOST")]
DrainOnTimeout = Annotated[
    Literal["abort", "stop"] | None,
    typer.Option(
        "--on-timeout",
        help="If the drain of an agent exceeds drain_timeout: let it run and retry in ten minutes (abort), or stop it "
        "(stop).",
    ),
]

app = Group("Show hosts and their capacity, drain or evacuate them for maintenance, and reconcile after a restore.")


@app.verb("list")
def list_hosts(session: Session) -> None:
    """List hosts with their state and capacity."""
    from controlplane.cli.base import output

    found = session.client().get("hosts")
    if session.printed(found):
        return
    columns = ("host", "state", "agents", "slots", "memory", "disk free", "agents run as", "last report", "drained")
    output.table(columns, map(_row, found), empty="No hosts. A host appears when its worker reports.")


def _row(host: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    state = host["state"] if host["supervised"] or host["state"] == "LOST" else f"{host['state']}, silent"
    slots = f"{host['promised']} of {host['slots']}" if host["slots"] else f"{host['promised']}"
    drained = f"{ago(host['drained_at'])} by {host['drained_by']}" if host["drained_at"] else None
    return (
        host["name"],
        state,
        host["agents"],
        slots,
        _memory(host),
        _disk(host),
        _users(host),
        ago(host["seen_at"]),
        drained,
    )


def _users(host: dict[str, Any]) -> str | None:
    isolation = host["isolation"]
    if isolation is None:
        return None
    return "own users" if isolation["state"] == "USER" else "no users of their own"


def _memory(host: dict[str, Any]) -> str:
    limit = host["memory_limit"] or host["memory_bytes"]
    return f"{host['memory_promised'] >> 20} of {limit >> 20} MiB"


def _disk(host: dict[str, Any]) -> str | None:
    disk = host["disk"]
    if disk is None:
        return None
    state = "" if disk["state"] == "OK" else f", {disk['state'].lower()}"
    return f"{disk['free_bytes'] >> 20} of {disk['total_bytes'] >> 20} MiB{state}"


@app.verb()
def show(session: Session, host: HostName) -> None:
    """Show a host with its pipelines, and what binds each of them to it."""
    _print(session, session.client().get(_path(host)))


@app.verb()
def drain(session: Session, host: HostName, on_timeout: DrainOnTimeout = None) -> None:
    """Accept no new agents on a host, and restart agents that are not bound to it on other hosts."""
    body = {"on_timeout": on_timeout} if on_timeout else {}
    _print(session, session.client().post(_path(host, "drain"), body)[1])


@app.verb()
def undrain(session: Session, host: HostName) -> None:
    """Accept new agents on a host again. Agents do not move back automatically."""
    _print(session, session.client().post(_path(host, "undrain"), {})[1])


@app.verb()
def remove(session: Session, host: HostName) -> None:
    """Remove a silent host. Refused while its worker reports, or while a pipeline is assigned to it."""
    from controlplane.cli.base import output

    session.client().delete(_path(host))
    if not session.printed({"name": host, "result": "removed"}):
        output.print_line(f"{host}: removed. It returns when a worker reports from it.")


def _print(session: Session, host: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    if session.printed(host):
        return
    drained = f"drained {output.ago(host['drained_at'])}" if host["drained_at"] else "accepts agents"
    disk = f", disk free: {_disk(host)}" if host["disk"] else ""
    output.print_line(f"{host['name']}: {host['state']}, {drained}{disk}")
    if isolation := host["isolation"]:
        output.print_line(" ".join(filter(None, (isolation["detail"], isolation["hint"]))))
    for warning in (host["messages"] or {}).get("warnings", ()):
        output.print_line(f"Warning: {warning}")
    rows = [(each["name"], each["phase"], each["live_run"], "; ".join(each["tied"])) for each in host["pipelines"]]
    output.table(("pipeline", "phase", "run", "bound by"), rows, empty="No pipelines.")


def _path(host: str, *parts: str) -> str:
    """The address of something below a host; a name with other characters cannot lead elsewhere."""
    return "/".join(["hosts", quote(host, safe=""), *parts])
