"""Runs the tests of definitions that are requested of the host."""

from __future__ import annotations

from pipelines.models import CaseRun
from pipelines.selectors.preview.testing import open_runs
from pipelines.services.preview import testing
from workers.supervisor.previewing.previewer import TaskContext


class CasesContext(TaskContext[CaseRun]):
    """Runs tests."""

    def open_tasks(self) -> list[CaseRun]:
        """Runs of tests."""
        return open_runs(self.host)

    def _make(self, task: CaseRun) -> None:
        """Tests share a process with previews of their pipeline; those of pipelines that are not created yet with those
        of their team, which run as a user of their own."""
        asked = self.launcher.to_test(task, testing.SECONDS)
        if isinstance(asked, list):
            self._refuse(task, [each.model_dump() for each in asked])
            return
        if task.pipeline is not None:
            answer = self._asked(task.pipeline, asked)
        else:
            owner = f"tests of team {task.team_id}"
            answer = self.previews.make(owner, self.launcher.user(f".tests-{task.team_id}", owner), asked)
        if answer.result is None:
            self._refuse(task, answer.findings)
        else:
            testing.finish(run=task, result=answer.result)
