"""Validation: every finding at once, never an exception, whatever the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.plain import clean
from pipelines.domain.definitions.checks import (
    batch_checks,
    case_checks,
    cluster_checks,
    exposure_checks,
    graph_checks,
    group_checks,
    mode_checks,
    sql_checks,
    value_checks,
)
from pipelines.domain.definitions.checks.structure import structural_findings
from pipelines.domain.definitions.document.outline import Outline
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.regex import budget

MAX_FINDINGS = 500
_CHECKS = (
    *graph_checks.CHECKS,
    *group_checks.CHECKS,
    *mode_checks.CHECKS,
    *cluster_checks.CHECKS,
    *value_checks.CHECKS,
    *sql_checks.CHECKS,
    *exposure_checks.CHECKS,
    *case_checks.CHECKS,
)


@dataclass(frozen=True)
class Validation:
    """`definition` is set only where no finding is an error. Findings are sorted by path."""

    definition: Definition | None
    findings: list[Finding]

    @property
    def valid(self) -> bool:
        """Whether the definition may be stored and started."""
        return self.definition is not None


def validate_data(data: Any) -> Validation:
    """Validate data as JSON or YAML gives it: mappings, lists, text, numbers."""
    with budget.shared():
        return _validated(data)


def _validated(data: Any) -> Validation:
    cleaned = clean(data)
    if not isinstance(cleaned.data, dict):
        return _concluded(None, cleaned.findings or [_not_a_mapping()])
    definition, structural = _parse(cleaned.data)
    findings = [*cleaned.findings, *structural, *_semantic(cleaned.data)]
    if definition is not None and not any(finding.is_error for finding in findings):
        findings += [finding for check in batch_checks.CHECKS for finding in check(definition)]
    return _concluded(definition, findings)


def validate_text(text: str) -> Validation:
    """Validate a definition written in YAML or JSON; findings carry line and column."""
    # agents have no text to read and need not import YAML
    from pipelines.domain.definitions.checks.comment_checks import comments_hold_no_credentials
    from pipelines.domain.definitions.document.text import load

    loaded = load(text)
    if loaded.data is None:
        return _concluded(None, loaded.findings or [_not_a_mapping()])
    validation = validate_data(loaded.data)
    remarks = [] if loaded.findings else comments_hold_no_credentials(text)
    return _concluded(validation.definition, [*loaded.findings, *map(loaded.located, validation.findings), *remarks])


def _parse(data: dict[str, Any]) -> tuple[Definition | None, list[Finding]]:
    try:
        return Definition.model_validate(data), []
    except ValidationError as error:
        return None, list(structural_findings(error))


def _semantic(data: dict[str, Any]) -> list[Finding]:
    outline = Outline.of(data)
    return [finding for check in _CHECKS for finding in check(outline)]


def _concluded(definition: Definition | None, findings: list[Finding]) -> Validation:
    distinct = sorted(dict.fromkeys(findings), key=lambda finding: (finding.path, finding.code))
    refused = any(finding.is_error for finding in distinct)
    if len(distinct) > MAX_FINDINGS:
        distinct = [*distinct[:MAX_FINDINGS], _more(len(distinct) - MAX_FINDINGS)]
    return Validation(None if refused else definition, distinct)


def _not_a_mapping() -> Finding:
    return Finding(
        path="",
        code="wrong_type",
        message="A definition is a mapping of keys to values.",
        suggestion="Start with api_version: headgate/v1.",
    )


def _more(count: int) -> Finding:
    return Finding(
        path="", code="more_findings", message=f"There are {count} more findings.", suggestion="Fix these first."
    )
