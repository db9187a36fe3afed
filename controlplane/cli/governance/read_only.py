"""Commands about the read-only mode of the installation: show, on, off."""

from __future__ import annotations

from typing import Any

from controlplane.cli.base.commands import Group
from controlplane.cli.base.session import Reason, Session

ADDRESS = "installation/read-only"

app = Group("Make the installation read-only for an upgrade, an incident or a holiday, and writable again.")


@app.verb()
def show(session: Session) -> None:
    """Show whether the installation is read-only, since when, who set it and why."""
    _print(session, session.client().get(ADDRESS))


@app.verb()
def on(session: Session, reason: Reason) -> None:
    """Refuse what users start, change or publish. Stops, pauses and roll-backs are possible; pipelines continue."""
    _put(session, read_only=True, reason=reason)


@app.verb()
def off(session: Session, reason: Reason) -> None:
    """Let users change the installation again."""
    _put(session, read_only=False, reason=reason)


def _put(session: Session, *, read_only: bool, reason: str) -> None:
    client = session.client()
    etag = client.get(ADDRESS)["etag"]
    _print(session, client.put(ADDRESS, {"read_only": read_only, "reason": reason}, if_match=etag))


def _print(session: Session, found: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    if session.printed(found):
        return
    if not found["set_by"]:
        output.print_line("The installation is writable.")
        return
    state = "read-only" if found["read_only"] else "writable"
    since = f" {output.ago(found['since'])}" if found["since"] else ""
    output.print_line(f"The installation is {state}, set{since} by {found['set_by']}: {found['reason']}")
