"""Why an agent refuses to start."""

from __future__ import annotations

from pipelines.domain.protocol import AgentFinding


class Refused(Exception):
    """A component or a position does not allow a start. Carries every finding."""

    def __init__(self, *findings: AgentFinding) -> None:
        super().__init__("; ".join(finding.message for finding in findings))
        self.findings = list(findings)


def refuse(path: str, code: str, message: str, suggestion: str = "", *, retryable: bool = False) -> Refused:
    """A refusal with one finding; `retryable` where the cause may go away by itself."""
    finding = AgentFinding(path=path, code=code, message=message, suggestion=suggestion, retryable=retryable)
    return Refused(finding)
