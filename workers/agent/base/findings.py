"""Why an agent refuses to start, or may not go on."""

from __future__ import annotations

import json

from pipelines.domain.runs.protocol import AgentFinding

_MARK = "headgate-blocked:"


class Refused(Exception):
    """A component or a position does not allow a start. Carries every finding."""

    def __init__(self, *findings: AgentFinding) -> None:
        super().__init__("; ".join(finding.message for finding in findings))
        self.findings = list(findings)


class Blocked(Exception):
    """A batch that no attempt can finish: it is not done, and a person has to decide."""

    def __init__(self, finding: AgentFinding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def refuse(path: str, code: str, message: str, suggestion: str = "", *, retryable: bool = False) -> Refused:
    """A refusal with one finding; `retryable` where the cause may go away by itself."""
    finding = AgentFinding(path=path, code=code, message=message, suggestion=suggestion, retryable=retryable)
    return Refused(finding)


def blocking_text(path: str, code: str, message: str, suggestion: str = "") -> str:
    """The text of an exception that a Spark task raises to block the pipeline; `blocked_by` finds it again."""
    finding = {"path": path, "code": code, "message": message, "suggestion": suggestion}
    return f"{_MARK}{json.dumps(finding)}"


def blocked_by(text: str) -> Blocked | None:
    """The finding in the text of a failure, however often Spark and Java have wrapped it."""
    _, found, rest = text.partition(_MARK)
    if not found:
        return None
    try:
        data, _ = json.JSONDecoder().raw_decode(rest)
        return Blocked(AgentFinding.model_validate(data))
    except ValueError:
        return None
