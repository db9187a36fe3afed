"""The one door through which a pipeline's phase changes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pipelines.domain.base.states import Phase, StopReason, can
from pipelines.foundation import clock
from pipelines.models import Pipeline, Run
from pipelines.services.base import events
from pipelines.services.base.fencing import fenced

REASON_LENGTH = 64


class ForbiddenTransition(Exception):
    """The table of states does not have this change; a defect of the caller."""


@fenced
def set_phase(
    *,
    pipeline_id: UUID,
    expected: Phase,
    new: Phase,
    reason: str,
    message: str,
    run: Run | None = None,
    stop_reason: StopReason | None = None,
    told: str = "",
) -> bool:
    """Change the phase from `expected` to `new`, with one event; False where it is no longer `expected`.

    `reason` is a word for programs, `message` a sentence for people. `told`: what the event says instead, where another
    one beside it has the message. Raises ForbiddenTransition.
    """
    if not can(expected, new):
        raise ForbiddenTransition(f"{expected} -> {new}")
    fields = _fields(new, reason, message, stop_reason)
    if not Pipeline.objects.filter(id=pipeline_id, phase=expected).update(**fields):
        return False
    events.record(
        kind="phase.changed",
        message=told or message,
        pipeline=Pipeline.objects.get(id=pipeline_id),
        run=run,
        data={"old": expected.value, "new": new.value, "reason": fields["phase_reason"], "stop_reason": stop_reason},
    )
    return True


@fenced
def explain_phase(pipeline_id: UUID, phase: Phase, *, reason: str, message: str) -> bool:
    """Another reason for the phase that stays; False where it is no longer `phase`. No event: nothing has changed."""
    same = Pipeline.objects.filter(id=pipeline_id, phase=phase)
    fields = {"phase_reason": reason[:REASON_LENGTH], "phase_message": message, "updated_at": clock.now()}
    return bool(same.update(**fields))


def _fields(new: Phase, reason: str, message: str, stop_reason: StopReason | None) -> dict[str, Any]:
    now = clock.now()
    fields: dict[str, Any] = {
        "phase": new,
        "phase_since": now,
        "phase_reason": reason[:REASON_LENGTH],
        "phase_message": message,
        "updated_at": now,
    }
    if stop_reason is not None or new == Phase.PREFLIGHT:
        fields["stop_reason"] = stop_reason
    return fields
