"""What all commands share: the server's address, the token, and the options that occur in many of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from controlplane.cli.base.client import Client

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Name = Annotated[str, typer.Argument(help="The pipeline's name.", metavar="NAME")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=100_000, help="The most entries to show.")]


@dataclass
class Session:
    """One call of the command line. `transport` is for tests."""

    url: str
    token: str
    as_json: bool = False
    transport: Any = None

    def client(self) -> Client:
        """The API's client."""
        from controlplane.cli.base.client import Client

        return Client(self.url, self.token, self.transport)


def begin(ctx: typer.Context, *, as_json: bool) -> Client:
    """Note how to print, and give the client."""
    session: Session = ctx.obj
    session.as_json = as_json
    return session.client()


def path(name: str, *parts: str) -> str:
    """The address of something below a pipeline; a name with other characters cannot lead elsewhere."""
    from urllib.parse import quote

    return "/".join(["pipelines", quote(name, safe=""), *parts])
