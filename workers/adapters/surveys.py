"""Looks at positions and at Spark clusters, each in a child process that runs the agent's own code: what hangs in a
client or in a look-up of a name ends with it."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TypeVar

from pydantic import BaseModel

from pipelines.domain.definitions.parts.clusters import ClusterSpec
from pipelines.domain.hosts import connection_tests
from pipelines.domain.hosts.connection_tests import ConnectionResult
from pipelines.domain.positions.plan import InspectionRequest, InspectionResult
from pipelines.domain.runs.protocol import AgentUser
from workers.adapters.processes import Child
from workers.ports import ConnectionFailed, InspectionFailed

SECONDS = 45.0
_SURVEY = "workers.agent.startup.survey"
_TRANSLATING = "workers.agent.kafka.translating"
"""Who answers: the latter where the question is about another cluster."""
_CONTACT = "workers.agent.spark.contact"
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ")
_LAST_WORDS = 500

AnswerT = TypeVar("AnswerT", bound=BaseModel)


class ChildSurveys:
    """`workers.ports.Surveys`. The question, secrets included, goes through a pipe and nothing else."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._waiting: Child | None = None
        self._lock = threading.Lock()

    def get_ready(self) -> None:
        """Keep a child that has imported everything, which takes it half a second, and waits for its question. It ends
        with the worker, whose end closes its pipe."""
        with self._lock:
            if self._waiting is None or not self._waiting.lives:
                self._waiting = _child(_TRANSLATING)

    def stand_down(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, None
        if waiting is not None:
            _end(waiting)

    def _child_for(self, question: InspectionRequest) -> Child:
        if question.move is None:
            user = question.launch.get("user")
            return _child(_SURVEY, user and AgentUser.model_validate(user))
        with self._lock:
            waiting, self._waiting = self._waiting, None
        return waiting if waiting is not None and waiting.lives else _child(_TRANSLATING)

    def inspect(self, question: InspectionRequest) -> InspectionResult:
        try:
            return _answer(self._child_for(question), question, InspectionResult, self._seconds)
        except subprocess.TimeoutExpired:
            raise InspectionFailed(
                "inspection_timed_out",
                f"The sources did not answer within {self._seconds:g} s.",
                "Check that they can be reached.",
            ) from None
        except _Ended as ended:
            raise InspectionFailed("inspection_failed", f"The inspection {ended}", "") from None


class ChildSparkClusters:
    """`workers.ports.SparkClusters`."""

    def __init__(self, seconds: float = connection_tests.SECONDS) -> None:
        self._seconds = seconds

    def test(self, spec: ClusterSpec) -> ConnectionResult:
        try:
            return _answer(_child(_CONTACT), spec, ConnectionResult, self._seconds)
        except subprocess.TimeoutExpired:
            raise ConnectionFailed(
                "CLUSTER_TIMED_OUT",
                f"The cluster was not connected to within {self._seconds:g} s.",
                "Check that this host resolves the names of the servers, and that nothing delays its connections.",
            ) from None
        except _Ended as ended:
            raise ConnectionFailed("connection_failed", f"The test {ended}", "Test the connection again.") from None


class _Ended(Exception):
    """A child has ended without an answer; its code, and the last of what it wrote."""


def _answer(child: Child, question: BaseModel, kind: type[AnswerT], seconds: float) -> AnswerT:
    """What a child says to a question, which ends it. Raises TimeoutExpired and _Ended."""
    try:
        said, log = child.communicate(question.model_dump_json().encode(), seconds)
    finally:
        _end(child)
    try:
        return kind.model_validate_json(said)
    except ValueError:
        words = log.decode(errors="replace").strip()[-_LAST_WORDS:]
        raise _Ended(f"ended with {child.returncode}: {words}") from None


def _child(module: str, user: AgentUser | None = None) -> Child:
    argv = [sys.executable, "-m", "workers.keeper.lowered", module]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return Child(argv, user, passed_on=_PASSED_ON, **pipes)


def _end(child: Child) -> None:
    child.end()
    child.communicate()
