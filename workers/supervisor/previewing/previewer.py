"""Makes what previewers are asked of the host's pipelines, in a background loop beside the ticks.

What is requested lies in the database, so that a preview or a trace that a crash interrupted is made again, once.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import structlog

from pipelines.domain.base.causes import explain
from pipelines.domain.preview.protocol import AnswerT, HostRequest, PreviewAnswer
from pipelines.models import Pipeline, Preview
from pipelines.models.host_task import HostTask
from pipelines.selectors.preview.previews import open_previews
from pipelines.services.base import host_tasks
from pipelines.services.preview import previews
from workers.ports import Exclusive, PreviewFailed, PreviewInterrupted, Previews
from workers.supervisor.background.loop import BackgroundLoop, UnderWay
from workers.supervisor.launch.launch import Launcher, NotProvisioned

IDLE_SECONDS = 1.0
AT_ONCE = 2

log = structlog.get_logger(__name__)

TaskT = TypeVar("TaskT", bound=HostTask)


@dataclass(frozen=True)
class TaskContext(ABC, Generic[TaskT]):
    """What every task of a host needs."""

    host: str
    launcher: Launcher
    previews: Previews

    def make(self, task: TaskT) -> None:
        """Make one, if it is still to be made."""
        if not host_tasks.start(task):
            return
        try:
            self._make(task)
        except PreviewInterrupted:
            return
        except (PreviewFailed, NotProvisioned) as error:
            code = getattr(error, "code", "not_provisioned")
            host_tasks.fail(task, {"code": code, "message": str(error), "hint": error.hint})

    @abstractmethod
    def open_tasks(self) -> list[TaskT]:
        """What is to be made, oldest first."""

    @abstractmethod
    def _make(self, task: TaskT) -> None:
        """Have it answered and end it. Raises PreviewFailed, PreviewInterrupted or NotProvisioned."""

    def _asked(
        self, pipeline: Pipeline, request: HostRequest[AnswerT], wanted: Callable[[], bool] = lambda: True
    ) -> AnswerT:
        user = self.launcher.user(pipeline.name, str(pipeline.pk))
        return self.previews.make(str(pipeline.pk), user, request, wanted)

    def _refuse(self, task: HostTask, findings: list[dict[str, Any]]) -> None:
        """End it without a result, for these reasons."""
        shown = ("path", "code", "message", "suggestion")
        findings = [{key: found.get(key, "") for key in shown} for found in findings]
        first = findings[0] if findings else {"message": f"The {task.NOUN} has no result.", "suggestion": ""}
        words = {"code": f"{task.NOUN}_refused", "message": first["message"], "hint": first["suggestion"]}
        host_tasks.fail(task, {**words, "findings": findings})


class PreviewContext(TaskContext[Preview]):
    """Makes previews."""

    def open_tasks(self) -> list[Preview]:
        """Previews."""
        return open_previews(self.host)

    def _make(self, task: Preview) -> None:
        answer = self._answered(task)
        if answer.result is not None:
            previews.finish(preview=task, result=answer.result)
            return
        self._refuse(task, answer.findings)

    def _answered(self, preview: Preview) -> PreviewAnswer:
        """Refused where a start would be: a preview reaches nothing that the pipeline may not."""
        asked = self.launcher.to_preview(preview, previews.SECONDS)
        if isinstance(asked, list):
            return PreviewAnswer(findings=[each.model_dump() for each in asked])
        return self._asked(preview.pipeline, asked)


class Previewer:
    """Makes everything that is requested of the host, two at a time."""

    def __init__(self, previews: Previews, contexts: Sequence[TaskContext[Any]]) -> None:
        self._previews, self._contexts = previews, contexts
        self._under_way = UnderWay("preview", at_once=AT_ONCE)

    def loop(self, lock: Exclusive, wake: threading.Event) -> BackgroundLoop:
        """`lock`: one per host, however many workers it has."""
        return BackgroundLoop("previews", self.turn, pause=IDLE_SECONDS, lock=lock, close=self.close, bell=wake)

    def close(self) -> None:
        """End; what is under way is made again by the next worker."""
        self._under_way.close()
        self._previews.close()

    def turn(self) -> float:
        """Begin everything that is not under way."""
        self._previews.tidy()
        for context in self._contexts:
            for task in context.open_tasks():
                self._under_way.begin(task.pk, partial(self._make, context, task))
        return IDLE_SECONDS

    def _make(self, context: TaskContext[Any], task: HostTask) -> None:
        try:
            context.make(task)
        except Exception as error:
            log.exception("preview_failed", kind=task.NOUN, task=str(task.pk))
            words = {"code": f"{task.NOUN}_failed", "message": explain(error), "hint": "Request it again."}
            host_tasks.fail(task, words)
