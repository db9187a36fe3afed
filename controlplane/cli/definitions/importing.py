"""Definitions out of the configurations of other systems. No server is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import AsJson
from controlplane.cli.definitions.definitions import read_text

if TYPE_CHECKING:
    from pipelines.domain.flume.importing.importer import Imported
    from pipelines.domain.flume.reading.report import ImportFinding


def import_flume(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A properties file of Flume 1.x; - for standard input.")],
    agent: Annotated[str | None, typer.Option("--agent", help="Which agent, where the file has several.")] = None,
    target: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the definition into this file.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Turn an agent of Flume into a definition, and tell what differs. Ends with 4 where it is not valid."""
    from controlplane.cli.base import output

    ctx.obj.as_json = as_json
    imported = _imported(read_text(file), agent)
    text = _yaml(imported.definition)
    if target is not None:
        _write(target, text)
    if as_json:
        findings = [finding.model_dump() for finding in imported.findings]
        output.write_json({"definition": imported.definition, "findings": findings, "valid": imported.valid})
    else:
        if target is None:
            output.write_text(text)
        _show(imported.findings)
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


def _yaml(definition: dict[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(definition, sort_keys=False, allow_unicode=True, width=120)


def _write(target: Path, text: str) -> None:
    try:
        target.write_text(text)
    except OSError as error:
        message = f"{target} cannot be written: {error.strerror}"
        raise CommandError(message, code="unwritable", exit_code=ExitCode.USAGE) from None


def _show(findings: list[ImportFinding]) -> None:
    from controlplane.cli.base import output

    rows = [
        (
            finding.severity,
            finding.line,
            finding.code,
            finding.message,
            finding.done,
            finding.suggestion,
        )
        for finding in findings
    ]
    columns = ("", "line", "code", "what", "what was done", "what to do")
    output.table(columns, rows, empty="Nothing to tell: everything was taken over.", stderr=True)


def _conclude(imported: Imported) -> None:
    from controlplane.cli.base import output

    errors = sum(finding.is_error for finding in imported.findings)
    output.note("The definition is valid." if imported.valid else f"The definition is not valid: {errors} to repair.")
