"""Requests of people: start, pause, resume, stop, force-stop, restart.

A request writes what is wanted and returns an operation that can be awaited; the supervisor of the pipeline's host
makes it so.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction

from pipelines.domain.base.states import ENDING_OPERATIONS, SIDE_OPERATIONS, DesiredState, OperationKind, OperationState
from pipelines.domain.definitions.document.spec import Lifecycle
from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.lifecycle.actions import CONSEQUENCES, Action, Outcome, Verdict, evaluate
from pipelines.domain.lifecycle.operations import OnTimeout, seconds_allowed, steps_of
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict
from pipelines.models import Operation, Pipeline
from pipelines.selectors.lifecycle.situations import live_run, open_operation, situation, steering
from pipelines.services.base import audit, events, tracing
from pipelines.services.base.audit import Actor
from pipelines.services.governance import governing
from pipelines.services.lifecycle import operations, placement
from pipelines.services.lifecycle.holding import held_by

ATTEMPTS = 3
TARGETS = {
    OperationKind.START: DesiredState.RUNNING,
    OperationKind.PAUSE: DesiredState.PAUSED,
    OperationKind.RESUME: DesiredState.RUNNING,
    OperationKind.STOP: DesiredState.STOPPED,
    OperationKind.FORCE_STOP: DesiredState.STOPPED,
    OperationKind.RESTART: DesiredState.RUNNING,
}
ON_TIMEOUT = {
    OperationKind.PAUSE: OnTimeout.ABORT,
    OperationKind.RESTART: OnTimeout.ABORT,
    OperationKind.STOP: OnTimeout.STOP,
}
"""What follows unless it is said: only a stop, whose purpose is the end, climbs by itself."""
_DRAINING = frozenset({OperationKind.STOP, OperationKind.RESTART})


@dataclass(frozen=True)
class _How:
    """The manner of a pause, a stop or a restart."""

    drain: bool
    on_timeout: OnTimeout | None

    def on_timeout_of(self, kind: OperationKind) -> OnTimeout | None:
        """What follows where the batch in hand does not end in time."""
        return self.on_timeout or ON_TIMEOUT.get(kind)

    @property
    def said(self) -> dict[str, Any]:
        """What the audit holds of it."""
        return {"drain": self.drain, **({"on_timeout": self.on_timeout.value} if self.on_timeout else {})}


def request(
    *,
    pipeline: Pipeline,
    action: OperationKind | str,
    actor: Actor,
    drain: bool = True,
    on_timeout: OnTimeout | None = None,
) -> Operation:
    """Ask for an action; returns its operation: a new one, the open one of its kind, or one that succeeded at once.

    `on_timeout`: of a pause ABORT, unless STAY is given; of a restart ABORT, unless STOP is; of a stop with `drain`
    STOP, unless ABORT is. Raises Conflict with the reason where the action makes no sense now, or where others keep
    changing the pipeline; Governed where it needs the word of others.
    """
    kind, how = OperationKind(action), _How(drain, on_timeout)
    for _ in range(ATTEMPTS):
        try:
            with transaction.atomic():
                operation = _attempt(pipeline, kind, actor, how)
        except IntegrityError:  # somebody else's request opened an operation in the same instant
            continue
        if operation is not None:
            return operation
    raise Conflict(f"{pipeline.name} is being changed by another request.", code="busy", hint="Send the request again.")


def _attempt(stale: Pipeline, kind: OperationKind, actor: Actor, how: _How) -> Operation | None:
    pipeline = Pipeline.objects.select_related("current_revision").get(id=stale.id)
    if (held := steering(pipeline.id)) is not None:
        raise held_by(held, f"{kind.capitalize()} of {pipeline.name}")
    now_open = open_operation(pipeline)
    verdict = _evaluate(pipeline, kind, now_open, how)
    if verdict.outcome == Outcome.REFUSE:
        raise _refusal(pipeline, kind, verdict, now_open)
    if verdict.outcome == Outcome.DONE:
        return _done_at_once(pipeline, kind, actor, verdict)
    if verdict.outcome == Outcome.AWAIT:
        return now_open or _opened_alone(pipeline, kind, actor, how)
    governing.require(pipeline=pipeline, kind=ChangeKind(kind.value), actor=actor)
    return _change(pipeline, kind, actor, how, now_open)


def _evaluate(pipeline: Pipeline, kind: OperationKind, now_open: Operation | None, how: _How) -> Verdict:
    if pipeline.archived_at is not None:
        return Verdict(Outcome.REFUSE, "The pipeline was deleted.")
    if now_open is not None and now_open.kind == kind:
        return Verdict(Outcome.DO if _asks_otherwise(pipeline, kind, how) else Outcome.AWAIT)
    return evaluate(Action(kind.value), situation(pipeline, now_open, live_run(pipeline) is not None))


def _asks_otherwise(pipeline: Pipeline, kind: OperationKind, how: _How) -> bool:
    """Whether what is on its way should come in another manner; a stop only ever goes further."""
    escalates = pipeline.on_timeout != OnTimeout.STOP and how.on_timeout_of(kind) is not OnTimeout.ABORT
    if kind == OperationKind.STOP:
        return escalates or (pipeline.drain_on_stop and not how.drain)
    if kind == OperationKind.RESTART:
        return escalates and _first_half(pipeline)
    return kind == OperationKind.PAUSE and pipeline.on_timeout != _on_timeout(pipeline, kind, how)


def _first_half(pipeline: Pipeline) -> bool:
    """Whether the run that a restart is to end lives."""
    run = live_run(pipeline)
    return run is not None and pipeline.restart_run is not None and run.number <= pipeline.restart_run


def _refusal(pipeline: Pipeline, kind: OperationKind, verdict: Verdict, now_open: Operation | None) -> Conflict:
    holder = f" {now_open.created_by} requested: {now_open.kind}." if now_open else ""
    return Conflict(
        f"{kind.capitalize()} is not possible: {verdict.reason}{holder}",
        code="action_not_allowed",
        hint="allowed_actions lists what is possible now.",
    )


def _change(
    pipeline: Pipeline, kind: OperationKind, actor: Actor, how: _How, superseded: Operation | None
) -> Operation | None:
    """Write what is wanted, by compare-and-swap on the generation; None where somebody else was first."""
    wanted = _wanted(pipeline, kind, how)
    before = {"desired_state": pipeline.desired_state, "generation": pipeline.generation}
    same = Pipeline.objects.filter(id=pipeline.id, generation=pipeline.generation, archived_at=None)
    if not same.update(**wanted):
        return None
    for name, value in wanted.items():
        setattr(pipeline, name, value)
    if superseded is not None:
        _supersede(superseded, kind, actor)
    operation = _open(pipeline, kind, actor, how)
    after = {"desired_state": pipeline.desired_state, "generation": pipeline.generation}
    audit.record(
        actor=actor,
        action=f"pipeline.{kind}",
        pipeline_name=pipeline.name,
        before=before,
        after={**after, **how.said},
    )
    events.record(
        kind="desired.changed",
        message=f"{actor.name} requested: {kind}.",
        pipeline=pipeline,
        actor=actor.name,
        data={**after, "operation": str(operation.id), "kind": kind.value},
    )
    if pipeline.host_id is None:
        return _unplaced(operation)
    dispatch.wake(pipeline.host_id)
    return operation


def _unplaced(operation: Operation) -> Operation:
    """Without a host there is no supervisor: nothing exists that could be stopped, and all else waits for a worker."""
    if operation.kind in ENDING_OPERATIONS:
        Pipeline.objects.filter(id=operation.pipeline_id).update(observed_generation=operation.generation)
        operations.finish(operation_id=operation.id, state=OperationState.SUCCEEDED, now=clock.now())
    else:
        waiting = "No worker is running; the operation starts when one does."
        Operation.objects.filter(id=operation.id).update(message=waiting)
    return Operation.objects.select_related("pipeline").get(id=operation.id)


def _wanted(pipeline: Pipeline, kind: OperationKind, how: _How) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        "desired_state": TARGETS[kind],
        "generation": pipeline.generation + 1,
        "updated_at": clock.now(),
        "force_stop": kind == OperationKind.FORCE_STOP,
        "on_timeout": _on_timeout(pipeline, kind, how),
        "desired_before": DesiredState.RUNNING if kind == OperationKind.PAUSE else pipeline.desired_state,
    }
    if kind in _DRAINING:
        wanted["drain_on_stop"] = how.drain
    if kind == OperationKind.FORCE_STOP:
        wanted["drain_on_stop"] = False
    if kind == OperationKind.RESTART:
        run = live_run(pipeline)
        wanted["restart_run"] = run.number if run else None
    if kind in {OperationKind.START, OperationKind.RESTART}:
        wanted["host_id"] = placement.choose(pipeline)
    return wanted


def _on_timeout(pipeline: Pipeline, kind: OperationKind, how: _How) -> OnTimeout:
    """What follows where the batch in hand does not end in time: STOP where nothing can be given up."""
    asked = how.on_timeout_of(kind)
    if kind == OperationKind.PAUSE:
        return OnTimeout.STAY if asked is OnTimeout.STAY else OnTimeout.ABORT
    aborts = kind in _DRAINING and how.drain and asked is OnTimeout.ABORT
    return OnTimeout.ABORT if aborts and pipeline.desired_state != DesiredState.STOPPED else OnTimeout.STOP


def _open(pipeline: Pipeline, kind: OperationKind, actor: Actor, how: _How) -> Operation:
    now = clock.now()
    return Operation.objects.create(
        pipeline=pipeline,
        kind=kind,
        generation=pipeline.generation,
        steps=steps_of(kind),
        message=CONSEQUENCES.get(Action(kind.value), ""),
        created_by=actor.name,
        **actor.origin,
        deadline=now + timedelta(seconds=seconds_allowed(kind, _limits(pipeline), how.drain)),
    )


def _opened_alone(pipeline: Pipeline, kind: OperationKind, actor: Actor, how: _How) -> Operation:
    """For what is wanted already, so that no other event says who asked."""
    operation = _open(pipeline, kind, actor, how)
    _record_event(operation, f"{actor.name} requested: {kind}.")
    return operation


def _limits(pipeline: Pipeline) -> Lifecycle:
    definition = pipeline.current_revision.definition if pipeline.current_revision else {}
    return Lifecycle.model_validate(definition.get("lifecycle", {}))


def _done_at_once(pipeline: Pipeline, kind: OperationKind, actor: Actor, verdict: Verdict) -> Operation:
    audit.record(actor=actor, action=f"pipeline.{kind}", pipeline_name=pipeline.name, outcome="nothing to do")
    operation = Operation.objects.create(
        pipeline=pipeline,
        kind=kind,
        state=OperationState.SUCCEEDED,
        generation=pipeline.generation,
        message=verdict.reason,
        created_by=actor.name,
        **actor.origin,
        ended_at=clock.now(),
    )
    tracing.operation_ended(operation)
    return operation


def _supersede(operation: Operation, kind: OperationKind, actor: Actor) -> None:
    operation.state = OperationState.SUPERSEDED
    operation.message = f"{actor.name} requested {kind} instead."
    operation.ended_at = clock.now()
    operation.version += 1
    operation.save(update_fields=["state", "message", "ended_at", "version"])
    tracing.operation_ended(operation)
    _record_event(operation, operation.message)


def _record_event(operation: Operation, message: str) -> None:
    events.record(
        kind="operation.updated",
        message=message,
        pipeline=operation.pipeline,
        actor=operation.created_by,
        data={"operation": str(operation.id), "kind": operation.kind, "state": operation.state},
    )


CANCELLING = {OperationKind.START: OperationKind.STOP, OperationKind.PAUSE: OperationKind.RESUME}


def cancel(*, operation: Operation, actor: Actor) -> Operation:
    """Give an operation up: a start is followed by a stop, a pause by a resume, a replay ends after the letters in
    hand; returns it as CANCELLED.

    Raises Conflict where it is over, or where giving it up has no meaning; Governed where it needs the word of others.
    """
    with transaction.atomic():
        current = Operation.objects.select_related("pipeline").get(id=operation.id)
        opposite = CANCELLING.get(OperationKind(current.kind))
        if current.state not in {OperationState.PENDING, OperationState.RUNNING}:
            raise Conflict(f"This operation has ended: {current.state}.", code="operation_over")
        if opposite is None and current.kind not in SIDE_OPERATIONS:
            raise Conflict(
                f"A {current.kind} cannot be canceled.",
                code="not_cancellable",
                hint="Request what you want instead; the new request replaces it.",
            )
        if current.kind != OperationKind.RETRY:
            governing.require(pipeline=current.pipeline, kind=ChangeKind.CANCEL, actor=actor)
        _cancel(current, actor)
        if opposite is not None:
            request(pipeline=current.pipeline, action=opposite, actor=actor)
    return Operation.objects.select_related("pipeline").get(id=operation.id)


def _cancel(operation: Operation, actor: Actor) -> None:
    same = Operation.objects.filter(id=operation.id, version=operation.version)
    fields = {"message": f"{actor.name} cancelled it.", "ended_at": clock.now(), "version": operation.version + 1}
    if not same.update(state=OperationState.CANCELLED, **fields):
        raise Conflict("The operation has changed in the meantime.", code="busy", hint="Send the request again.")
    operation.state = OperationState.CANCELLED
    tracing.operation_ended(operation)
    audit.record(actor=actor, action="operation.cancel", pipeline_name=operation.pipeline.name)
    _record_event(operation, str(fields["message"]))
