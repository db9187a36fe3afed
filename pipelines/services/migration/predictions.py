"""The prediction of a plan: previews are requested with it, and it is planned again until they are made."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Q

from pipelines.domain.base.states import OPEN_HOST_TASK_STATES, HostTaskState
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.migration import prediction as predicting
from pipelines.domain.migration.plan import MigrationPlan
from pipelines.domain.migration.prediction import PREDICTED_WITHIN, SELECTION, Prediction
from pipelines.foundation import clock
from pipelines.foundation.errors import HeadgateError
from pipelines.models import Migration, Pipeline, Preview
from pipelines.selectors.migration.migrations import plan_of
from pipelines.services.base.audit import Actor
from pipelines.services.preview import previews

FRESH_SECONDS = 300.0
"""Age at which a preview is requested anew."""


def predicted(made: MigrationPlan, *, migration: Migration, new: Definition, actor: Actor) -> MigrationPlan:
    """The plan of a revision with what is predicted of each source, or with what that waits for. A preview that the
    plan before shows as ended without a prediction is requested once more."""
    pipeline = migration.pipeline
    present = validate_data(pipeline.current_revision.definition).definition if pipeline.current_revision else None
    if present is None:
        return made
    shown = _shown(migration)
    found = [_of_source(source, pipeline, present, new, actor, shown) for source in sorted(new.sources)]
    fields = {
        "predictions": found,
        "to_acknowledge": predicting.to_acknowledge(found),
        "blockers": [*made.blockers, *predicting.pending(found)],
    }
    return made.model_copy(update=fields)


def _of_source(
    source: str, pipeline: Pipeline, present: Definition, new: Definition, actor: Actor, shown: Q
) -> Prediction:
    if reason := predicting.unchanged(present, new, source):
        return Prediction(source=source, reason=reason)
    preview = _latest(pipeline, new, source, shown)
    if preview is None:
        try:
            preview = previews.request(
                pipeline=pipeline, candidate=new, source=source, selection=SELECTION, actor=actor
            )
        except HeadgateError as refused:
            return Prediction(source=source, reason=_clause(refused.detail))
    return _found(source, preview)


def _shown(migration: Migration) -> Q:
    """Previews that had ended without a prediction when the plan before was made."""
    before = plan_of(migration)
    without = [each.preview for each in before.predictions if each.reason] if before else []
    return Q(pk__in=without, ended_at__lte=migration.planned_at) if without else Q(pk=None)


def _latest(pipeline: Pipeline, new: Definition, source: str, shown: Q) -> Preview | None:
    """The preview of this very change that was requested of late and is not among those that were shown."""
    since = clock.now() - timedelta(seconds=FRESH_SECONDS)
    same = Preview.objects.filter(
        pipeline=pipeline,
        base=pipeline.current_revision_id,
        digest=new.digest(),
        source=source,
        requested_at__gte=since,
    ).exclude(shown)
    wanted = SELECTION.model_dump(mode="json")
    return next((each for each in same.order_by("-requested_at")[:10] if each.selection == wanted), None)


def _found(source: str, preview: Preview) -> Prediction:
    if preview.state == HostTaskState.DONE:
        return predicting.of_result(source, preview.pk, preview.result or {})
    if preview.state in OPEN_HOST_TASK_STATES:
        late = (clock.now() - preview.requested_at).total_seconds() > PREDICTED_WITHIN
        reason = f"the preview was not made within {PREDICTED_WITHIN:.0f} s" if late else ""
        return Prediction(source=source, preview=preview.pk, pending=not late, reason=reason)
    words = str((preview.error or {}).get("message", ""))
    return Prediction(source=source, preview=preview.pk, reason=_clause(words))


def _clause(sentence: str) -> str:
    return f"the preview could not be made: {sentence.rstrip('.')}"
