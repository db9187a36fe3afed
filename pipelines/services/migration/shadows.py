"""The shadow of a migration, carried on with every look at it: one part after the other is asked of the host.

Everything is one state, which changes by compare-and-swap together with the task that it waits for. A part that fails
is asked for again from the same row of the ledger; an answer to another part than the one that is waited for is
nobody's.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction

from pipelines.domain.base.states import OPEN_HOST_TASK_STATES, HostTaskState
from pipelines.domain.migration import shadow
from pipelines.domain.migration.shadow import Part, ShadowPlan, ShadowState
from pipelines.domain.preview.shadowing import MOST_SAMPLES, ShadowPart
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict, TooManyRequests
from pipelines.models import Migration, ShadowTask
from pipelines.selectors.migration import shadows as selecting
from pipelines.services.base import host_tasks
from pipelines.services.base.fencing import fenced
from pipelines.services.migration.steps import ACTOR, NotYet, change

SECONDS = 540.0
"""What one part may take on its host, which may be busy; less than a task has from its request on."""
_REFUSED = "shadow_refused"


@fenced
def carry_on(*, migration: Migration, plan: ShadowPlan, elapsed: float) -> None:
    """Take in the part that is made, and ask for the next. Raises Overtaken, or NotYet where the host cannot be asked
    now."""
    before = selecting.state_of(migration)
    state = before or _begun(migration, plan)
    state = _taken_in(state)
    part = shadow.next_part(plan, state, _waiting(migration, plan, state, elapsed), elapsed)
    if part is not None:
        state = shadow.asked(state, part, _ask(migration, plan, state, part), elapsed)
    if state != before:
        _keep(migration, plan, state)
        _let_go(migration, state)


def _begun(migration: Migration, plan: ShadowPlan) -> ShadowState:
    return ShadowState(
        since=clock.now().isoformat(),
        after=selecting.last_finished(migration, plan),
        rate_before=selecting.rate_before(migration, plan),
    )


def _waiting(
    migration: Migration, plan: ShadowPlan, state: ShadowState, elapsed: float
) -> dict[str, list[shadow.Delivered]]:
    """What could be compared next; not looked for where nothing will be."""
    idle = state.part is None and not state.has_failed and not shadow.is_enough(plan, state, elapsed)
    return selecting.delivered(migration, plan, state) if idle else {}


def _taken_in(state: ShadowState) -> ShadowState:
    """With the end of the part that is waited for. One that is gone is asked for again."""
    if state.part is None or state.part.asked is None:
        return state
    task = ShadowTask.objects.filter(pk=state.part.asked).first()
    if task is None:
        return state.model_copy(update={"part": None})
    if task.state in OPEN_HOST_TASK_STATES:
        return state
    if task.state == HostTaskState.DONE:
        return shadow.added(state, ShadowPart.model_validate(task.result))
    error = task.error or {}
    return shadow.failed(state, _findings(error), refused=error.get("code") == _REFUSED)


def _findings(error: dict[str, Any]) -> list[dict[str, Any]]:
    own = {
        "path": "shadow",
        "code": str(error.get("code", "")).upper(),
        "message": str(error.get("message", "")),
        "suggestion": str(error.get("hint", "")),
    }
    return error.get("findings") or [own]


def _ask(migration: Migration, plan: ShadowPlan, state: ShadowState, part: Part) -> Any:
    try:
        with transaction.atomic():
            fields = host_tasks.asked(ShadowTask, migration.pipeline, ACTOR)
    except (Conflict, TooManyRequests) as refused:
        raise NotYet(refused.detail) from refused
    task = ShadowTask.objects.create(
        **fields,
        migration=migration,
        source=part.source,
        channel=plan.channels[part.source],
        ranges=[each.model_dump(mode="json") for each in part.ranges],
        samples=MOST_SAMPLES - len(state.samples),
    )
    dispatch.wake(migration.pipeline.host_id)
    return task.pk


def _keep(migration: Migration, plan: ShadowPlan, state: ShadowState) -> None:
    rate = selecting.rate_since(migration, plan, state)
    kept = state.model_copy(update={"rate": rate})
    change(migration, event=False, shadow=kept.model_dump(mode="json"))


def _let_go(migration: Migration, state: ShadowState) -> None:
    """What was taken in, or is waited for no more."""
    ended = ShadowTask.objects.filter(migration=migration).exclude(state__in=OPEN_HOST_TASK_STATES)
    if state.part is not None and state.part.asked is not None:
        ended = ended.exclude(pk=state.part.asked)
    ended.delete()
