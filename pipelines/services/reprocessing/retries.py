"""Dead letters on their way back to their source: asked for by people, carried out by the worker of the owning host.

A letter is marked before it is sent and again when the broker has acknowledged it. One that was marked and never
acknowledged is sent again by the next attempt, and counted as one that may be there twice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import DeadLetterState, OperationKind
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.lifecycle.operations import retry_seconds, steps_of
from pipelines.domain.reprocessing.dead_letters import MAX_DEAD_LETTERS, NotReplayable, neighbours, target
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict
from pipelines.models import DeadLetter, Operation, Pipeline, Revision
from pipelines.selectors.lifecycle.situations import OPEN_STATES
from pipelines.selectors.reprocessing.dead_letters import DeadLetterFilter, dead_letters, free
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor
from pipelines.services.reprocessing.dead_letters import chosen


@dataclass(frozen=True)
class Repair:
    """What is sent instead, in base64; None: as it was."""

    body: str | None = None
    headers: list[tuple[str, str]] | None = None


@dataclass(frozen=True)
class RetryRequest:
    """Which letters: `ids`, or all new ones that match. `rate`: letters per second. `repair`: of the only letter."""

    ids: Sequence[str] | None
    matching: DeadLetterFilter
    rate: float
    repair: Repair | None = None
    reason: str = ""


def request(*, pipeline: Pipeline, wanted: RetryRequest, actor: Actor) -> Operation:
    """Ask for letters to be sent back to their sources; at most MAX_DEAD_LETTERS, the oldest first. Returns the
    operation.

    Raises NotFound for unknown ids, Conflict where nothing matches, where a source cannot take its letters (each
    reason a finding), where a letter is settled, or where another replay of the pipeline is under way.
    """
    try:
        with transaction.atomic():
            return _request(pipeline, wanted, actor)
    except IntegrityError:
        raise _another(pipeline) from None


def _request(pipeline: Pipeline, wanted: RetryRequest, actor: Actor) -> Operation:
    dead_letters = _dead_letters(pipeline, wanted)
    beside = _check(pipeline, dead_letters)
    operation = Operation.objects.create(
        pipeline=pipeline,
        kind=OperationKind.RETRY,
        generation=pipeline.generation,
        steps=steps_of(OperationKind.RETRY),
        parameters={"rate": wanted.rate},
        progress={
            "done": 0,
            "of": len(dead_letters),
            "refused": 0,
            "possible_duplicates": 0,
            "also_delivered_to": beside,
        },
        message=f"{len(dead_letters)} dead letters at {wanted.rate:g} per second.",
        created_by=actor.name,
        **actor.origin,
        deadline=clock.now() + timedelta(seconds=retry_seconds(len(dead_letters), wanted.rate)),
    )
    _claim(operation, dead_letters, wanted.repair)
    _emit(operation, wanted, len(dead_letters), actor)
    dispatch.wake(pipeline.host_id)
    return operation


def _dead_letters(pipeline: Pipeline, wanted: RetryRequest) -> list[DeadLetter]:
    if wanted.ids is not None:
        return chosen(pipeline, wanted.ids)
    found = list(free(dead_letters(pipeline, wanted.matching)).order_by("id")[:MAX_DEAD_LETTERS])
    if not found:
        raise Conflict("No new dead letter matches.", code="nothing_to_replay", hint="List them with the same filter.")
    return found


def _check(pipeline: Pipeline, dead_letters: Sequence[DeadLetter]) -> list[str]:
    """The other channels that will get the events too. Raises Conflict with a finding for each source that cannot."""
    if pipeline.current_revision is None or pipeline.host_id is None:
        raise Conflict(
            f"{pipeline.name} has no host that can send.", code="not_replayable", hint="Start the pipeline once."
        )
    definition = _definition(pipeline.current_revision)
    findings: list[Finding] = []
    for source, topic in sorted({(dead_letter.source, dead_letter.topic) for dead_letter in dead_letters}):
        try:
            target(definition, source, topic)
        except NotReplayable as error:
            path = source if "." in source else f"sources.{source}"
            findings.append(Finding(path=path, code="NOT_REPLAYABLE", message=str(error), suggestion=error.hint))
    if findings:
        first = findings[0]
        raise Conflict(first.message, code="not_replayable", hint=first.suggestion, findings=findings)
    ways = {(dead_letter.source, dead_letter.channel) for dead_letter in dead_letters}
    return sorted({name for source, channel in ways for name in neighbours(definition, source, channel)})


def _definition(revision: Revision) -> Definition:
    try:
        return Definition.model_validate(revision.definition)
    except ValueError:
        raise Conflict(
            f"Revision {revision.number} is not valid for this version of Headgate.",
            code="not_replayable",
            hint="Publish a revision that is valid.",
        ) from None


def _claim(operation: Operation, dead_letters: Sequence[DeadLetter], repair: Repair | None) -> None:
    fields = {"body": repair.body, "headers": repair.headers} if repair else {}
    content = {name: value for name, value in fields.items() if value is not None} or None
    ids = [dead_letter.pk for dead_letter in dead_letters]
    free(DeadLetter.objects.filter(pk__in=ids)).update(operation=operation, repair=content)
    if DeadLetter.objects.filter(operation=operation).count() != len(ids):
        raise IntegrityError("a dead letter was claimed or settled at the same moment")


def _another(pipeline: Pipeline) -> Conflict:
    found = Operation.objects.filter(pipeline=pipeline, kind=OperationKind.RETRY, state__in=OPEN_STATES).first()
    if found is None:
        words = "Another request has claimed or settled some of the dead letters."
        return Conflict(words, code="busy", hint="Send the request again.")
    return Conflict(
        f"{found.created_by} is retrying dead letters of {pipeline.name}; only one retry runs at a time.",
        code="replay_under_way",
        hint=f"Wait for it, or cancel it: DELETE /api/v1/operations/{found.id}.",
    )


def _emit(operation: Operation, wanted: RetryRequest, number: int, actor: Actor) -> None:
    asked: dict[str, Any] = {
        "operation": str(operation.id),
        "dead_letters": number,
        "rate": wanted.rate,
        "repaired": wanted.repair is not None,
        "reason": wanted.reason,
        "ids": sorted(wanted.ids)[:100] if wanted.ids is not None else None,
    }
    audit.record(actor=actor, action="dead_letters.retry", pipeline_name=operation.pipeline.name, after=asked)
    message = f"{actor.name} requested a retry of {number} dead letters."
    data = {"operation": str(operation.id), "kind": operation.kind, "state": operation.state}
    events.record(kind="operation.updated", message=message, pipeline=operation.pipeline, actor=actor.name, data=data)


def mark_sending(*, dead_letters: Sequence[DeadLetter], now: datetime) -> int:
    """Note that letters are about to be sent; returns how many may have been sent before, without an answer."""
    DeadLetter.objects.filter(pk__in=[dead_letter.pk for dead_letter in dead_letters]).update(sending_since=now)
    return sum(dead_letter.sending_since is not None for dead_letter in dead_letters)


def settle(*, ids: Collection[int], by: str, now: datetime) -> int:
    """The broker has acknowledged these letters."""
    rows = DeadLetter.objects.filter(pk__in=ids, state=DeadLetterState.NEW)
    return rows.update(state=DeadLetterState.RETRIED, settled_at=now, settled_by=by)


def put_back(*, ids: Collection[int], operation_id: UUID, sent: bool) -> None:
    """These letters cannot be sent; they stay new, and the replay goes on without them. `sent`: they may be there."""
    rows = DeadLetter.objects.filter(pk__in=ids, operation_id=operation_id, state=DeadLetterState.NEW)
    rows.update(operation=None, **({} if sent else {"sending_since": None}))
