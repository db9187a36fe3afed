"""How commands import, print and write what a configuration of another system became."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import Session

if TYPE_CHECKING:
    from pipelines.domain.flume.importing.importer import Imported
    from pipelines.domain.imports.report import ImportFinding


def show(session: Session, make: Callable[[], Imported], target: Path | None) -> None:
    """Print the definition, or write it to the target, and its findings. Ends with 4 if a finding is an error."""
    from controlplane.cli.base import output

    imported = _made(make)
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


def _made(make: Callable[[], Imported]) -> Imported:
    from pipelines.domain.imports.report import ImportRefused

    try:
        return make()
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
