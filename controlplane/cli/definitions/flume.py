"""`headgate flume import`: definitions from configurations of Flume. It needs no server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import Session
from controlplane.cli.definitions.definitions import read_text

if TYPE_CHECKING:
    from pipelines.domain.flume.importing.importer import Imported
    from pipelines.domain.flume.reading.report import ImportFinding


app = Group("Import configurations of Apache Flume. Needs no server.")


@app.verb("import")
def import_flume(
    session: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A properties file of Flume 1.x; - for standard input.")],
    agent: Annotated[str | None, typer.Option("--agent", help="The agent, where the file has several.")] = None,
    target: Annotated[
        Path | None, typer.Option("--write", help="Write the definition to this file.", metavar="FILE")
    ] = None,
) -> None:
    """Convert a Flume agent to a definition, and report differences. The exit code is 4 if a finding is an error."""
    from controlplane.cli.base import output

    imported = _imported(read_text(file), agent)
    text = f"{output.yaml_text(imported.definition)}\n"
    if target is not None:
        _write(target, text)
    findings = [finding.model_dump() for finding in imported.findings]
    if not session.printed({"definition": imported.definition, "findings": findings, "valid": imported.valid}):
        if target is None:
            output.write_text(text)
        _print(imported.findings)
        _conclude(imported)
    if not imported.valid:
        raise typer.Exit(ExitCode.REFUSED)


def _imported(text: str, agent: str | None) -> Imported:
    from pipelines.domain.flume.importing.importer import import_flume as import_text
    from pipelines.domain.flume.reading.report import ImportRefused

    try:
        return import_text(text, agent)
    except ImportRefused as error:
        first = error.findings[0]
        raise CommandError(
            first.message,
            hint=first.suggestion,
            code=first.code,
            exit_code=ExitCode.REFUSED,
            findings=[finding.model_dump() for finding in error.findings],
        ) from None


def _write(target: Path, text: str) -> None:
    try:
        target.write_text(text)
    except OSError as error:
        message = f"{target} cannot be written: {error.strerror}"
        raise CommandError(message, code="unwritable", exit_code=ExitCode.USAGE) from None


def _print(findings: list[ImportFinding]) -> None:
    from controlplane.cli.base import output

    rows = [
        (
            finding.severity,
            finding.line or finding.path or finding.key,
            finding.code,
            finding.message,
            finding.done,
            finding.suggestion,
        )
        for finding in findings
    ]
    columns = ("", "line or path", "code", "message", "result", "suggestion")
    output.table(columns, rows, empty="No findings: the import is complete.", stderr=True)


def _conclude(imported: Imported) -> None:
    from controlplane.cli.base import output

    errors = sum(finding.is_error for finding in imported.findings)
    count = output.counted(errors, "error", "errors")
    output.note(
        "The definition is valid." if imported.valid else f"Correct the definition before you apply it: {count}."
    )
