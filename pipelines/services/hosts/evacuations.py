"""Emptying a host: a migration of the kind `host` for each of its pipelines, so many at once.

What cannot be begun, or fails before anything has changed, stays where it is and works; the others go on. A migration
that fails after something had changed stops the rest, unless they were told to go on.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from pipelines.domain.base.states import FINAL_STAGES, WAITING_STAGES, DesiredState, MigrationKind, MigrationStage
from pipelines.domain.migration.observation import ObservationRules
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict, HeadgateError, NotFound
from pipelines.models import Evacuation, Host, Migration, Pipeline
from pipelines.selectors.base.prepared import Prepared, given
from pipelines.selectors.governance.rules import approval_rule
from pipelines.selectors.hosts.capacity import promised, takers, tied
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor
from pipelines.services.base.fencing import fenced
from pipelines.services.lifecycle import placement
from pipelines.services.migration import migrations

FINAL = [stage.value for stage in FINAL_STAGES]
OVER = [*FINAL, MigrationStage.NEEDS_ATTENTION.value]
"""Stages from which a migration does not go on by itself: another one takes its place."""
MOST_AT_ONCE = 50
_PER_TURN = 5
"""Migrations that begin in one tick: each takes tens of queries, and other pipelines wait for the tick."""


def start(
    *, host: str, at_once: int, go_on: bool, reason: str, actor: Actor, rules: ObservationRules | None = None
) -> Evacuation:
    """Empty a host, and observe each of its pipelines by these rules; nothing else is placed there meanwhile.
    Raises NotFound, or Conflict where it is being emptied already."""
    if not Host.objects.filter(name=host).exists():
        raise NotFound(f"There is no host {host!r}.", code="host_not_found", hint="GET /api/v1/hosts lists them.")
    names = [
        row.name
        for row in promised().filter(host=host).select_related("current_revision").order_by("name")
        if row.desired_state != DesiredState.STOPPED
    ]
    try:
        with transaction.atomic():
            made = Evacuation.objects.create(
                host_id=host,
                at_once=at_once,
                go_on=go_on,
                names=names,
                reason=reason,
                created_by=actor.name,
                created_at=clock.now(),
                rules=rules.model_dump(mode="json") if rules else {},
            )
            after = {"host": host, "pipelines": names, "reason": reason, "rules": made.rules}
            audit.record(actor=actor, action="host.evacuate", after=after)
            _emit(made, f"{actor.name} requested the evacuation of {host}. {_pipelines(len(names), 'run')}", actor.name)
    except IntegrityError:
        raise Conflict(
            f"An evacuation of {host} is already open.",
            code="evacuation_open",
            hint="GET /api/v1/evacuations lists them.",
        ) from None
    dispatch.wake(host)
    return made


@transaction.atomic
def cancel(*, evacuation: Evacuation, actor: Actor) -> Evacuation:
    """Cancel an evacuation: no further migration starts; those in progress continue. Raises Conflict where it has
    ended."""
    if not _end(evacuation, "cancelled", "Canceled."):
        raise Conflict("This evacuation has ended.", code="evacuation_over")
    audit.record(actor=actor, action="host.evacuate_cancel", after={"host": evacuation.host_id})
    return Evacuation.objects.get(pk=evacuation.pk)


def end_with_host(host: str) -> None:
    """A host that nobody expects any longer is not emptied any further, not even when it comes back. Call it in a
    transaction."""
    for row in Evacuation.objects.filter(host_id=host, ended_at=None):
        _end(row, "cancelled", f"{host} was removed.")


_under_way = Prepared(lambda: Evacuation.objects.filter(host_id=given("host"), ended_at=None).only("id"))


def under_way(host: str) -> bool:
    """Whether the host is being emptied."""
    return bool(_under_way(host=host))


@fenced
def turn(*, host: str) -> int:
    """Go on with the evacuation of a host; returns how many migrations were begun."""
    row = Evacuation.objects.filter(host_id=host, ended_at=None).first()
    if row is None:
        return 0
    moves = list(Migration.objects.filter(evacuation=row).select_related("pipeline"))
    _note_failures(row, moves)
    stuck = next((each for each in moves if _failed(each)), None)
    if stuck is not None and not row.go_on:
        _end(row, "stopped", "A migration of it has failed; the rest was not started.")
        return 0
    under_way = sum(each.stage not in OVER for each in moves)
    if not row.names and not under_way:
        _end(row, "done", "")
        return 0
    _start_approved(row, moves)
    return _start_some(row, min(_PER_TURN, max(0, row.at_once - under_way)))


def _start_approved(row: Evacuation, moves: list[Migration]) -> None:
    """What had to wait for others is begun when they have approved it; what is refused then waits, and its page says
    why."""
    for each in moves:
        if each.stage == MigrationStage.APPROVED:
            with suppress(Conflict):
                migrations.advance(migration=each, named=each.plan_hash, actor=Actor(row.created_by))


def _failed(migration: Migration) -> bool:
    """It changed something, and did not come through."""
    return migration.stage in {MigrationStage.ROLLED_BACK, MigrationStage.NEEDS_ATTENTION}


def _note_failures(row: Evacuation, moves: list[Migration]) -> None:
    ended = {each.pipeline.name: each.message for each in moves if each.stage in OVER and not _came_through(each)}
    started = {each.pipeline.name for each in moves}
    left = {**{name: why for name, why in row.left.items() if name not in started}, **ended}
    if left != row.left:
        _write(row, left=left)


def _came_through(migration: Migration) -> bool:
    """Whether the host has no more of its pipeline: it was moved, or deleted."""
    return migration.stage == MigrationStage.COMMITTED or migration.pipeline.archived_at is not None


def _start_some(row: Evacuation, places: int) -> int:
    names, started = list(row.names), 0
    left = dict(row.left)
    while names and started < places:
        name = names.pop(0)
        why = _move(row, name)
        if why:
            left[name] = why
        else:
            started += 1
    if names != row.names or left != row.left:
        _write(row, names=names, left=left)
    return started


def _move(row: Evacuation, name: str) -> str:
    """Begin the migration of one pipeline; returns why it stays, empty where it moves."""
    pipeline = (
        Pipeline.objects.select_related("current_revision", "host")
        .filter(name=name, archived_at=None, host_id=row.host_id)
        .first()
    )
    if pipeline is None or pipeline.desired_state == DesiredState.STOPPED:
        return ""
    if ties := tied(pipeline):
        return "; ".join(ties)
    target = placement.elsewhere(pipeline, {each.name for each in takers()})
    if target is None:
        return "No other host has capacity for it."
    actor = Actor(row.created_by)
    try:
        with transaction.atomic():
            made = migrations.create(
                pipeline=pipeline,
                kind=MigrationKind.HOST,
                actor=actor,
                evacuation=row,
                spec={"host": target, **({"rules": row.rules} if row.rules else {})},
                reason=f"{row.host_id} is emptied: {row.reason}",
            )
            return _set_off(made, actor)
    except HeadgateError as refused:
        return refused.detail


def _set_off(made: Migration, actor: Actor) -> str:
    """Begin it where nobody else has to approve; otherwise it waits for them."""
    if made.stage == MigrationStage.DRAFT:
        words = "; ".join(str(each["message"]) for each in made.findings)
        migrations.abort(migration=made, reason=words, actor=actor)
        return words
    if approval_rule(made.pipeline).approvers == 0:
        approved = migrations.approve(migration=made, named=made.plan_hash, actor=actor)
        migrations.advance(migration=approved, named=made.plan_hash, actor=actor)
    return ""


def _write(row: Evacuation, **fields: Any) -> bool:
    same = Evacuation.objects.filter(pk=row.pk, version=row.version, ended_at=None)
    if not same.update(version=row.version + 1, **fields):
        return False
    row.version += 1
    for name, value in fields.items():
        setattr(row, name, value)
    return True


def _end(row: Evacuation, outcome: str, why: str) -> bool:
    left = {**dict.fromkeys(row.names, why), **row.left}
    if not _write(row, ended_at=clock.now(), outcome=outcome, left=left, names=[]):
        return False
    _abort_waiting(row, why)
    _emit(row, f"The evacuation of {row.host_id} has ended: {outcome}. {_pipelines(len(left), 'stay')}")
    return True


def _abort_waiting(row: Evacuation, why: str) -> None:
    """Nobody would begin those that wait for approvals, and the next migration of their pipelines wants their place."""
    waiting = Migration.objects.filter(evacuation=row, stage__in=[stage.value for stage in WAITING_STAGES])
    for each in waiting.select_related("pipeline"):
        migrations.abort(migration=each, reason=why, actor=Actor(row.created_by))


def _pipelines(count: int, verb: str) -> str:
    return f"One pipeline {verb}s." if count == 1 else f"{count} pipelines {verb}."


def _emit(row: Evacuation, message: str, actor: str = "system") -> None:
    data = {"evacuation": str(row.pk), "host": row.host_id, "left": row.left, "outcome": row.outcome}
    events.record(kind="host.evacuation", message=message, actor=actor, data=data)


def get(evacuation_id: UUID) -> Evacuation:
    """One evacuation; raises NotFound."""
    row = Evacuation.objects.filter(pk=evacuation_id).first()
    if row is None:
        raise NotFound("There is no such evacuation.", code="evacuation_not_found")
    return row
