"""What all commands share: the server's address, the token, how to print, and options that occur in many commands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from controlplane.cli.base.client import Client


class Format(StrEnum):
    """How a command prints data."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


Output = Annotated[Format, typer.Option("--output", "-o", help="The output format: table, json or yaml.")]
Name = Annotated[str, typer.Argument(help="The pipeline's name.", metavar="NAME")]
OfHost = Annotated[str | None, typer.Option("--host", help="Only pipelines of this host.", metavar="NAME")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=100_000, help="The maximum number of entries.")]
OwnerTeam = Annotated[
    str | None,
    typer.Option("--team", metavar="TEAM", help="The team that owns it: your only one, or with a role in all, none."),
]
Reason = Annotated[str, typer.Option("--reason", help="The reason, recorded in the audit log.")]


@dataclass(frozen=True)
class Waiting:
    """Whether to wait for an operation, and for how long."""

    wait: Annotated[bool, typer.Option("--wait", help="Wait until the operation ends, and show its steps.")] = False
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, max=86_400, help="Limit of --wait in seconds.")] = (
        300.0
    )


@dataclass
class Session:
    """One call of the command line. `transport` is for tests."""

    url: str
    token: str
    format: Format = Format.TABLE
    transport: Any = None

    def client(self) -> Client:
        """The API's client."""
        from controlplane.cli.base.client import Client

        return Client(self.url, self.token, self.transport)

    @property
    def for_programs(self) -> bool:
        """Whether the output is data alone, without tables and progress."""
        return self.format is not Format.TABLE

    def printed(self, document: Any) -> bool:
        """Print the document as JSON or YAML. False where a table is asked for: the caller prints it."""
        from controlplane.cli.base import output

        if self.for_programs:
            output.write_document(document, self.format)
        return self.for_programs

    def printed_record(self, document: Any) -> bool:
        """Print one record of a sequence as a JSON line or a YAML document. False where a line of text is asked for."""
        from controlplane.cli.base import output

        if self.for_programs:
            output.write_record(document, self.format)
        return self.for_programs


def path(name: str, *parts: str) -> str:
    """The address of something below a pipeline; a name with other characters cannot lead elsewhere."""
    from urllib.parse import quote

    return "/".join(["pipelines", quote(name, safe=""), *parts])
