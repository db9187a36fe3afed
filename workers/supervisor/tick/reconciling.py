"""Finds out whether this host knows more of a pipeline than the database, and carries out whom to believe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.db import transaction

from pipelines.domain.base.states import RunRole
from pipelines.domain.ledger.journal import Entry, read_sound_entries
from pipelines.domain.lifecycle.reconciling import Ahead, SourceOfTruth
from pipelines.domain.runs.protocol import Launch
from pipelines.models import Pipeline, Reconciliation, Run
from pipelines.selectors.lifecycle import supervision
from pipelines.selectors.runs import files
from pipelines.selectors.runs.runs import next_number
from pipelines.services.ledger import journals
from pipelines.services.lifecycle import reconciling
from workers.ports import Now, Processes, RunDirs
from workers.supervisor.tick.journals import JOURNAL_CHUNK


@dataclass(frozen=True)
class Reconciler:
    """Compares and takes over, on one host."""

    rundirs: RunDirs
    processes: Processes

    def ahead(self, pipeline: Pipeline) -> Ahead:
        """What the host knows that the database does not. Directories of another pipeline of the name do not count."""
        unknown = self._unknown(pipeline)
        holders = self.processes.holders() if unknown else {}
        living = tuple(launch.run for launch in unknown if launch.token in holders)
        return Ahead(tuple(launch.run for launch in unknown), self._later_generation(pipeline), living)

    def _unknown(self, pipeline: Pipeline) -> list[Launch]:
        known = next_number(pipeline.name) - 1
        numbers = range(known + 1, self.rundirs.last_number(pipeline.name) + 1)
        launches = (self._launch(self.rundirs.path(pipeline.name, number)) for number in numbers)
        return [launch for launch in launches if launch is not None and launch.pipeline_id == str(pipeline.id)]

    def _launch(self, run_dir: Path) -> Launch | None:
        """What a run was told, its promotion included; None of one that never was ACTIVE: it has read nothing."""
        launch = self.rundirs.launch(run_dir)
        if launch is None or launch.role is RunRole.ACTIVE:
            return launch
        promotion = self.rundirs.promotion(run_dir)
        return launch.promoted(promotion) if promotion else None

    def _later_generation(self, pipeline: Pipeline) -> int | None:
        last = supervision.last_run(pipeline.id)
        control = self.rundirs.control(Path(last.run_dir)) if last else None
        return control.generation if control and control.generation > pipeline.generation else None

    @transaction.atomic
    def carry_out(self, pipeline: Pipeline, now: Now) -> Ahead:
        """Do what a person has decided, all or nothing. Returns what is still in question: an agent that lives and is
        not believed.

        Raises JournalCorrupt where a journal that is to be believed cannot be read.
        """
        decision = Reconciliation.objects.filter(pipeline=pipeline).first()
        ahead = self.ahead(pipeline)
        if decision is None:
            return ahead
        if decision.source_of_truth == SourceOfTruth.DATABASE and ahead.living:
            decision.delete()
            return ahead
        if decision.source_of_truth == SourceOfTruth.HOST:
            for launch in self._unknown(pipeline):
                self._adopt(pipeline, launch, alive=launch.run in ahead.living[-1:], now=now)
        last = self.rundirs.last_number(pipeline.name)
        reconciling.settle(pipeline=pipeline, last_run=last, generation=self._later_generation(pipeline) or 0)
        return Ahead()

    def _adopt(self, pipeline: Pipeline, launch: Launch, *, alive: bool, now: Now) -> None:
        run_dir = self.rundirs.path(pipeline.name, launch.run)
        run = reconciling.adopt(
            pipeline=pipeline,
            launch=launch,
            run_dir=run_dir,
            exit_record=self.rundirs.exit_record(run_dir),
            alive=alive,
            now=now.wall,
        )
        if not alive:
            self._take_in(run, run_dir)

    def _take_in(self, run: Run, run_dir: Path) -> None:
        """The whole journal of a run that is over."""
        while entries := self._take_in_chunk(run, run_dir):
            run.journal_seq = entries[-1].n

    def _take_in_chunk(self, run: Run, run_dir: Path) -> list[Entry]:
        chunk = self.rundirs.journal(run_dir, run.journal_offset, JOURNAL_CHUNK)
        entries, consumed = read_sound_entries(chunk.data, run.journal_seq)
        if entries:
            journals.ingest(run=run, entries=entries, offset=run.journal_offset + consumed)
            run.journal_offset += consumed
        return entries

    def notice_all(self, host: str) -> None:
        """Show what this host knows more of pipelines that nobody wants to start now."""
        known = files.last_numbers()
        for pipeline in files.resting(host):
            if self.rundirs.last_number(pipeline.name) > known.get(pipeline.name, 0) and (more := self.ahead(pipeline)):
                reconciling.notice(pipeline=pipeline, finding=more.finding(host, pipeline.generation))
