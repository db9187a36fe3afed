"""Pipelines as such: create one, and change what is not part of a revision."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from pipelines.domain.access.rights import required_role
from pipelines.domain.access.uses import reach_findings
from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.checks.validate import Validation
from pipelines.domain.definitions.document.source_text import differing, text_digest
from pipelines.domain.definitions.document.spec import Definition
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid, PreconditionFailed
from pipelines.models import DEFAULT_TEAM, Pipeline, Revision, Team
from pipelines.selectors.access import reach, secrets
from pipelines.selectors.access.clusters import placed
from pipelines.selectors.governance.rules import lifted_by
from pipelines.selectors.migration.migrations import open_migration
from pipelines.selectors.preview.testing import not_passed
from pipelines.services.access.secrets import record_users
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor
from pipelines.services.governance import governing


def create(*, definition: Definition, text: str, note: str, actor: Actor, team: Team | None = None) -> Pipeline:
    """Store a new pipeline of a team, or the default one, stopped, with revision 1. Raises Conflict where the name is
    taken."""
    try:
        with transaction.atomic():
            return _create(definition, text, note, actor, team or Team.objects.get(name=DEFAULT_TEAM))
    except IntegrityError:
        raise Conflict(
            f"The pipeline {definition.name!r} already exists.",
            code="name_taken",
            hint="Names are of all teams together. One of yours takes revisions: POST "
            f"/api/v1/pipelines/{definition.name}/revisions.",
        ) from None


def _create(definition: Definition, text: str, note: str, actor: Actor, team: Team) -> Pipeline:
    pipeline = Pipeline.objects.create(
        name=definition.name,
        team=team,
        description=definition.description,
        labels=dict(definition.labels),
        phase_since=clock.now(),
        phase_message="Not started yet.",
    )
    require_tested(definition, pipeline)
    revision = add_revision(pipeline=pipeline, definition=definition, text=text, note=note, actor=actor)
    pipeline.current_revision = revision
    pipeline.save(update_fields=["current_revision"])
    message = f"{actor.name} created {pipeline.name}."
    data = {**published(revision), "team": team.name}
    events.record(kind="pipeline.created", message=message, pipeline=pipeline, actor=actor.name, data=data)
    audit.record(actor=actor, action="pipeline.create", pipeline_name=pipeline.name, after=data)
    record_users(pipeline_name=pipeline.name, before=None, after=revision.definition, actor=actor)
    return pipeline


def add_revision(*, pipeline: Pipeline, definition: Definition, text: str, note: str, actor: Actor) -> Revision:
    """Add the next revision's row; publishing it is the caller's. Raises Invalid where it reaches what is not
    allowed, sends secrets where they may not go, or the text is of another definition."""
    refused = [each for each in secrets.definition_findings(definition, [pipeline.team_id]) if each.is_error]
    if found := [*reach_findings(definition, reach.policy([pipeline.team_id])), *refused, *differing(text, definition)]:
        raise invalid(found)
    newest = Revision.objects.filter(pipeline=pipeline).order_by("-number").values_list("number", flat=True).first()
    return Revision.objects.create(
        pipeline=pipeline,
        number=(newest or 0) + 1,
        digest=definition.digest(),
        definition=definition.plain(),
        required_role=required_role(definition.plain()),
        source_text=text,
        note=note,
        created_by=actor.name,
    )


def published(revision: Revision) -> dict[str, object]:
    """What the audit and the events keep of a revision that was published."""
    told: dict[str, object] = {"revision": revision.number, "digest": revision.digest}
    return told | ({"text_digest": text_digest(revision.source_text)} if revision.source_text else {})


def require_tested(definition: Definition, pipeline: Pipeline) -> None:
    """Raises Invalid where the tests of a definition have not passed."""
    if found := not_passed(definition, pipeline):
        raise Invalid(
            f"The tests of {definition.name} have not passed; nothing was stored.",
            code="tests_not_passed",
            hint="Run the tests of this definition, and publish it when they pass.",
            findings=found,
        )


@transaction.atomic
def update_details(
    *, pipeline: Pipeline, version: int, description: str | None, labels: dict[str, str] | None, actor: Actor
) -> Pipeline:
    """Change description or labels; None leaves one as it is. Raises PreconditionFailed for a stale `version`, and
    Forbidden where labels would lift what administrators have set."""
    if labels is not None:
        governing.require_labels(pipeline=pipeline, labels=labels, actor=actor)
    before = {"description": pipeline.description, "labels": pipeline.labels}
    wanted = {"description": description, "labels": labels}
    after = before | {name: value for name, value in wanted.items() if value is not None}
    same = Pipeline.objects.filter(id=pipeline.id, version=version, archived_at=None)
    if not same.update(**after, version=version + 1, updated_at=clock.now()):
        raise changed_meanwhile(pipeline)
    changed = Pipeline.objects.get(id=pipeline.id)
    told = audit.record(actor=actor, action="pipeline.update", pipeline_name=pipeline.name, before=before, after=after)
    if lifted := lifted_by(pipeline, after["labels"]):
        what = f"freed {pipeline.name} by other labels from: {'; '.join(lifted)}"
        governing.report_loosened(row=told, what=what, pipeline=changed)
    message = f"{actor.name} changed description or labels."
    events.record(kind="pipeline.updated", message=message, pipeline=changed, actor=actor.name, data=after)
    return changed


@transaction.atomic
def move(*, pipeline: Pipeline, team: Team, actor: Actor) -> None:
    """Give a pipeline to another team; to its own changes nothing. Raises Conflict while a migration of it is open,
    which users of its team have asked for and approve, Invalid where it uses a cluster or a secret or reaches what is
    another team's, and PreconditionFailed where it was moved meanwhile."""
    if team.pk == pipeline.team_id:
        return
    if open_migration(pipeline.id) is not None:
        raise Conflict(
            f"{pipeline.name} has an open migration.",
            code="migration_open",
            hint="Cancel it, or wait until it has ended.",
        )
    if found := _not_of(team, pipeline):
        raise Invalid(
            f"{pipeline.name} uses what pipelines of {team.name} may not use.",
            code="not_of_the_team",
            hint="Allow it to that team or to all, or publish another revision, first.",
            findings=found,
        )
    same = Pipeline.objects.filter(id=pipeline.id, team=pipeline.team, version=pipeline.version, archived_at=None)
    if not same.update(team=team, version=pipeline.version + 1, updated_at=clock.now()):
        raise changed_meanwhile(pipeline)
    before, after = {"team": pipeline.team.name}, {"team": team.name}
    audit.record(actor=actor, action="pipeline.move", pipeline_name=pipeline.name, before=before, after=after)
    moved = Pipeline.objects.get(id=pipeline.id)
    message = f"{actor.name} moved {pipeline.name} to the team {team.name}."
    events.record(kind="pipeline.moved", message=message, pipeline=moved, actor=actor.name, data=after)


def _not_of(team: Team, pipeline: Pipeline) -> list[Finding]:
    """What the pipeline runs by and pipelines of the team could not."""
    if pipeline.current_revision is None:
        return []
    definition = Definition.model_validate(pipeline.current_revision.definition)
    placement = placed(Validation(definition, []), [team.pk])
    refused = [each for each in placement.findings if each.is_error]
    left = secrets.left_behind(definition, pipeline.team)
    return [*refused, *reach_findings(definition, reach.policy([team.pk])), *left]


def changed_meanwhile(pipeline: Pipeline) -> PreconditionFailed:
    """The error of a write that names an older version."""
    return PreconditionFailed(
        f"{pipeline.name} was changed since you read it.", hint="Read it again and repeat your change."
    )


def invalid(findings: list[Finding]) -> Invalid:
    """The error of a definition that has findings."""
    errors = sum(finding.is_error for finding in findings)
    words = "1 error" if errors == 1 else f"{errors} errors"
    return Invalid(
        f"The definition has {words}; nothing was stored.",
        code="definition_invalid",
        hint="Each finding has the place and what to change.",
        findings=list(findings),
    )
