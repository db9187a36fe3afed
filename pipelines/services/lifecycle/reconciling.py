"""What is done where a host knows more of a pipeline than the database: a person says whom to believe."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from django.db import transaction
from django.db.models import F, Max, Q

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import Phase, RunOutcome, RunState, can
from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.lifecycle.reconciling import DATABASE_BEHIND, REASON, SourceOfTruth
from pipelines.domain.runs.protocol import ExitRecord, Launch
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict
from pipelines.models import Pipeline, Reconciliation, Revision, Run, RunNumber
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor
from pipelines.services.governance import governing
from pipelines.services.lifecycle.transitions import set_phase


@transaction.atomic
def decide(*, pipeline: Pipeline, source_of_truth: SourceOfTruth, reason: str, actor: Actor) -> None:
    """Note whom to believe; the host's supervisor carries it out. Raises Conflict where nothing is in question,
    Governed where it needs the word of others."""
    current = Pipeline.objects.get(id=pipeline.id)
    if not in_question(current):
        raise Conflict(
            f"The database and the host of {current.name} agree, so there is nothing to reconcile.",
            code="nothing_to_reconcile",
            hint="The status has the finding DATABASE_BEHIND if they differ.",
        )
    governing.require(pipeline=current, kind=ChangeKind.RECONCILE, actor=actor)
    fields = {"source_of_truth": source_of_truth, "asked_by": actor.name, "at": clock.now()}
    Reconciliation.objects.update_or_create(pipeline=current, defaults=fields)
    Pipeline.objects.filter(id=current.id).update(generation=F("generation") + 1)
    after = {"source_of_truth": source_of_truth, "reason": reason}
    audit.record(actor=actor, action="pipeline.reconcile", pipeline_name=current.name, after=after)
    message = f"{actor.name} set the source of truth: {source_of_truth}."
    events.record(kind="pipeline.reconcile", message=message, pipeline=current, actor=actor.name, data=after)
    dispatch.wake(current.host_id)


def in_question(pipeline: Pipeline) -> bool:
    """Whether somebody has noticed that the host knows more."""
    found = any(finding.get("code") == DATABASE_BEHIND for finding in pipeline.findings)
    return found or pipeline.phase_reason == REASON


@transaction.atomic
def notice(*, pipeline: Pipeline, finding: Finding) -> None:
    """Show that the host knows more of a pipeline that nobody wants to start now; once."""
    current = Pipeline.objects.get(id=pipeline.id)
    if in_question(current):
        return
    found = finding.model_dump(mode="json", exclude_none=True)
    Pipeline.objects.filter(id=current.id).update(findings=[*current.findings, found])
    events.record(kind="database.behind", message=finding.message, pipeline=current, data=found)


@transaction.atomic
def adopt(
    *, pipeline: Pipeline, launch: Launch, run_dir: Path, exit_record: ExitRecord | None, alive: bool, now: datetime
) -> Run:
    """A row for a run that only its host knows; the caller takes its journal in, in the same transaction.

    One whose agent lives is PENDING, and the next tick knows it by its token.
    """
    reason = f"Taken over from {launch.host}. {exit_record.reason if exit_record else ''}".strip()
    run = Run.objects.create(
        pipeline=pipeline,
        pipeline_name=pipeline.name,
        number=launch.run,
        role=launch.role,
        epoch=launch.epoch or None,
        revision=_revision(pipeline, launch),
        host_id=launch.host,
        lineage=launch.lineage,
        token=launch.token,
        run_dir=str(run_dir),
        generation=pipeline.generation,
        state=RunState.PENDING if alive else RunState.ENDED,
        outcome=None if alive else _outcome(exit_record),
        exit_code=exit_record.exit_code if exit_record else None,
        exit_reason="" if alive else reason,
        ended_at=None if alive else now,
        journal_whole=not alive,
    )
    message = f"Run {run.number} was taken over from {launch.host}, which is ahead of the database."
    events.record(kind="run.adopted", message=message, pipeline=pipeline, run=run, data={"lineage": run.lineage})
    phase = Phase(pipeline.phase)
    if alive and can(phase, Phase.PREFLIGHT):
        set_phase(
            pipeline_id=pipeline.id,
            expected=phase,
            new=Phase.PREFLIGHT,
            reason="adopted",
            message=message,
            run=run,
            told=f"Preflight of run {run.number}.",
        )
    return run


def _outcome(record: ExitRecord | None) -> RunOutcome:
    if record is None:
        return RunOutcome.LOST
    if record.exit_code == 0:
        return RunOutcome.CLEAN
    return RunOutcome.KILLED if record.killed_by else RunOutcome.CRASHED


def _revision(pipeline: Pipeline, launch: Launch) -> Revision:
    """The revision that a run ran; one that the database has forgotten is written again."""
    digest = launch.revision_digest
    same = Revision.objects.filter(Q(digest=digest) | Q(former_digest=digest), pipeline=pipeline)
    known = same.order_by("-number").first()
    if known is not None:
        return known
    newest = Revision.objects.filter(pipeline=pipeline).aggregate(last=Max("number"))["last"] or 0
    return Revision.objects.create(
        pipeline=pipeline,
        number=max(newest + 1, launch.revision),
        digest=launch.revision_digest,
        definition=launch.definition,
        note=f"As {launch.host} ran it.",
        created_by=f"host {launch.host}",
    )


def cancel(*, pipeline: Pipeline) -> None:
    """The answer cannot be carried out; a person is asked again."""
    Reconciliation.objects.filter(pipeline=pipeline).delete()


@transaction.atomic
def settle(*, pipeline: Pipeline, last_run: int, generation: int) -> None:
    """The answer was carried out: what was not taken in is known from now on, and every older request has passed."""
    RunNumber.objects.get_or_create(pipeline_name=pipeline.name, defaults={"last": 0})
    RunNumber.objects.filter(pipeline_name=pipeline.name, last__lt=last_run).update(last=last_run)
    current = Pipeline.objects.get(id=pipeline.id)
    left = [finding for finding in current.findings if finding.get("code") != DATABASE_BEHIND]
    next_generation = max(current.generation, generation + 1)
    Pipeline.objects.filter(id=pipeline.id).update(findings=left, generation=next_generation)
    Reconciliation.objects.filter(pipeline=pipeline).delete()
    events.record(kind="database.reconciled", message="The database and the host agree again.", pipeline=current)
