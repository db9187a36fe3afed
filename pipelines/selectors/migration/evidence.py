"""The evidence of a migration, from what its steps wrote down and what the ledger says."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from django.db.models import Exists, Max, OuterRef, QuerySet, Sum

from pipelines.domain.base.states import DesiredState, LedgerState, RunOutcome
from pipelines.domain.migration import evidence, progress
from pipelines.domain.migration.progress import MigrationStepState
from pipelines.domain.migration.specs import shown
from pipelines.domain.migration.steps import StepName
from pipelines.domain.migration.timeline.parts import TimelineSpan, seconds, without_idle_time
from pipelines.models import AuditRow, Host, LedgerBatch, Migration, Run
from pipelines.selectors.migration import migrations as selecting
from pipelines.selectors.migration.shadows import shadow_of


def document(migration: Migration) -> dict[str, Any]:
    """Who, when, what, where it stopped and began, the books, the durations; with a digest over all of it."""
    taken: dict[str, Any] = migration.snapshot or {}
    follower = following(migration)
    heir = heir_of(migration, follower)
    positions = _positions(migration, taken, follower)
    plan = migration.plan
    counted = _evidence_of(migration, StepName.SET_POSITIONS) or {}
    expected = taken.get("translation") or counted.get("moves") or plan.get("moves") or []
    return evidence.sealed(
        {
            "id": str(migration.pk),
            "pipeline": migration.pipeline.name,
            "kind": migration.kind,
            "stage": migration.stage,
            "message": migration.message,
            "reason": migration.reason,
            "created_by": migration.created_by,
            "created_at": migration.created_at,
            "started_at": migration.started_at,
            "ended_at": migration.ended_at,
            "spec": shown(migration.spec),
            "plan": plan,
            "plan_hash": migration.plan_hash,
            "approvals": [{"by": row.by, "at": row.at, "hash": row.hash} for row in migration.approvals.all()],
            "gates": migration.passed,
            "requests": _requests(migration),
            "before": {
                "revision": migration.old_revision.number if migration.old_revision else None,
                "host": migration.old_host_id,
                "run": migration.old_run.number if migration.old_run else None,
            },
            "after": {
                "revision": migration.new_revision.number if migration.new_revision else None,
                "host": migration.new_host_id,
                "run": migration.new_run.number if migration.new_run else None,
            },
            "runs": _runs(migration, heir or follower),
            "software": taken.get("software"),
            "snapshot": taken,
            "positions": positions,
            "expected": {name: sum(row[name] or 0 for row in expected) for name in ("skip", "replay")},
            "sink_ends": (_evidence_of(migration, StepName.NOTE_SINK_ENDS) or {}).get("ends", []),
            **evidence.sums(positions),
            "rollback": _rollback(migration, heir),
            "totals": _ledger_totals(migration, taken),
            "pause": _pause(migration, follower),
            "stages": evidence.stages(migration.steps, _text(migration.ended_at)),
            "steps": evidence.durations(migration.steps),
            "proof": _evidence_of(migration, StepName.PROVE_PAUSE),
            "preflight": _evidence_of(migration, StepName.PREPARE_STANDBY),
            "drain_dump": _drain_dump(migration),
            "old_run_ended": _evidence_of(migration, StepName.END_OLD_RUN),
            "prediction": plan.get("predictions", []),
            "acknowledged": taken.get("acknowledged"),
            "shadow": shadow_of(migration, shows_records=False),
            "outcome": [row.model_dump(mode="json") for row in selecting.outcome_rows(migration)],
            "observed": (migration.observed or _evidence_of(migration, StepName.OBSERVE) or {}).get("checks", []),
            "findings": migration.findings,
        }
    )


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def software(hosts: Collection[str | None]) -> dict[str, str]:
    """The versions of Headgate by which a migration is begun: of the server, and of the workers of both hosts, whose
    agents are started with what is installed there."""
    rows = Host.objects.filter(name__in=[name for name in hosts if name]).order_by("name")
    workers = {f"worker on {row.name}": row.version for row in rows if row.version}
    return {"server": version("headgate"), **workers}


def _requests(migration: Migration) -> list[dict[str, Any]]:
    """What people asked for, and what was refused before its end, as the audit has it."""
    rows = AuditRow.objects.filter(
        pipeline_name=migration.pipeline.name, action__startswith="migration.", after__migration=str(migration.pk)
    )
    if migration.ended_at is not None:
        rows = rows.exclude(outcome="refused", at__gt=migration.ended_at)
    return [
        {
            "at": row.at,
            "by": row.actor,
            "action": row.action.removeprefix("migration."),
            "outcome": row.outcome,
            "stage": (row.before or {}).get("stage"),
            "reason": after.get("reason") or after.get("detail", ""),
        }
        for row in rows.order_by("at", "pk")
        for after in [row.after or {}]
    ]


def _runs(migration: Migration, last: Run | None) -> list[dict[str, Any]]:
    """The agents' runs that it concerns: of before, the one that was made ready, and the one that went on."""
    sides = {"before": migration.old_run, "new": migration.new_run, "went_on": last}
    return [
        {
            "side": side,
            "number": run.number,
            "revision": run.revision.number,
            "host": run.host_id,
            "role": run.role,
            "epoch": run.epoch,
            "started_at": run.started_at,
            "promoted_at": run.promoted_at,
            "first_record_at": run.first_record_at,
        }
        for side, run in sides.items()
        if run is not None and not (side == "went_on" and run == migration.new_run)
    ]


def _ledger_totals(migration: Migration, taken: dict[str, Any]) -> dict[str, Any]:
    before = taken.get("totals", {})
    after = taken.get("totals_after") or selecting.totals(migration.pipeline_id)
    return {
        "before": before,
        "after": after,
        "difference": {"before": evidence.difference(before), "after": evidence.difference(after)},
    }


def _pause(migration: Migration, follower: Run | None) -> dict[str, Any]:
    """What the plan expected, and what the data saw: between which two deliveries."""
    planned = migration.plan.get("pause") or {}
    return {
        "expected": planned.get("expected"),
        "most": planned.get("most"),
        "seen": pause_seen(migration, follower),
        "last_delivered_at": _text(last_delivered_at(migration)),
        "first_delivered_at": _text(follower.first_record_at) if follower else None,
    }


def _evidence_of(migration: Migration, step: StepName) -> Any:
    return progress.of(migration.steps, step, "evidence")


def _drain_dump(migration: Migration) -> dict[str, Any] | None:
    """What held the pause up that was given up."""
    dump = selecting.drain_dump(migration)
    return {"at": datetime.fromtimestamp(dump.at, UTC), "stuck": dump.stuck, "files": dump.files} if dump else None


def _positions(migration: Migration, taken: dict[str, Any], follower: Run | None) -> list[dict[str, Any]]:
    """Per partition: where the old side stopped, the snapshot, where the side that followed began."""
    started = _starts(follower) if follower else []
    if follower is not None and follower.revision_id == migration.new_revision_id and taken.get("translation"):
        rows, topic = evidence.across(taken["translation"], started), "old_topic"
    else:
        rows, topic = evidence.between((taken.get("stopped") or {}).get("positions", []), started), "topic"
    kept = {(r["source"], r["channel"], r["topic"], r["partition"]): r["offset"] for r in taken.get("positions", [])}
    named = ("source", "channel", topic, "partition")
    return [{**row, "snapshot": kept.get(tuple(row[name] for name in named))} for row in rows]


def heir_of(migration: Migration, follower: Run | None) -> Run | None:
    """The run that delivered first after a new side that had delivered was ended."""
    ended = last_of_new(migration)
    if ended is None or follower is None or not _is_between(migration.new_run, follower, ended):
        return None
    return _delivered_after(ended)


def last_of_new(migration: Migration) -> Run | None:
    """The last run of the new side, once it is proven over."""
    return _run_of(migration, _ended_new_run(migration).get("run"))


def _ended_new_run(migration: Migration) -> dict[str, Any]:
    """How the last run of the new side ended, once it is proven over."""
    rows = (row for row in migration.steps if row["name"] == StepName.END_NEW_RUN and row["evidence"])
    return next((row["evidence"] for row in rows if row["state"] == MigrationStepState.DONE), {})


def _run_of(migration: Migration, number: int | None) -> Run | None:
    if number is None:
        return None
    return Run.objects.filter(pipeline_id=migration.pipeline_id, number=number, epoch__isnull=False).first()


def _is_between(first: Run | None, run: Run, last: Run) -> bool:
    return first is not None and (first.epoch or 0) <= (run.epoch or 0) <= (last.epoch or 0)


def _rollback(migration: Migration, heir: Run | None) -> dict[str, Any] | None:
    """The second cut: where the new side, which may have been started again, stopped, and where its heir began; and the
    pause of the data between them."""
    if heir is None or migration.new_run is None:
        return None
    of_new = _of_new(migration.new_run, heir)
    done = of_new.filter(state=LedgerState.DONE)
    translated, started = (migration.snapshot or {}).get("translated_back"), _starts(heir)
    positions = evidence.across(translated, started) if translated else evidence.between(_ends(done), started)
    span = pause_back(migration, heir)
    return {
        "positions": positions,
        **evidence.sums(positions),
        "last_delivered_at": _last_delivered_at(done),
        "first_delivered_at": heir.first_record_at,
        "seen": seconds(span) if span else None,
        "duplicates_max": of_new.aggregate(most=Sum("duplicates_max", default=0))["most"],
    }


def _of_new(new: Run, heir: Run) -> QuerySet[LedgerBatch]:
    """Batches of the new side, up to the run that followed it."""
    rows = LedgerBatch.objects.filter(pipeline=heir.pipeline_id, run__epoch__gte=new.epoch, run__epoch__lt=heir.epoch)
    return rows.exclude(state=LedgerState.REPLAYED)


def _last_delivered_at(done: QuerySet[LedgerBatch]) -> datetime | None:
    last: datetime | None = done.aggregate(at=Max("done_at"))["at"]
    return last


def pause_back(migration: Migration, heir: Run | None) -> TimelineSpan | None:
    """Between the last delivery of the new side and the first of its heir; None as `pause_between` says."""
    new = migration.new_run
    if new is None or heir is None or heir.first_record_at is None or migration.old_desired == DesiredState.PAUSED:
        return None
    last = _last_delivered_at(_of_new(new, heir).filter(state=LedgerState.DONE))
    if last is None:
        return None
    clean = _ended_new_run(migration).get("outcome") == RunOutcome.CLEAN  # what has crashed was not without records
    asked = _time_of(migration, StepName.PAUSE_NEW, "intent_at") if clean else None
    worked = _time_of(migration, StepName.START_OLD, "done_at")
    return without_idle_time(last, heir.first_record_at, asked, worked)


def following(migration: Migration) -> Run | None:
    """The run that delivered first after the snapshot: of the new side, or of the old one after the way back. None
    where the old run went on."""
    taken: dict[str, Any] = migration.snapshot or {}
    if not taken.get("digest") or not progress.intended(migration.steps, StepName.END_OLD_RUN):
        return None
    if selecting.is_promoted(migration) and selecting.planned_by(migration.new_run):
        return migration.new_run
    last = _run_of(migration, taken["run"])
    return _delivered_after(last) if last is not None else None


def _delivered_after(last: Run) -> Run | None:
    """The first run that has delivered of those that had the pipeline after this one."""
    later = Run.objects.filter(pipeline_id=last.pipeline_id, epoch__gt=last.epoch)
    return later.filter(Exists(LedgerBatch.objects.filter(run=OuterRef("pk")))).order_by("epoch").first()


def _starts(run: Run) -> list[dict[str, Any]]:
    """Where a run began to read, per partition, by its first batches."""
    read = LedgerBatch.objects.filter(run=run).exclude(state=LedgerState.REPLAYED)
    return _edges(read.order_by("first_batch"), "start")


def _ends(done: QuerySet[LedgerBatch]) -> list[dict[str, Any]]:
    """Where a side stopped, per partition, by the last batches that it finished."""
    return _edges(done.order_by("-run__epoch", "-last_batch"), "end")


def _edges(batches: QuerySet[LedgerBatch], edge: str) -> list[dict[str, Any]]:
    """The `start` or `end` of each partition's first range among the batches, which are counted per channel."""
    found: dict[tuple[str, str, str, int], int] = {}
    for source, channel in batches.order_by().values_list("source", "channel").distinct():
        own = batches.filter(source=source, channel=channel).values_list("ranges", flat=True)
        for each in itertools.chain.from_iterable(own[:MOST_BATCHES]):
            found.setdefault((source, channel, each["topic"], each["partition"]), each[edge])
    return [
        {"source": place[0], "channel": place[1], "topic": place[2], "partition": place[3], "offset": offset}
        for place, offset in found.items()
    ]


MOST_BATCHES = 1000
"""Rows of the ledger in which every partition of a channel is looked for."""


def pause_seen(migration: Migration, follower: Run | None) -> float | None:
    """Seconds of `pause_between`."""
    span = pause_between(migration, follower)
    return seconds(span) if span else None


def pause_between(migration: Migration, follower: Run | None) -> TimelineSpan | None:
    """Between the old side's last delivery and the first one that followed; None where either is missing, or where the
    pipeline was paused before."""
    last = last_delivered_at(migration)
    if last is None or follower is None or follower.first_record_at is None:
        return None
    if migration.old_desired == DesiredState.PAUSED:
        return None
    asked = _time_of(migration, StepName.PAUSE, "intent_at")
    worked = _time_of(migration, StepName.PROMOTE, "done_at") if follower.pk == migration.new_run_id else None
    return without_idle_time(last, follower.first_record_at, asked, worked)


def last_delivered_at(migration: Migration) -> datetime | None:
    """When the old side delivered last, as the snapshot has it."""
    last = ((migration.snapshot or {}).get("stopped") or {}).get("last_delivered_at")
    return datetime.fromtimestamp(float(last), UTC) if last is not None else None


def _time_of(migration: Migration, step: StepName, moment: str) -> datetime | None:
    found = progress.of(migration.steps, step, moment)
    return datetime.fromisoformat(found) if found else None
