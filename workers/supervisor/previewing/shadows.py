"""Makes parts of shadows: both revisions of a migration on ranges that the old agent has delivered."""

from __future__ import annotations

from pipelines.models import ShadowTask
from pipelines.selectors.migration.shadows import open_shadow_tasks
from pipelines.services.base import host_tasks
from pipelines.services.migration.shadows import SECONDS
from workers.supervisor.previewing.previewer import TaskContext


class ShadowContext(TaskContext[ShadowTask]):
    """Makes parts of shadows, in a process of their own, which leaves the processors to others."""

    def open_tasks(self) -> list[ShadowTask]:
        """Parts that migrations wait for."""
        return open_shadow_tasks(self.host)

    def _make(self, task: ShadowTask) -> None:
        asked = self.launcher.to_shadow(task, SECONDS)
        if isinstance(asked, list):
            self._refuse(task, [each.model_dump() for each in asked])
            return
        user = self.launcher.user(task.pipeline.name, str(task.pipeline_id))
        answer = self.previews.make(f"shadow of {task.pipeline_id}", user, asked)
        if answer.result is None:
            self._refuse(task, answer.findings)
            return
        host_tasks.finish(task, answer.result.model_dump(mode="json"))
