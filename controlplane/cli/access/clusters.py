"""Commands about Spark clusters."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.inputs import read_text
from controlplane.cli.base.session import Limit, Session

MAX_BYTES = 256 * 1024
TESTED_WITHIN = 65.0
"""Seconds for which hosts are waited for: a little longer than the server does."""
POLL_S = 0.5
CANNOT_BE_USED = "cluster_unusable"

Name = Annotated[str, typer.Argument(help="The cluster's name.", metavar="NAME")]

app = Group("Define the Spark clusters that definitions name. Administrators define them.")


@app.verb("list")
def list_clusters(session: Session, limit: Limit = 1000) -> None:
    """List clusters and the pipelines that are placed on them."""
    from controlplane.cli.base import output

    found = session.client().pages("clusters", limit=limit)
    if session.printed(found):
        return
    columns = ("name", "team", "master", "version", "updated", "by", "used by", "pending")
    output.table(columns, map(_row, found), empty="No clusters. Define one: headgate clusters apply -f FILE")


def _row(cluster: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    users = ", ".join(cluster["used_by"]), ", ".join(cluster["pending"])
    facts = cluster["version"], ago(cluster["updated_at"]), cluster["updated_by"]
    return cluster["name"], cluster["team"] or "all", cluster["spec"]["master"], *facts, *users


@app.verb()
def show(session: Session, name: Name) -> None:
    """Print a cluster as `apply` reads it."""
    from controlplane.cli.base import output
    from pipelines.domain.definitions.document.text import dump

    _, found = session.client().get(f"clusters/{name}")
    if not session.printed(found):
        output.print_line(
            dump(
                {"name": found["name"], **({"team": found["team"]} if found["team"] else {}), **found["spec"]}
            ).rstrip()
        )


@app.verb()
def apply(
    session: Session,
    file: Annotated[str, typer.Option("-f", "--file", metavar="FILE", help="A file; - for standard input.")],
) -> None:
    """Define a cluster, or change it. Pipelines on it take the change at their next start."""
    from controlplane.cli.base import output
    from pipelines.domain.definitions.document.text import load

    loaded = load(read_text(file, most=MAX_BYTES, what="a cluster"))
    if not isinstance(loaded.data, dict) or not isinstance(loaded.data.get("name"), str):
        words = f"{file} is not a cluster"
        raise CommandError(
            words, hint="Write name: NAME and master: URL.", code="bad_cluster", exit_code=ExitCode.REFUSED
        )
    spec = {key: value for key, value in loaded.data.items() if key not in ("name", "team")}
    made = session.client().put(f"clusters/{loaded.data['name']}", {"spec": spec, "team": loaded.data.get("team")})
    if not session.printed(made):
        output.print_line(f"{made['name']}: version {made['version']}")
        if made["pending"]:
            output.print_line(f"Restart to take it: {', '.join(made['pending'])}")


@app.verb("test")
def connect(
    session: Session,
    name: Name,
    last: Annotated[bool, typer.Option("--last", help="Show the last test, and make none.")] = False,
) -> None:
    """Have every host connect to a cluster, and show what each has found.

    Nothing is submitted to the cluster. Exit code 1 where a host cannot use it.
    """
    from controlplane.cli.base import output

    client, address = session.client(), f"clusters/{name}/test"
    found = client.get(address) if last else client.post(address, {})[1]
    if found["checking"] and not session.for_programs:
        output.note(f"Hosts connect to {name}.")
    deadline = time.monotonic() + TESTED_WITHIN
    while found["checking"] and not last and time.monotonic() < deadline:
        time.sleep(POLL_S)
        found = client.get(address)
    if not session.printed(found):
        columns = ("host", "connection", "took", "found", "checked")
        output.table(columns, map(_connection, found["hosts"]), empty="No host has reported yet.")
        for open_ in dict.fromkeys(each for host in found["hosts"] for each in host["unchecked"]):
            output.print_line(f"Not checked: {open_}")
    if failed := [host for host in found["hosts"] if host["state"] == "FAILED"]:
        names = ", ".join(host["host"] for host in failed)
        raise CommandError(
            f"{name} cannot be used from {names}", failed[0]["message"], failed[0]["hint"], CANNOT_BE_USED
        )


def _connection(host: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    took = [f"{each['milliseconds']:g} ms" for each in host["servers"] if each["reached"]]
    return host["host"], host["state"], ", ".join(took), _found(host), ago(host["checked_at"])


def _found(host: dict[str, Any]) -> str:
    """What a host has found, or why it found nothing."""
    reached = [each["server"] for each in host["servers"] if each["reached"]]
    servers = f"{len(reached)} of {len(host['servers'])} servers: {', '.join(reached)}." if reached else ""
    away = [f"{each['server']}: {each['detail']}" for each in host["servers"] if reached and not each["reached"]]
    words = [servers, *away, host["message"], host["hint"]]
    if page := host["standalone"]:
        words.insert(1, f"{page['workers']} live workers, {page['free_cores']} of {page['cores']} cores free.")
    return " ".join(filter(None, words))


@app.verb()
def delete(session: Session, name: Name) -> None:
    """Delete a cluster. Refused while a pipeline is placed on it."""
    from controlplane.cli.base import output

    session.client().delete(f"clusters/{name}")
    if not session.printed({"name": name, "result": "deleted"}):
        output.print_line(f"{name}: deleted")
