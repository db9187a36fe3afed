"""Commands about API tokens."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.session import Limit, Session

app = Group("List, create and revoke API tokens. The text of a token is printed once, when it is created.")


@app.verb("list")
def list_tokens(
    session: Session,
    user: Annotated[str | None, typer.Option("--user", metavar="USER", help="The tokens of this user.")] = None,
    everyone: Annotated[bool, typer.Option("--all", help="The tokens of all users.")] = False,
    limit: Limit = 1000,
) -> None:
    """List your tokens, newest first. Administrators also list those of other users."""
    from controlplane.cli.base import output

    found = session.client().pages("tokens", limit=limit, user=user, all="true" if everyone else None)
    if session.printed(found):
        return
    columns = ("id", "name", "user", "scope", "expires", "last used", "from", "created by")
    empty = output.none("tokens", (user,), "Create one: headgate tokens create NAME")
    output.table(columns, map(_row, found), empty=empty)
    if endless := [each["id"] for each in found if each["expires_at"] is None]:
        output.print_line(f"Warning: {', '.join(endless)} never expires. Create a token with an end in its place.")


@app.verb()
def create(
    session: Session,
    name: Annotated[str, typer.Argument(help="What the token is for.", metavar="NAME")],
    days: Annotated[int | None, typer.Option("--days", min=1, help="Days until it expires; by default 90.")] = None,
    role: Annotated[
        str | None, typer.Option("--role", metavar="ROLE", help="The highest role that the token has.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="The token changes nothing.")] = False,
    team: Annotated[
        str | None, typer.Option("--team", metavar="TEAM", help="The token is good in this team alone.")
    ] = None,
    no_records: Annotated[bool, typer.Option("--no-records", help="The token never shows what events hold.")] = False,
    user: Annotated[
        str | None, typer.Option("--user", metavar="USER", help="A user without a password whose token it becomes.")
    ] = None,
) -> None:
    """Create a token and print it, this once. It has no more rights than the token that you use, and no later end."""
    from controlplane.cli.base import output

    given = {"days": days, "role_cap": role, "team": team, "user": user}
    body = {"name": name, "read_only": read_only, "sees_records": not no_records} | {
        key: value for key, value in given.items() if value is not None
    }
    _, made = session.client().post("tokens", body)
    if not session.printed(made):
        output.print_line(made["text"])


@app.verb()
def revoke(
    session: Session,
    token: Annotated[str, typer.Argument(help="The token's id, the beginning of its text.", metavar="ID")],
) -> None:
    """Revoke a token permanently. What uses it is refused at once."""
    from controlplane.cli.base import output

    session.client().delete(f"tokens/{quote(token, safe='')}")
    if not session.printed({"id": token, "result": "revoked"}):
        output.print_line(f"{token}: revoked")


def _row(token: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    expires = token["expires_at"] or "never"
    used = ago(token["last_used_at"]) if token["last_used_at"] else "-"
    shown = (token["id"], token["name"], token["user"], _scope(token), "EXPIRED" if token["expired"] else expires)
    return *shown, used, token["last_used_address"] or "-", token["created_by"] or "-"


def _scope(token: dict[str, Any]) -> str:
    parts = [token["role_cap"] or "all", token["team"] and f"in {token['team']}", token["read_only"] and "read-only"]
    parts.append(not token["sees_records"] and "no records")
    return ", ".join(filter(None, parts))
