"""Commands about silences."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import Limit, OwnerTeam, Session
from controlplane.cli.monitoring.matchers import Chosen, words

_LASTING = re.compile(r"([0-9]{1,6})([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

app = Group("Hold back messages about alerts for a while.")


@app.verb("list")
def list_silences(
    session: Session,
    state: Annotated[str | None, typer.Option("--state", help="active, expired or ended.")] = None,
    limit: Limit = 50,
) -> None:
    """List silences, newest first."""
    from controlplane.cli.base import output

    found = session.client().pages("silences", limit=limit, state=state and state.upper())
    if session.printed(found):
        return
    columns = ("id", "state", "alerts", "ends at", "by", "comment", "suppressed")
    first = "Add one: headgate silences create --pipeline NAME --for 2h --comment TEXT"
    output.table(columns, map(_row, found), empty=output.none("silences", (state,), first))


def _row(silence: dict[str, Any]) -> tuple[object, ...]:
    what = (silence["ends_at"], silence["created_by"], silence["comment"], silence["suppressed"])
    return str(silence["id"]), silence["state"], words(silence["matchers"]), *what


@app.verb()
def create(
    session: Session,
    chosen: Chosen,
    comment: Annotated[str, typer.Option("--comment", help="The reason for the silence.")],
    lasting: Annotated[str | None, typer.Option("--for", help="How long: 30m, 2h, 7d.", metavar="DURATION")] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", help="The end (RFC 3339; in this machine's time zone where it has none)."),
    ] = None,
    team: OwnerTeam = None,
) -> None:
    """Hold back messages about the alerts that match. The alerts stay visible; those that still fire at the end are
    delivered then."""
    from controlplane.cli.base import output

    body = {"matchers": chosen.body(), "ends_at": _end(lasting, until), "comment": comment}
    body |= {"team": team} if team else {}
    _, made = session.client().post("silences", body)
    if not session.printed(made):
        output.print_line(f"Silence {made['id']} until {made['ends_at']}: {words(made['matchers'])}")


def _end(lasting: str | None, until: str | None) -> str:
    from datetime import UTC, datetime, timedelta

    from controlplane.cli.base.inputs import moment

    if (lasting is None) == (until is None):
        raise CommandError.of_usage("Give either --for or --until.")
    if until is not None:
        return moment(until)
    match = _LASTING.fullmatch(lasting or "")
    if match is None:
        raise CommandError.of_usage(f"{lasting} is not a duration such as 30m, 2h or 7d.")
    try:
        return (datetime.now(UTC) + timedelta(seconds=int(match[1]) * _UNITS[match[2]])).isoformat()
    except OverflowError:
        raise CommandError.of_usage(f"{lasting} is too long.") from None


@app.verb()
def end(
    session: Session,
    silence: Annotated[int, typer.Argument(help="The silence's number.", metavar="ID", min=1)],
) -> None:
    """End a silence now. Alerts that still fire are delivered."""
    from controlplane.cli.base import output

    _, ended = session.client().post(f"silences/{silence}/end", {})
    if not session.printed(ended):
        output.print_line(f"Silence {silence}: ended")
