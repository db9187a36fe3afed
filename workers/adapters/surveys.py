"""Looks at positions, each in a child process that runs the agent's own guard: what hangs in a client ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from pipelines.domain.position_plan import Answer, Question
from workers.ports import LookFailed

SECONDS = 45.0
_PROJECT = Path(__file__).resolve().parents[2]
_ASKED = {False: "workers.agent.survey", True: "workers.agent.translating"}
"""Who answers, by whether the question is about another cluster."""
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ")
_LAST_WORDS = 500


class ChildSurveys:
    """`workers.ports.Surveys`. The question, secrets included, goes through a pipe and nothing else."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds

    def look(self, question: Question) -> Answer:
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        child = subprocess.Popen(
            [sys.executable, "-m", _ASKED[question.move is not None]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, cwd=_PROJECT,
            env={**environment, "PYTHONPATH": str(_PROJECT)},
        )  # fmt: skip
        try:
            said, log = child.communicate(question.model_dump_json().encode(), self._seconds)
        except subprocess.TimeoutExpired:
            raise LookFailed(
                "look_timed_out",
                f"The sources did not answer within {self._seconds:g} s.",
                "Check that they can be reached.",
            ) from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
        try:
            return Answer.model_validate_json(said)
        except ValueError:
            words = log.decode(errors="replace").strip()[-_LAST_WORDS:]
            raise LookFailed("look_failed", f"The look ended with {child.returncode}: {words}", "") from None
