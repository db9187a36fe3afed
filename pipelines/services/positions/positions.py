"""Looks at positions, plans, and decisions about them.

A look is asked for here and answered by the worker of the pipeline's host, which alone can see its disk and its
clusters. A plan is a look with a target; it is applied by its hash, in one transaction, and begins a new lineage.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from math import inf
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Max, Q, QuerySet

from pipelines.domain.base.positions import Frozen, SourceIdentity
from pipelines.domain.base.states import InspectionState, LedgerState, Phase
from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.ledger import journal
from pipelines.domain.positions.cluster_move import ClusterMove, PartitionTranslation, Translation
from pipelines.domain.positions.cluster_move import identity as log_of
from pipelines.domain.positions.plan import STALE_AFTER, Plan, PlannedMove, Survey, Target, digest, reread
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict
from pipelines.models import LedgerBatch, LogIdentity, Pipeline, Position, PositionInspection, Run
from pipelines.selectors.hosts.hosts import supervised
from pipelines.selectors.lifecycle.situations import live_run
from pipelines.selectors.migration.migrations import inspection_in_use
from pipelines.selectors.positions.positions import basis, most_twice
from pipelines.selectors.runs.runs import last_active
from pipelines.services.base import audit, events, totals
from pipelines.services.base.audit import Actor
from pipelines.services.governance import governing
from pipelines.services.lifecycle.holding import require_free
from pipelines.services.monitoring import alerts

ANSWER_SECONDS = 60.0
"""How long the worker of the host may take."""
FRESH_SECONDS = 5.0
KEPT = 50
"""Looks of one pipeline that are kept, and as many plans."""
MOVABLE = frozenset({Phase.STOPPED, Phase.BLOCKED})


def take_in(*, run: Run, entries: Sequence[journal.Identified | journal.Repaired | journal.Noticed]) -> None:
    """What a journal tells of logs, checkpoints and groups. Call it in the transaction of the journal's number."""
    for entry in entries:
        if isinstance(entry, journal.Identified):
            identify(run.pipeline_id, [entry])
        elif isinstance(entry, journal.Repaired):
            message = f"The checkpoint of {entry.query} was torn: {entry.file} was {entry.action}."
            _emit(run, "checkpoint.repaired", message, entry)
        else:
            _take_notice(run, entry)


def _take_notice(run: Run, notice: journal.Noticed) -> None:
    rule, key = notice.code.lower(), f"{run.pipeline_id}/{notice.source}"
    if notice.over:
        alerts.clear_alert(rule=rule, key=key)
        return
    data = notice.model_dump(mode="json")
    _emit(run, f"guard.{rule}", notice.message, notice)
    alerts.raise_alert(rule=rule, key=key, message=notice.message, pipeline=run.pipeline, data=data)


def _emit(run: Run, kind: str, message: str, entry: journal.Repaired | journal.Noticed) -> None:
    events.record(kind=kind, message=message, pipeline=run.pipeline, run=run, data=entry.model_dump(mode="json"))


def identify(pipeline_id: UUID, identities: Collection[SourceIdentity]) -> None:
    """Remember which logs the positions are offsets of."""
    rows = [
        LogIdentity(
            pipeline_id=pipeline_id, source=each.source, topic=topic, topic_id=topic_id, cluster_id=each.cluster_id
        )
        for each in identities
        for topic, topic_id in each.topics.items()
    ]
    LogIdentity.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["pipeline", "source", "topic"],
        update_fields=["topic_id", "cluster_id"],
    )


def inspect(*, pipeline: Pipeline, actor: Actor, now: datetime, max_age: float = FRESH_SECONDS) -> PositionInspection:
    """A look that is not older than `max_age` seconds, or one that is under way, or a new one."""
    inspections = PositionInspection.objects.filter(pipeline=pipeline, target__isnull=True)
    recent = inspections.filter(answered_at__gte=now - timedelta(seconds=max_age))
    pending = inspections.filter(state=InspectionState.PENDING, deadline__gt=now)
    return recent.first() or pending.first() or _ask(pipeline, None, actor, now)


def plan(*, pipeline: Pipeline, target: Target | ClusterMove, actor: Actor) -> PositionInspection:
    """Ask what a choice would do, or a move to another cluster. Raises Conflict where nobody can look."""
    if pipeline.host_id is None:
        raise Conflict(
            f"{pipeline.name} has no host that can inspect its positions.", code="no_host", hint="Start it once."
        )
    if not supervised(pipeline.host):
        raise Conflict(
            f"The supervisor on {pipeline.host_id} is silent, so it cannot inspect the positions of {pipeline.name}.",
            code="host_silent",
            hint="Start the worker of this host.",
        )
    return _ask(pipeline, target, actor, clock.now())


def _ask(pipeline: Pipeline, target: Target | ClusterMove | None, actor: Actor, now: datetime) -> PositionInspection:
    asked = PositionInspection.objects.create(
        pipeline=pipeline,
        target=target.model_dump(mode="json") if target else None,
        asked_by=actor.name,
        asked_at=now,
        deadline=now + timedelta(seconds=ANSWER_SECONDS),
    )
    _prune(PositionInspection.objects.filter(pipeline=pipeline, target__isnull=target is None), pipeline, now)
    dispatch.wake(pipeline.host_id)
    return asked


def _prune(alike: QuerySet[PositionInspection], pipeline: Pipeline, now: datetime) -> None:
    """Remove the oldest, but none that is awaited, and not the one by which a migration goes on."""
    old = list(alike.order_by("-asked_at").values_list("pk", flat=True)[KEPT:])
    awaited = Q(state=InspectionState.PENDING, deadline__gt=now)
    PositionInspection.objects.filter(pk__in=old).exclude(awaited | Q(pk=inspection_in_use(pipeline.pk))).delete()


def answer(
    *,
    inspection: PositionInspection,
    survey: Survey,
    found: Plan | None,
    findings: Sequence[Mapping[str, Any]],
    seen: dict[str, Any],
) -> bool:
    """The worker has looked; `seen` is the basis that it read before. False where somebody else has answered."""
    moves = found.moves if found else []
    named = (
        ""
        if found is None or found.impossible or not moves
        else digest(basis=seen, moves=moves, identities=survey.identities)
    )
    return _close(
        inspection,
        InspectionState.ANSWERED,
        survey=survey.model_dump(mode="json"),
        moves=[move.model_dump(mode="json") for move in moves],
        impossible=[each.model_dump(mode="json") for each in found.impossible] if found else [],
        findings=list(findings),
        basis=seen,
        hash=named,
    )


def answer_move(*, inspection: PositionInspection, found: Translation, seen: dict[str, Any]) -> bool:
    """The worker has asked both clusters; nobody applies that but the migration that asked. False where somebody else
    has answered."""
    rows: Sequence[Frozen] = found.rows or found.ends
    return _close(
        inspection,
        InspectionState.ANSWERED,
        moves=[row.model_dump(mode="json") for row in rows],
        impossible=[row.model_dump(mode="json") for row in found.rows if row.code],
        basis=seen,
    )


def fail(*, inspection: PositionInspection, error: Mapping[str, str]) -> bool:
    """Nobody could look: `error` has code, message and hint."""
    return _close(inspection, InspectionState.FAILED, error=dict(error))


def _close(inspection: PositionInspection, state: InspectionState, **fields: Any) -> bool:
    pending = PositionInspection.objects.filter(pk=inspection.pk, state=InspectionState.PENDING)
    return bool(pending.update(state=state, answered_at=clock.now(), **fields))


@transaction.atomic
def apply(*, pipeline: Pipeline, named: str, actor: Actor) -> PositionInspection:
    """Do what a plan said: set the positions, remember the logs, and end the lineage, so that the next start begins a
    new one from there.

    Raises Conflict: `plan_stale` for a plan that is unknown, too old, or was made against something else than what is
    there now; `pipeline_not_stopped` unless it is STOPPED or BLOCKED. Governed where it
    needs the word of others.
    """
    current = Pipeline.objects.select_for_update().get(id=pipeline.id)
    require_free(current, f"A change of positions of {current.name}")
    _require_rest(current)
    found = PositionInspection.objects.filter(pipeline=current, hash=named, state=InspectionState.ANSWERED).first()
    if found is None or _is_stale(current, found, aged=actor.right is None):
        raise Conflict(
            "The pipeline has changed since this plan was made; nothing was changed.",
            code="plan_stale",
            hint=f"Plan again and review it: headgate positions plan {pipeline.name} --to …",
        )
    governing.require(pipeline=current, kind=ChangeKind.POSITIONS, actor=actor)
    return carry_out(pipeline=current, found=found, actor=actor)


def carry_out(*, pipeline: Pipeline, found: PositionInspection, actor: Actor) -> PositionInspection:
    """Do what an answered plan says. Call it in a transaction, for a pipeline at rest whose basis was compared."""
    moves = [PlannedMove.model_validate(move) for move in found.moves]
    survey = Survey.model_validate(found.survey)
    _move(pipeline, moves, survey)
    identify(pipeline.id, survey.identities)
    abandoned = _abandon(pipeline)
    twice = sum(row.duplicates_max for row in [*abandoned, *_announce_reread(pipeline, moves, abandoned)])
    _start_anew(pipeline)
    PositionInspection.objects.filter(pk=found.pk).update(state=InspectionState.APPLIED)
    _record(pipeline, found, moves, twice, actor)
    found.state = InspectionState.APPLIED
    return found


def carry_over(
    *, pipeline: Pipeline, found: PositionInspection, actor: Actor, reported: Sequence[Mapping[str, Any]] = ()
) -> PositionInspection:
    """Give one source the positions on another cluster that were found for it, and remember that log alone. `told`:
    positions there that its group knows already, in place of none. Call it in a transaction, for a pipeline at rest
    whose basis was compared."""
    rows = [PartitionTranslation.model_validate(row) for row in found.moves]
    source, lineage = rows[0].source, _last_lineage(pipeline)
    known = {(each["source"], each["channel"], each["topic"], each["partition"]): each["offset"] for each in reported}
    Position.objects.filter(pipeline=pipeline, source=source).delete()
    Position.objects.bulk_create(
        Position(
            pipeline=pipeline,
            source=source,
            channel=row.channel,
            topic=row.topic,
            partition=row.partition,
            next_offset=row.new,
            lineage=lineage,
            reported_at_decision=known.get((source, row.channel, row.topic, row.partition), 0),
        )
        for row in rows
        if row.new is not None
    )
    LogIdentity.objects.filter(pipeline=pipeline, source=source).delete()
    identify(pipeline.id, [log_of(rows)])
    _start_anew(pipeline)
    PositionInspection.objects.filter(pk=found.pk).update(state=InspectionState.APPLIED)
    found.state = InspectionState.APPLIED
    _record_translation(pipeline, found, rows, actor)
    return found


def _record_translation(
    pipeline: Pipeline, found: PositionInspection, rows: Sequence[PartitionTranslation], actor: Actor
) -> None:
    done = {
        "origin": f"translated by {rows[0].by}",
        "cluster": rows[0].cluster_id,
        "skip": sum(row.skip or 0 for row in rows),
        "replay": sum(row.replay or 0 for row in rows),
        "changes": found.moves,
    }
    audit.record(
        actor=actor,
        action="positions.translate",
        pipeline_name=pipeline.name,
        before={"positions": found.basis.get("positions")},
        after=done,
    )
    message = f"sources.{rows[0].source} continues in the cluster {rows[0].cluster_id}: {done['skip']} records are "
    message += f"skipped, {done['replay']} are reread."
    events.record(kind="position.changed", message=message, pipeline=pipeline, actor=actor.name, data=done)


def put_back(
    *, pipeline: Pipeline, rows: Sequence[Mapping[str, Any]], identities: Collection[SourceIdentity] = ()
) -> None:
    """Set the positions that were written down (source, channel, topic, partition, offset), and begin a new lineage
    from them; `identities`: the logs that they are offsets of, where those had changed. What the group tells of those
    that are given up is no news. Call it in a transaction, for a pipeline at rest."""
    lineage = _last_lineage(pipeline)
    if identities:
        LogIdentity.objects.filter(pipeline=pipeline).delete()
        identify(pipeline.id, identities)
    abandoned = Position.objects.filter(pipeline=pipeline)
    reported = {_place(each): max(each.next_offset, each.reported_at_decision or 0) for each in abandoned}
    abandoned.delete()
    back = [
        Position(
            pipeline=pipeline,
            source=row["source"],
            channel=row["channel"],
            topic=row["topic"],
            partition=row["partition"],
            next_offset=row["offset"],
            lineage=lineage,
        )
        for row in rows
    ]
    for position in back:
        position.reported_at_decision = reported.get(_place(position))
    Position.objects.bulk_create(back)
    _start_anew(pipeline)


def read_again(*, pipeline: Pipeline, rows: Sequence[Mapping[str, Any]], delivered: int) -> None:
    """Set the positions that were written down although more was read since, of which sinks hold so many events. Call
    it in a transaction, for a pipeline at rest whose open batches are abandoned."""
    now = {_place(each): each.next_offset for each in Position.objects.filter(pipeline=pipeline)}
    moves = [
        PlannedMove(
            **{name: row[name] for name in ("source", "channel", "topic", "partition")},
            old=old,
            new=row["offset"],
            skip=0,
            replay=max(0, old - row["offset"]),
        )
        for row in rows
        if (old := now.get((row["source"], row["channel"], row["topic"], row["partition"]))) is not None
    ]
    if delivered:
        _announce_reread(pipeline, moves, [])
    put_back(pipeline=pipeline, rows=rows)


def _place(position: Position) -> tuple[str, str, str, int]:
    return position.source, position.channel, position.topic, position.partition


def _require_rest(pipeline: Pipeline) -> None:
    if pipeline.phase in MOVABLE and live_run(pipeline) is None:
        return
    raise Conflict(
        f"Positions change only while {pipeline.name} is STOPPED or BLOCKED; it is {pipeline.phase}.",
        code="pipeline_not_stopped",
        hint=f"Stop it (headgate stop {pipeline.name}), or plan a migration of the kind `position`.",
    )


def _is_stale(pipeline: Pipeline, found: PositionInspection, *, aged: bool) -> bool:
    """`aged`: whether its age counts; a change request has a time of its own."""
    age = (clock.now() - found.answered_at).total_seconds() if found.answered_at else inf
    return (aged and age > STALE_AFTER) or basis(pipeline) != found.basis


def _move(pipeline: Pipeline, moves: Sequence[PlannedMove], survey: Survey) -> None:
    lineage = _last_lineage(pipeline)
    reported = {(row.source, row.channel, row.topic, row.partition): row.reported for row in survey.rows}
    rows = [
        Position(
            pipeline=pipeline,
            source=move.source,
            channel=move.channel,
            topic=move.topic,
            partition=move.partition,
            next_offset=move.new,
            lineage=lineage,
            reported_at_decision=reported.get((move.source, move.channel, move.topic, move.partition)),
        )
        for move in moves
    ]
    planned = {(move.source, move.channel, move.topic, move.partition) for move in moves}
    gone = [
        row.pk
        for row in Position.objects.filter(pipeline=pipeline, topic__in={move.topic for move in moves})
        if (row.source, row.channel, row.topic, row.partition) not in planned
    ]
    Position.objects.filter(pk__in=gone).delete()
    Position.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["pipeline", "source", "channel", "topic", "partition"],
        update_fields=["next_offset", "lineage", "reported_at_decision", "updated_at"],
    )


def _last_lineage(pipeline: Pipeline) -> int:
    last = last_active(pipeline.id)
    return last.lineage if last else 0


def _abandon(pipeline: Pipeline) -> list[LedgerBatch]:
    """End the open batches of the lineage, with the most records of theirs that sinks may hold."""
    batches = list(LedgerBatch.objects.filter(pipeline=pipeline, state=LedgerState.PLANNED))
    for batch in batches:
        batch.duplicates_max = batch.most_twice
        LedgerBatch.objects.filter(pk=batch.pk).update(state=LedgerState.ABANDONED, duplicates_max=batch.duplicates_max)
    totals.add_abandoned(batches)
    return batches


def _announce_reread(
    pipeline: Pipeline, moves: Sequence[PlannedMove], abandoned: Sequence[LedgerBatch]
) -> list[LedgerBatch]:
    """Write down what is read once more, one row for each channel, beyond what its open batches have announced."""
    if (run := last_active(pipeline.id)) is None:
        return []
    last = _last_batches(run)
    rows = [
        LedgerBatch(
            run=run,
            pipeline=pipeline,
            lineage=run.lineage,
            source=source,
            channel=channel,
            first_batch=last.get((source, channel), 0),
            last_batch=last.get((source, channel), 0),
            state=LedgerState.ABANDONED,
            ranges=[
                {"topic": move.topic, "partition": move.partition, "start": move.new, "end": move.new + move.replay}
                for move in moves
                if (move.source, move.channel) == (source, channel) and move.replay
            ],
            duplicates_max=records,
            done_at=clock.now(),
        )
        for (source, channel), records in reread(moves, most_twice(abandoned)).items()
    ]
    LedgerBatch.objects.bulk_create(rows)
    totals.add_abandoned(rows)
    return rows


def _last_batches(run: Run) -> dict[tuple[str, str], int]:
    """The last batch of the run's lineage, by (source, channel)."""
    rows = LedgerBatch.objects.filter(pipeline_id=run.pipeline_id, lineage=run.lineage).values("source", "channel")
    return {(row["source"], row["channel"]): row["last"] for row in rows.annotate(last=Max("last_batch"))}


def _start_anew(pipeline: Pipeline) -> None:
    fields = {"closed_lineage": _last_lineage(pipeline), "findings": [], "updated_at": clock.now()}
    Pipeline.objects.filter(id=pipeline.id).update(**fields)


def _record(
    pipeline: Pipeline, found: PositionInspection, moves: Sequence[PlannedMove], abandoned: int, actor: Actor
) -> None:
    goal = (found.target or {}).get("goal")
    done = {
        "origin": f"decision: {goal}",
        "plan": found.hash,
        "skip": sum(move.skip for move in moves),
        "replay": sum(move.replay for move in moves),
        "possible_duplicates": abandoned,
        "changes": found.moves,
    }
    audit.record(
        actor=actor,
        action="positions.apply",
        pipeline_name=pipeline.name,
        before={"positions": found.basis.get("positions")},
        after={**done, "target": found.target},
    )
    message = f"{actor.name} set the positions of {pipeline.name} ({goal}): {done['skip']} records are skipped, "
    message += f"{done['replay']} are reread."
    events.record(kind="position.changed", message=message, pipeline=pipeline, actor=actor.name, data=done)
