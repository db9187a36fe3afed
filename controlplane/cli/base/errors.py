"""How a command ends when it does not do what it was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from http import HTTPStatus
from typing import Any


class ExitCode(IntEnum):
    """What the shell sees. Stable: scripts depend on it."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NO_ACCESS = 3
    REFUSED = 4
    TIMED_OUT = 5
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.OK: "done",
    ExitCode.FAILED: "failed: the operation failed, an object does not exist, or the server had an error",
    ExitCode.USAGE: "usage: the command line is wrong",
    ExitCode.NO_ACCESS: "no access: the server or its database is unreachable, or it rejects the token or its role",
    ExitCode.REFUSED: "refused: the definition or the file has findings, or the current state does not allow it",
    ExitCode.TIMED_OUT: "timed out while waiting; the operation continues",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C; the operation continues",
}

_REFUSALS = {HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED, HTTPStatus.UNPROCESSABLE_ENTITY, 428}
_NO_ACCESS = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}


@dataclass
class CommandError(Exception):
    """An expected failure: what happened, why, what to do next, and how the process ends."""

    title: str
    detail: str = ""
    hint: str = ""
    code: str = "error"
    exit_code: ExitCode = ExitCode.FAILED
    findings: list[dict[str, Any]] = field(default_factory=list)
    status: int | None = None

    @classmethod
    def of_problem(cls, status: int, problem: Mapping[str, Any]) -> CommandError:
        """The failure that a problem+json answer describes."""
        code = str(problem.get("code") or f"http_{status}")
        return cls(
            title=str(problem.get("title") or f"The server answered {status}"),
            detail=str(problem.get("detail") or ""),
            hint=_HINTS.get(code) or str(problem.get("hint") or ""),
            code=code,
            exit_code=exit_code_of(status),
            findings=[finding for finding in problem.get("findings") or [] if isinstance(finding, dict)],
            status=status,
        )

    @classmethod
    def of_usage(cls, title: str, *, hint: str = "") -> CommandError:
        """A command line that is wrong in a way that its declaration cannot express."""
        return cls(title, hint=hint, code="usage", exit_code=ExitCode.USAGE)

    @property
    def is_temporary(self) -> bool:
        """Whether a repetition can succeed: the server is unreachable, or has an error of its own."""
        return self.code == "unreachable" or (self.status is not None and self.status >= 500)

    def document(self) -> dict[str, Any]:
        """The failure as data, for `--output json` and `yaml`."""
        names = ("code", "title", "detail", "hint", "findings", "status")
        return {"error": {name: getattr(self, name) for name in names} | {"exit_code": int(self.exit_code)}}


_HINTS = {
    "secret_in_use": "Remove it from their definitions first. With --force it is removed all the same: running "
    "pipelines keep the value that they have, and every later start is refused.",
    "pipeline_not_stopped": "Stop it with `headgate stop NAME --wait`, then apply again.",
    "plan_stale": "Review the current plan with `headgate migrations show ID`. If the pipeline has changed since, plan "
    "again with `headgate migrations replan ID`.",
    "evacuation_open": "`headgate hosts evacuations list` shows its id. Follow it with `headgate hosts evacuations "
    "watch ID`, or cancel it with `headgate hosts evacuations cancel ID`.",
    "not_authenticated": "Set HEADGATE_TOKEN; `headgate create-token` creates a token.",
}


def exit_code_of(status: int) -> ExitCode:
    """The exit code that belongs to an HTTP status."""
    if status in _REFUSALS:
        return ExitCode.REFUSED
    return ExitCode.NO_ACCESS if status in _NO_ACCESS else ExitCode.FAILED
