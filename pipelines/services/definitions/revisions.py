"""Publishing revisions. A revision never touches a running agent: it is taken only while the pipeline is stopped."""

from __future__ import annotations

from django.db import transaction

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import DesiredState, Phase
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.governance.changes import ChangeKind
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict
from pipelines.models import Pipeline, Revision
from pipelines.services.access.secrets import record_users
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor
from pipelines.services.definitions.definitions import (
    add_revision,
    changed_meanwhile,
    invalid,
    published,
    require_tested,
)
from pipelines.services.governance import governing
from pipelines.services.lifecycle.holding import require_free


@transaction.atomic
def publish(
    *, pipeline: Pipeline, definition: Definition, text: str, note: str, actor: Actor, version: int | None = None
) -> tuple[Revision, bool]:
    """Publish a definition; returns its revision and whether it is new. The present one again is not, whatever its
    comments are: a new text then takes the place of the stored one, also while the pipeline runs.

    Raises Invalid for another name and for tests that have not passed, Conflict while it is not stopped,
    PreconditionFailed for a stale `version`, Governed where it needs the word of others, Forbidden where its labels
    would lift what administrators have set.
    """
    if definition.name != pipeline.name:
        raise invalid([renamed(pipeline, definition)])
    current = Pipeline.objects.select_related("current_revision").get(id=pipeline.id)
    if current.current_revision is not None and current.current_revision.digest == definition.digest():
        return _reworded(current, current.current_revision, text, actor, version), False
    require_free(current, f"A revision of {current.name}")
    _require_stopped(current)
    if version is not None and version != current.version:
        raise changed_meanwhile(current)
    governing.require_labels(pipeline=current, labels=definition.labels, actor=actor)
    governing.require(pipeline=current, kind=ChangeKind.PUBLISH, actor=actor)
    return _publish(current, definition, text, note, actor), True


def _reworded(pipeline: Pipeline, revision: Revision, text: str, actor: Actor, version: int | None) -> Revision:
    """The revision with a new text of the same definition; a definition sent without text leaves the stored one."""
    if not text or text == revision.source_text:
        return revision
    if version not in (None, pipeline.version):
        raise changed_meanwhile(pipeline)
    same = Pipeline.objects.filter(id=pipeline.id, version=pipeline.version, archived_at=None)
    if not same.update(version=pipeline.version + 1, updated_at=clock.now()):
        raise changed_meanwhile(pipeline)
    before = published(revision)
    revision.source_text = text
    revision.save(update_fields=["source_text"])
    after = published(revision)
    audit.record(actor=actor, action="revision.reword", pipeline_name=pipeline.name, before=before, after=after)
    message = f"{actor.name} changed the text of revision {revision.number}; the definition is the same."
    events.record(kind="revision.reworded", message=message, pipeline=pipeline, actor=actor.name, data=after)
    return revision


def _publish(pipeline: Pipeline, definition: Definition, text: str, note: str, actor: Actor) -> Revision:
    require_tested(definition, pipeline)
    before = pipeline.current_revision.number if pipeline.current_revision else None
    revision = add_revision(pipeline=pipeline, definition=definition, text=text, note=note, actor=actor)
    same = Pipeline.objects.filter(
        id=pipeline.id,
        version=pipeline.version,
        generation=pipeline.generation,
        phase=Phase.STOPPED,
        desired_state=DesiredState.STOPPED,
        archived_at=None,
    )
    if not same.update(
        current_revision=revision,
        description=definition.description,
        labels=dict(definition.labels),
        version=pipeline.version + 1,
        updated_at=clock.now(),
    ):
        raise Conflict(f"{pipeline.name} was changed by another request.", code="busy", hint="Send the request again.")
    data = published(revision)
    audit.record(
        actor=actor, action="revision.create", pipeline_name=pipeline.name, before={"revision": before}, after=data
    )
    old = pipeline.current_revision.definition if pipeline.current_revision else None
    record_users(pipeline_name=pipeline.name, before=old, after=revision.definition, actor=actor)
    message = f"{actor.name} published revision {revision.number}."
    events.record(kind="revision.created", message=message, pipeline=pipeline, actor=actor.name, data=data)
    return revision


def _require_stopped(pipeline: Pipeline) -> None:
    if pipeline.phase != Phase.STOPPED or pipeline.desired_state != DesiredState.STOPPED:
        raise Conflict(
            f"{pipeline.name} is {pipeline.phase}, wanted {pipeline.desired_state}; a revision can be published only "
            "while it is stopped.",
            code="pipeline_not_stopped",
            hint=f"Change it while it runs by a migration of the kind `revision` (POST /api/v1/migrations), or stop it "
            f"first: POST /api/v1/pipelines/{pipeline.name}/stop.",
        )


def renamed(pipeline: Pipeline, definition: Definition) -> Finding:
    """What is wrong with a definition of another name."""
    return Finding(
        path="name",
        code="name_differs",
        message=f"The definition is of {definition.name!r}, the address names {pipeline.name!r}.",
        suggestion=f"Write name: {pipeline.name}, or create a pipeline of that name.",
    )
