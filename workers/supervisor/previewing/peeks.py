"""Peeks at records of topics: a previewer reads them, and the ledger is asked here which batches delivered them."""

from __future__ import annotations

from pipelines.domain.definitions.document.spec import Masking
from pipelines.domain.peek.protocol import PeekRequest
from pipelines.domain.peek.question import PeekQuestion
from pipelines.models import Peek
from pipelines.selectors.lifecycle import supervision
from pipelines.selectors.peek.batches import with_batches
from pipelines.selectors.peek.peeks import open_peeks
from pipelines.services.base import host_tasks
from pipelines.services.peek import peeks
from workers.supervisor.previewing.previewer import TaskContext


class PeekContext(TaskContext[Peek]):
    """Makes peeks."""

    def open_tasks(self) -> list[Peek]:
        """Peeks."""
        return open_peeks(self.host)

    def _make(self, task: Peek) -> None:
        """With the present revision, as far as an agent with it could be started here: a peek reaches nothing that the
        pipeline may not."""
        revision = task.pipeline.current_revision
        definition = revision.definition if revision else {}
        side = self.launcher.side(task.pipeline, definition)
        if isinstance(side, list):
            self._refuse(task, [each.model_dump() for each in side])
            return
        question = PeekQuestion.model_validate(task.question)
        request = PeekRequest(
            kind="sample" if question.is_sample else "peek",
            side=side[0],
            question=question,
            masking=_masking(task),
            state=str(self.launcher.data_root(task.pipeline, definition)),
            **self.launcher.of_host(
                task.pipeline.team_id, side[1], peeks.SAMPLE_SECONDS if question.is_sample else peeks.SECONDS
            ),
        )
        answer = self._asked(task.pipeline, request, wanted=lambda: host_tasks.is_wanted(task))
        if answer.result is None:
            self._refuse(task, answer.findings)
            return
        records = with_batches(task.pipeline, answer.result.records)
        peeks.finish(peek=task, result=answer.result.model_copy(update={"records": records}))


def _masking(task: Peek) -> list[Masking]:
    """Of the present revision and of the one that runs, which has written the newest records of sinks."""
    last = supervision.last_run(task.pipeline.id)
    revisions = [task.pipeline.current_revision, last.revision if last else None]
    found = [each.definition.get("masking") for each in revisions if each]
    return [Masking.model_validate(each) for each in found if each]
