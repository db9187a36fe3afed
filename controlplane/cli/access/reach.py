"""Commands about what pipelines may reach."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.session import Limit, Session

Note = Annotated[str, typer.Option("--note", help="The reason, for the list and the audit.")]
OfTeam = Annotated[
    str | None, typer.Option("--team", metavar="TEAM", help="Only for pipelines of this team; by default for all.")
]
RuleId = Annotated[int, typer.Argument(help="The number that `list` shows.", metavar="ID")]

roots = Group("Set which directories pipelines may read and write.")
networks = Group("Set which networks and hosts pipelines may connect to.")


@roots.verb("list")
def list_roots(session: Session, limit: Limit = 1000) -> None:
    """List the directories that pipelines may read, or read and write."""
    _list(session, "allowed-roots", ("path", "mode"), "allowed-roots add /data --mode write", limit)


@roots.verb("add")
def add_root(
    session: Session,
    path: Annotated[str, typer.Argument(help="An absolute directory; its last part may end with *.", metavar="PATH")],
    mode: Annotated[str, typer.Option("--mode", help="read, or write, which includes reading.")] = "read",
    team: OfTeam = None,
    note: Note = "",
) -> None:
    """Let pipelines read a directory, or read and write it, with all below it."""
    _add(session, "allowed-roots", {"path": path, "mode": mode, "team": team, "note": note}, f"{path}: {mode}")


@roots.verb("remove")
def remove_root(session: Session, rule_id: RuleId) -> None:
    """Remove a directory. Running pipelines continue; later starts are refused."""
    _remove(session, "allowed-roots", rule_id)


@networks.verb("list")
def list_networks(session: Session, limit: Limit = 1000) -> None:
    """List the networks and hosts that pipelines may connect to."""
    _list(session, "allowed-networks", ("target", "ports"), "allowed-networks add 10.20.0.0/16 --ports 9092", limit)


@networks.verb("add")
def add_network(
    session: Session,
    target: Annotated[
        str, typer.Argument(help="A network, an address, or a host; a name can start with *.", metavar="TARGET")
    ],
    ports: Annotated[str, typer.Option("--ports", help="Ports: 9092, 8000-8100, or * for all.")] = "*",
    team: OfTeam = None,
    note: Note = "",
) -> None:
    """Let pipelines connect to a network or a host."""
    _add(
        session,
        "allowed-networks",
        {"target": target, "ports": ports, "team": team, "note": note},
        f"{target}: {ports}",
    )


@networks.verb("remove")
def remove_network(session: Session, rule_id: RuleId) -> None:
    """Remove a network or host. Running pipelines continue; later starts are refused."""
    _remove(session, "allowed-networks", rule_id)


def _list(session: Session, route: str, keys: tuple[str, str], example: str, limit: int) -> None:
    from controlplane.cli.base import output

    found = session.client().pages(route, limit=limit)
    if session.printed(found):
        return
    rows = (
        (str(each["id"]), *(each[key] for key in keys), each["team"] or "all", each["created_by"], each["note"])
        for each in found
    )
    output.table(("id", *keys, "team", "by", "note"), rows, empty=f"None. Add one: headgate {example}")


def _add(session: Session, route: str, body: dict[str, Any], words: str) -> None:
    from controlplane.cli.base import output

    _, made = session.client().post(route, body)
    if not session.printed(made):
        output.print_line(f"{made['id']}: allowed {words}")


def _remove(session: Session, route: str, rule_id: int) -> None:
    from controlplane.cli.base import output

    session.client().delete(f"{route}/{rule_id}")
    if not session.printed({"id": rule_id, "result": "removed"}):
        output.print_line(f"{rule_id}: removed")
