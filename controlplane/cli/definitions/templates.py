"""`headgate templates`: definitions to start from."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.session import Format, Session

app = Group("Show the templates of definitions, one for each common job.")


@app.verb("list")
def list_templates(session: Session) -> None:
    """List templates."""
    from controlplane.cli.base import output

    found = session.client().get("templates")
    if not session.printed(found):
        rows = [(each["name"], each["title"], each["description"]) for each in found]
        output.table(("name", "title", "description"), rows, empty="No templates.")


@app.verb()
def show(session: Session, name: Annotated[str, typer.Argument(help="The template's name.", metavar="NAME")]) -> None:
    """Print the definition of a template, with comments that say what to fill in."""
    from controlplane.cli.base import output

    found = session.client().get(f"templates/{quote(name, safe='')}")
    if session.format is not Format.JSON or not session.printed(found):
        output.write_text(found["definition_yaml"])
