"""Commands about users."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.session import Limit, Session

UserName = Annotated[str, typer.Argument(help="The user's name.", metavar="USER")]
RoleName = Annotated[str, typer.Option("--role", metavar="ROLE", help="viewer, operator, approver or admin.")]

app = Group("List users, create them, and let them in or not. For administrators.")


@app.verb("list")
def list_users(session: Session, limit: Limit = 1000) -> None:
    """List users, their roles and how they log in."""
    from controlplane.cli.base import output

    found = session.client().pages("users", limit=limit)
    if not session.printed(found):
        columns = ("user", "role", "state", "logs in with", "tokens", "last log-in")
        output.table(columns, map(_row, found), empty="No users.")


@app.verb()
def create(
    session: Session,
    name: UserName,
    role: RoleName = "viewer",
    team: Annotated[
        str | None, typer.Option("--team", metavar="TEAM", help="The role counts in this team; by default in all.")
    ] = None,
) -> None:
    """Create a user without a password: a program that holds tokens, or a user of the provider.

    On the server, `headgate create-user` sets a password.
    """
    _, made = session.client().post("users", {"username": name, "role": role, "team": team})
    _print(session, made)


@app.verb()
def set_role(session: Session, name: UserName, role: RoleName) -> None:
    """Give a user another role in all teams. `headgate teams bind` sets the role in one."""
    _print(session, session.client().patch(_path(name), {"role": role}))


@app.verb()
def disable(session: Session, name: UserName) -> None:
    """Let a user in no longer. Sessions and tokens end permanently, also if the user is enabled again."""
    _print(session, session.client().patch(_path(name), {"active": False}))


@app.verb()
def enable(session: Session, name: UserName) -> None:
    """Let a disabled user in again."""
    _print(session, session.client().patch(_path(name), {"active": True}))


def _print(session: Session, user: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    if not session.printed(user):
        output.print_line(f"{user['username']}: {_state(user)}, {_roles(user) or 'no role'}, {user['tokens']} tokens")


def _row(user: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    ways = {"password": user["password"], "provider": user["provider"], "second factor": user["second_factor"]}
    last = ago(user["last_login_at"]) if user["last_login_at"] else "-"
    used = ", ".join(name for name, has in ways.items() if has) or "tokens alone"
    return user["username"], _roles(user) or "-", _state(user), used, user["tokens"], last


def _roles(user: dict[str, Any]) -> str:
    """The role in all teams, and those in single ones."""
    single = (f"{each['role']} in {each['team']}" for each in user["teams"])
    return ", ".join([*([user["role"]] if user["role"] else []), *single])


def _state(user: dict[str, Any]) -> str:
    return "enabled" if user["active"] else "DISABLED"


def _path(name: str) -> str:
    return f"users/{quote(name, safe='')}"
