"""A migration described by a file: read and checked before the server is contacted, with all findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.output import counted
from pipelines.domain.base.findings import Finding, did_you_mean, quote
from pipelines.domain.base.states import MigrationKind
from pipelines.domain.definitions.document.text import Loaded, load
from pipelines.domain.migration.specs import problems

KEYS = {
    "pipeline": "the pipeline's name",
    "kind": f"one of {', '.join(MigrationKind)}",
    "spec": "the specification of its kind",
    "reason": "the reason",
}
_NEEDED = ("pipeline", "kind", "reason")


def migration_of(text: str, file: str) -> dict[str, Any]:
    """The migration that a file describes. CommandError with all its findings."""
    found = _loaded(text, file, "pipeline, kind, spec and reason")
    _require_none(file, found, list(_of_file(found.data)))
    data: dict[str, Any] = found.data
    return data


def cluster_move_of(text: str, file: str) -> dict[str, Any]:
    """The specification of a move to another cluster."""
    found = _loaded(text, file, "source or sink, to, and positions")
    _require_none(file, found, list(_of_spec(MigrationKind.CLUSTER, found.data, ())))
    data: dict[str, Any] = found.data
    return data


def _loaded(text: str, file: str, what: str) -> Loaded:
    found = load(text)
    if found.findings:
        _require_none(file, found, found.findings)
    if not isinstance(found.data, dict):
        words = f"{file} is not a migration: write {what}."
        raise CommandError(words, code="not_a_migration", exit_code=ExitCode.REFUSED)
    return found


def _require_none(file: str, found: Loaded, findings: list[Finding]) -> None:
    errors = [finding for finding in findings if finding.is_error]
    if errors:
        located = [finding if finding.line else found.located(finding) for finding in errors]
        raise CommandError(
            title=f"{file} has {counted(len(errors), 'error', 'errors')}",
            detail="The server was not contacted.",
            code="migration_file_invalid",
            exit_code=ExitCode.REFUSED,
            findings=[finding.model_dump(mode="json") for finding in located],
        )


def _of_file(data: Mapping[str, Any]) -> Iterator[Finding]:
    for key in sorted(data.keys() - KEYS.keys()):
        yield _finding(key, "unknown_key", f"There is no key {quote(key)}.", did_you_mean(key, KEYS))
    for key in _NEEDED:
        value = data.get(key)
        if not isinstance(value, str) or not value.strip():
            yield _finding(key, "missing_key", f"{key} is missing, or is not text.", f"Write {key}: {KEYS[key]}.")
    kind, spec = data.get("kind"), data.get("spec", {})
    if not isinstance(spec, dict):
        yield _finding("spec", "wrong_type", "spec is not an object.", "Write its keys under it.")
    elif isinstance(kind, str) and kind.strip():
        if kind in set(MigrationKind):
            yield from _of_spec(MigrationKind(kind), spec, ("spec",))
        else:
            yield _finding(
                "kind", "unknown_kind", f"There is no kind {quote(kind)}.", did_you_mean(kind, MigrationKind)
            )


def _of_spec(kind: MigrationKind, spec: Mapping[str, Any], at: tuple[str, ...]) -> Iterator[Finding]:
    for finding in problems(kind, spec, at=at):
        yield finding.model_copy(update={"line": None, "column": None})


def _finding(path: str, code: str, message: str, suggestion: str) -> Finding:
    return Finding(path=path, code=code, message=message, suggestion=suggestion)
