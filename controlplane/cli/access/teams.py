"""Commands about teams, and about the roles in them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.access.users import RoleName
from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import Limit, Name, Session, path

TeamName = Annotated[str, typer.Argument(help="The team's name.", metavar="TEAM")]
TeamOrAll = Annotated[str, typer.Argument(help="The team's name, or all for every team.", metavar="TEAM")]
OfUser = Annotated[str | None, typer.Option("--user", metavar="USER", help="The role is of this user.")]
OfGroup = Annotated[
    str | None,
    typer.Option("--group", metavar="GROUP", help="The role is of a group of the provider, written oidc:NAME."),
]

app = Group("Set which teams there are, who has which role in them, and which team owns a pipeline.")


@app.verb("list")
def list_teams(session: Session, limit: Limit = 1000) -> None:
    """List your teams, your roles in them, and how many pipelines they own."""
    from controlplane.cli.base import output

    found = session.client().pages("teams", limit=limit)
    if not session.printed(found):
        rows = ((each["name"], each["role"], each["pipelines"], each["description"]) for each in found)
        output.table(("team", "your role", "pipelines", "description"), rows, empty="No teams.")


@app.verb()
def create(
    session: Session,
    team: TeamName,
    description: Annotated[str, typer.Option("--description", help="What the team is for.")] = "",
) -> None:
    """Create a team. For administrators of all teams."""
    _, made = session.client().post("teams", {"name": team, "description": description})
    _say(session, made, f"{made['name']}: created")


@app.verb()
def rename(
    session: Session, team: TeamName, name: Annotated[str, typer.Argument(help="The new name.", metavar="NAME")]
) -> None:
    """Give a team another name. For administrators of all teams."""
    _say(session, session.client().patch(f"teams/{team}", {"name": name}), f"{team}: renamed to {name}")


@app.verb()
def delete(session: Session, team: TeamName) -> None:
    """Delete a team. Refused while it owns anything."""
    session.client().delete(f"teams/{team}")
    _say(session, {"name": team, "result": "deleted"}, f"{team}: deleted")


@app.verb()
def roles(session: Session, team: TeamOrAll, limit: Limit = 1000) -> None:
    """List who has which role in a team. For administrators of the team."""
    from controlplane.cli.base import output
    from controlplane.cli.base.output import ago

    found = session.client().pages(f"teams/{team}/bindings", limit=limit)
    if not session.printed(found):
        rows = ((_holder(each), each["role"], each["created_by"], ago(each["created_at"])) for each in found)
        output.table(("user or group", "role", "bound by", "bound"), rows, empty="No roles.")


@app.verb()
def bind(
    session: Session,
    team: TeamOrAll,
    role: RoleName,
    user: OfUser = None,
    group: OfGroup = None,
    no_records: Annotated[
        bool, typer.Option("--no-records", help="What events hold is not shown, whatever the role.")
    ] = False,
) -> None:
    """Give a user or a group of the provider a role in a team. For administrators of the team.

    A user has one role in a team; the new one replaces it. A group can be bound before any of its users has signed in.
    """
    made = session.client().put(
        f"teams/{team}/bindings", {**_given(user, group), "role": role, "sees_records": not no_records}
    )
    _say(session, made, f"{_holder(made)}: {made['role']} in {team}")


@app.verb()
def unbind(session: Session, team: TeamOrAll, user: OfUser = None, group: OfGroup = None) -> None:
    """Take the role of a user or a group in a team back. For administrators of the team."""
    wanted = _given(user, group)
    rows = session.client().pages(f"teams/{team}/bindings", limit=None)
    found = [each for each in rows if all(each[key] == value for key, value in wanted.items())]
    if not found:
        words = f"{user or group} has no role in {team}"
        raise CommandError(words, hint=f"headgate teams roles {team}", code="binding_not_found")
    session.client().delete(f"teams/{team}/bindings/{found[0]['id']}")
    _say(session, {**found[0], "result": "unbound"}, f"{user or group}: no role in {team}")


@app.verb()
def move(
    session: Session,
    name: Name,
    team: Annotated[str, typer.Option("--to", metavar="TEAM", help="The team that owns it from now on.")],
) -> None:
    """Move a pipeline to another team. For administrators of both teams."""
    _, moved = session.client().post(path(name, "team"), {"team": team})
    _say(session, moved, f"{moved['name']}: in the team {moved['team']}")


def _given(user: str | None, group: str | None) -> dict[str, str]:
    """The one that was given; CommandError for none and for both."""
    given = {key: value for key, value in {"user": user, "group": group}.items() if value is not None}
    if len(given) != 1:
        raise CommandError("Give either --user or --group", code="holder_missing", exit_code=ExitCode.USAGE)
    return given


def _holder(binding: dict[str, Any]) -> str:
    return str(binding["user"] or binding["group"])


def _say(session: Session, result: dict[str, Any], words: str) -> None:
    from controlplane.cli.base import output

    if not session.printed(result):
        output.print_line(words)
