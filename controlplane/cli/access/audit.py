"""Commands about the audit: who did what, from where, and what was before and after."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import Limit, Session

app = Group("List, export and verify the audit: who did what, from where, and what was before and after.")


class File(StrEnum):
    """What an export is written as."""

    JSONL = "jsonl"
    CSV = "csv"


@dataclass(frozen=True)
class Chosen:
    """Which rows; all of them without an option."""

    actor: Annotated[str | None, typer.Option("--actor", help="Only this user.", metavar="USER")] = None
    action: Annotated[
        str | None, typer.Option("--action", help="Only this action; `secret.` for all that start so.")
    ] = None
    object: Annotated[
        str | None, typer.Option("--object", help="Only this object, by its whole name or id.", metavar="NAME")
    ] = None
    pipeline: Annotated[str | None, typer.Option("--pipeline", help="Only this pipeline.", metavar="NAME")] = None
    team: Annotated[str | None, typer.Option("--team", help="Only pipelines of this team.", metavar="TEAM")] = None
    token: Annotated[str | None, typer.Option("--token", help="Only by this token: its prefix.", metavar="ID")] = None
    outcome: Annotated[str | None, typer.Option("--outcome", help="Only this outcome: accepted, refused.")] = None
    text: Annotated[
        str | None, typer.Option("--text", help="Only rows with this text in a name, address, before or after.")
    ] = None
    since: Annotated[str | None, typer.Option("--since", help="From this time on (RFC 3339).", metavar="TIME")] = None
    until: Annotated[str | None, typer.Option("--until", help="Before this time (RFC 3339).", metavar="TIME")] = None

    def query(self) -> dict[str, str]:
        """What the API is asked for. Raises CommandError for what is no time."""
        from controlplane.cli.base.inputs import moment

        given = {name: value for name, value in asdict(self).items() if value is not None}
        return {name: moment(value) if name in ("since", "until") else value for name, value in given.items()}


@app.verb("list")
def list_audit(session: Session, chosen: Chosen, limit: Limit = 50) -> None:
    """List who did what, newest first. `-o json` has what was before and after."""
    from controlplane.cli.base import output

    found = session.client().pages("audit", limit=limit, **chosen.query())
    if session.printed(found):
        return
    columns = ("id", "row", "at", "user", "action", "object", "outcome", "from", "token")
    output.table(columns, map(_row, found), empty=output.none("rows", chosen.query().values()))


def _row(row: dict[str, Any]) -> tuple[object, ...]:
    shown = tuple(row[name] for name in ("at", "actor", "action", "object", "outcome", "address", "token"))
    return (str(row["id"]), None if row["sequence"] is None else str(row["sequence"]), *shown)


@app.verb()
def show(session: Session, row: Annotated[int, typer.Argument(help="The id of the row.", metavar="ID", min=1)]) -> None:
    """Show one row with what was before and after."""
    from controlplane.cli.base import output
    from pipelines.domain.definitions.document.text import dump

    found = session.client().get(f"audit/{row}")
    if not session.printed(found):
        output.print_line(dump(found).rstrip())


@app.text_verb()
def export(
    session: Session,
    chosen: Chosen,
    form: Annotated[
        File, typer.Option("--format", help="jsonl can be verified if it has no filter; csv has no formulas.")
    ] = File.JSONL,
    file: Annotated[
        Path | None, typer.Option("--file", help="Write to this file instead of stdout.", metavar="FILE")
    ] = None,
) -> None:
    """Export the audit, oldest row first, as JSON Lines or CSV. An export that breaks off ends with an error."""
    from controlplane.cli.base import output

    parts = session.client().download("audit/export", format=form.value, **chosen.query())
    if file is None:
        output.write_bytes(parts)
        return
    try:
        output.write_file(file, parts)
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}", code="unwritable") from None


@app.verb()
def chain(session: Session) -> None:
    """Show how far the audit is sealed, verified by workers, and forwarded."""
    from controlplane.cli.base import output

    found = session.client().get("audit/chain")
    if session.printed(found):
        return
    for line in _lines(found):
        output.print_line(line)


def _lines(chain: dict[str, Any]) -> list[str]:
    head, check = chain["head"], chain["check"]
    lines = [f"Head: {head['sequence']}:{head['digest']}, signed by {head['key']} at {head['at']}."] if head else []
    if check is None:
        lines.append("The chain was not verified yet.")
    elif check["holds"]:
        lines.append(f"Verified at {check['at']} up to row {check['sequence']}.")
    else:
        lines.append(f"The chain does not hold, as found at {check['at']}: {check['problem']}")
    if chain["unsealed"]:
        lines.append(f"Not sealed yet: {chain['unsealed']} rows, the oldest since {chain['oldest_unsealed_at']}.")
    return [*lines, *map(_forwarded, chain["forwarding"])]


def _forwarded(to: dict[str, Any]) -> str:
    behind = f"; {to['behind']} rows behind since {to['behind_since']}" if to["behind"] else ""
    failure = f". Failing since {to['failing_since']}: {to['error']}" if to["error"] else "."
    return f"Forwarded to {to['address']} up to row {to['sequence']}{behind}{failure}"
