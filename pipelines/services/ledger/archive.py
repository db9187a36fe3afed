"""Deleting keeps the books; purging does not."""

from __future__ import annotations

from django.db import transaction

from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.lifecycle.actions import Action, Outcome, evaluate
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid
from pipelines.models import Migration, Pipeline, Purged, Revision, Run, RunNumber
from pipelines.selectors.lifecycle.situations import situation_of
from pipelines.selectors.migration.migrations import open_migration
from pipelines.selectors.runs.runs import last_number
from pipelines.services.access.secrets import record_users
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor
from pipelines.services.definitions.definitions import changed_meanwhile
from pipelines.services.governance import governing
from pipelines.services.migration import migrations


@transaction.atomic
def archive(*, pipeline: Pipeline, version: int | None, actor: Actor) -> None:
    """Take a pipeline out of sight with its ledger and positions, and free its name.

    Raises Conflict while a process exists or may exist, PreconditionFailed where `version` is given and stale,
    Governed where it needs the word of others.
    """
    current = Pipeline.objects.get(id=pipeline.id)
    if version is not None and version != current.version:
        raise changed_meanwhile(current)
    verdict = evaluate(Action.DELETE, situation_of(current))
    if verdict.outcome == Outcome.REFUSE:
        raise Conflict(verdict.reason, code="pipeline_not_stopped", hint=f"POST /api/v1/pipelines/{current.name}/stop")
    governing.require(pipeline=current, kind=ChangeKind.DELETE, actor=actor)
    if (migration := open_migration(current.id)) is not None:
        migrations.abort(migration=migration, reason=f"{current.name} was deleted", actor=actor)
    same = Pipeline.objects.filter(id=current.id, generation=current.generation, phase=current.phase, archived_at=None)
    if not same.update(archived_at=clock.now(), generation=current.generation + 1):
        raise Conflict(f"{current.name} was changed by another request.", code="busy", hint="Send the request again.")
    message = f"{actor.name} deleted {current.name}; its ledger is kept."
    events.record(kind="pipeline.archived", message=message, pipeline=current, actor=actor.name)
    audit.record(
        actor=actor,
        action="pipeline.delete",
        pipeline_name=current.name,
        team=current.team.name,
        before={"phase": current.phase},
    )
    had = current.current_revision.definition if current.current_revision else None
    record_users(pipeline_name=current.name, before=had, after=None, actor=actor)


@transaction.atomic
def purge(*, pipeline: Pipeline, confirm: str, actor: Actor) -> None:
    """Remove an archived pipeline with its books for ever; its hosts then remove its files. Raises Invalid where
    `confirm` is not its name."""
    if confirm != pipeline.name:
        raise Invalid(
            "The confirmed name is not the pipeline's; nothing was removed.",
            code="confirmation_differs",
            hint=f"Repeat the request with ?confirm={pipeline.name} to remove its ledger permanently.",
        )
    last = _keep_last_number(pipeline)
    storages = _storages(pipeline)
    Migration.objects.filter(pipeline=pipeline).delete()
    Run.objects.filter(pipeline=pipeline).delete()
    Pipeline.objects.filter(id=pipeline.id).update(current_revision=None)
    Pipeline.objects.filter(id=pipeline.id).delete()
    Purged.objects.create(pipeline_id=pipeline.id, name=pipeline.name, last_run=last, storages=storages, at=clock.now())
    audit.record(
        actor=actor,
        action="pipeline.purge",
        pipeline_name=pipeline.name,
        team=pipeline.team.name,
        before={"id": str(pipeline.id)},
    )


def _storages(pipeline: Pipeline) -> list[str]:
    """Directories beside the hosts' own in which its launchers kept files."""
    rows = Revision.objects.filter(pipeline=pipeline)
    found = rows.values_list("definition__placement__launcher__storage", flat=True)
    return sorted({str(each) for each in found if each})


def _keep_last_number(pipeline: Pipeline) -> int:
    """Keep the number of its last run, and return it; 0 where there was none."""
    last = last_number(pipeline.name)
    RunNumber.objects.update_or_create(pipeline_name=pipeline.name, defaults={"last": last})
    return last
