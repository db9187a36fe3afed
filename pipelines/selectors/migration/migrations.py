"""Reading migrations: what a plan is made from, what a runner has to do, and how far each has come."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet, Sum, Value

from pipelines.domain.access.teams import EVERYTHING, Access
from pipelines.domain.base.states import (
    OPEN_STAGES,
    DesiredState,
    LedgerState,
    MigrationKind,
    MigrationStage,
    Phase,
    RunRole,
    RunState,
)
from pipelines.domain.definitions.document.spec import Definition, Delivery, Lifecycle
from pipelines.domain.ledger.ledger import COUNTERS
from pipelines.domain.migration import outcome as outcomes
from pipelines.domain.migration import policy, prediction, progress
from pipelines.domain.migration.choices import Standing
from pipelines.domain.migration.observation import LOSSES
from pipelines.domain.migration.observation import Sample as Seen
from pipelines.domain.migration.outcome import ChannelOutcome, Expected, Outcome, changed_interceptors
from pipelines.domain.migration.plan import MigrationPlan
from pipelines.domain.migration.prediction import OutcomeRow, side_by_side
from pipelines.domain.migration.progress import MigrationStepState
from pipelines.domain.migration.reverse import Before, reverse
from pipelines.domain.migration.steps import StepName
from pipelines.domain.runs.protocol import Dump
from pipelines.foundation import clock
from pipelines.foundation.errors import NotFound
from pipelines.models import (
    DeadLetter,
    LedgerBatch,
    Migration,
    Pipeline,
    Position,
    Revision,
    Run,
    Sample,
)
from pipelines.selectors.base.prepared import Prepared, given
from pipelines.selectors.base.visible import visible
from pipelines.selectors.governance.rules import rules_of
from pipelines.selectors.lifecycle.situations import STEERING
from pipelines.selectors.positions.positions import identities, possible_duplicates

OPEN = [stage.value for stage in OPEN_STAGES]
_RELATED = (
    "pipeline",
    "pipeline__current_revision",
    "pipeline__host",
    "old_revision",
    "new_revision",
    "old_run",
    "new_run",
)
_OF_ONE = (
    "spec",
    "plan",
    "snapshot",
    "shadow",
    "observed",
    "findings",
    "pipeline__findings",
    "pipeline__conditions",
    "pipeline__current_revision__definition",
    "pipeline__current_revision__source_text",
    "old_revision__definition",
    "old_revision__source_text",
    "new_revision__definition",
    "new_revision__source_text",
    "old_run__observed",
    "new_run__observed",
)


def migrations(
    access: Access, *, pipeline: str | None = None, stages: Collection[str] | None = None
) -> QuerySet[Migration]:
    """Migrations, of one pipeline's name or all that a user may see, with what their views need."""
    found = visible(Migration.objects.all(), access, "pipeline__team")
    found = found.select_related(*_RELATED).prefetch_related("approvals")
    if pipeline is not None:
        found = found.filter(pipeline__name=pipeline)
    return found if stages is None else found.filter(stage__in=list(stages))


def listed(
    access: Access, *, pipeline: str | None = None, stages: Collection[str] | None = None
) -> QuerySet[Migration]:
    """The same without what only the page of one shows, which may be megabytes for each."""
    return migrations(access, pipeline=pipeline, stages=stages).prefetch_related(None).defer(*_OF_ONE)


def get_migration(migration_id: UUID, access: Access = EVERYTHING) -> Migration:
    """One migration; raises NotFound."""
    found = migrations(access).filter(pk=migration_id).first()
    if found is None:
        raise NotFound(
            "There is no such migration.", code="migration_not_found", hint="GET /api/v1/migrations lists them."
        )
    return found


def open_migration(pipeline_id: UUID) -> Migration | None:
    """The one that holds the pipeline, or will."""
    return _open(pipeline_id).first()


def inspection_in_use(pipeline_id: UUID) -> str | None:
    """The look at positions by which the open migration of a pipeline goes on."""
    return _open(pipeline_id).values_list("snapshot__look", flat=True).first()


def _open(pipeline_id: UUID) -> QuerySet[Migration]:
    """One at most."""
    return Migration.objects.filter(pipeline_id=pipeline_id, stage__in=OPEN)


def concerning(host: str, silent: Collection[str]) -> list[Migration]:
    """Migrations under way that begin or end on a host, that its supervisor carries out, or that a silent one does.

    Mostly there is none, and finding that out costs a sixth of the joined query.
    """
    if silent:
        return list(_whole(_of_hosts(host, [host, *silent])))
    return _concerning(host=host) if _some_concerning(host=host) else []


def _of_hosts(host: str | Value, runners: Sequence[str | Value]) -> QuerySet[Migration]:
    mine = Q(old_host_id=host) | Q(new_host_id=host) | Q(runner_host__in=runners)
    return Migration.objects.filter(mine, stage__in=STEERING)


def _whole(found: QuerySet[Migration]) -> QuerySet[Migration]:
    """With all that is looked at each time: not what a shadow has shown, which is read in its stage alone."""
    return found.select_related(*_RELATED).defer("shadow").order_by("created_at")


_HOST = given("host")
_some_concerning = Prepared(lambda: _of_hosts(_HOST, [_HOST]).only("id")[:1])
_concerning = Prepared(lambda: _whole(_of_hosts(_HOST, [_HOST])))


def translations_ahead(host: str) -> set[MigrationStepState]:
    """Of the migrations under way to another cluster, whose positions a host translates: how far each has come that has
    not translated them yet; one query."""
    cut_ahead = Migration.objects.filter(pipeline__host_id=host, kind=MigrationKind.CLUSTER, stage__in=STEERING)
    states = {
        progress.of(steps, name, "state")
        for steps in cut_ahead.values_list("steps", flat=True)
        for name in (StepName.TRANSLATE_POSITIONS, StepName.NOTE_SINK_ENDS)
    }
    return states & {MigrationStepState.PENDING, MigrationStepState.RUNNING}


def plan_of(migration: Migration) -> MigrationPlan | None:
    """The plan as it was made."""
    return MigrationPlan.model_validate(migration.plan) if migration.plan else None


def basis(pipeline: Pipeline) -> dict[str, Any]:
    """What of the database a plan is made against: while this is the same, so is the plan."""
    return {
        "pipeline": str(pipeline.id),
        "revision": pipeline.current_revision_id,
        "host": pipeline.host_id,
        "closed_lineage": pipeline.closed_lineage,
    }


def is_stale(migration: Migration) -> bool:
    """Whether the pipeline is not what the plan of one that was not begun was made against."""
    made_against = (migration.plan or {}).get("basis") if migration.started_at is None else None
    return made_against is not None and made_against != basis(migration.pipeline)


def approvals(migration: Migration) -> list[policy.Approval]:
    """Everybody's word, for this plan and for earlier ones."""
    return [policy.Approval(row.by, row.hash, row.at) for row in migration.approvals.all()]


def active_run(pipeline_id: UUID) -> Run | None:
    """The run that consumes, or may."""
    living = Run.objects.exclude(state=RunState.ENDED).filter(pipeline_id=pipeline_id, role=RunRole.ACTIVE)
    return living.select_related("revision").order_by("-number").first()


def waits(migration: Migration) -> MigrationStage | None:
    """The gate at which it waits for a person."""
    if migration.stage not in STEERING or migration.stage == MigrationStage.ROLLING_BACK:
        return None
    index = progress.current(migration.steps)
    passed = {each["stage"] for each in migration.passed}
    if index is None:
        return MigrationStage.COMMITTED if MigrationStage.COMMITTED not in passed else None
    row = migration.steps[index]
    due = row["gate"] and row["state"] == progress.MigrationStepState.PENDING and row["stage"] not in passed
    return MigrationStage(row["stage"]) if due else None


def needs_action(migration: Migration) -> bool:
    """Whether it goes on only when somebody has chosen."""
    if waits(migration) is None:
        return migration.stage == MigrationStage.NEEDS_ATTENTION
    index = progress.current(migration.steps)
    return index is None or progress.is_held(migration.steps[index])


def planned_by(run: Run | None) -> bool:
    """Whether a run has begun to deliver: from then on going back is not exact any more."""
    return run is not None and LedgerBatch.objects.filter(run=run).exists()


def has_delivered(migration: Migration) -> bool:
    """Whether any run has begun to deliver since the positions were written down: of the new side, or, where that never
    had the pipeline, of the old configuration after it was started anew."""
    return _since_the_cut(migration).exists()


def _since_the_cut(migration: Migration) -> QuerySet[LedgerBatch]:
    """What was delivered by the new side and by runs that followed it, or after the run that was written down."""
    rows = LedgerBatch.objects.filter(pipeline_id=migration.pipeline_id).exclude(state=LedgerState.REPLAYED)
    if migration.new_run is not None and is_promoted(migration):
        return rows.filter(run__epoch__gte=migration.new_run.epoch)
    stopped = (migration.snapshot or {}).get("run")
    return rows.none() if stopped is None else rows.filter(run__number__gt=stopped)


def is_translated(migration: Migration) -> bool:
    """Whether a source moves to another cluster, so that its positions are other numbers afterwards."""
    return migration.kind == MigrationKind.CLUSTER and bool(migration.spec.get("source"))


def standing(migration: Migration) -> Standing:
    """How far it has come, as far as choices depend on it."""
    rule, freezes = rules_of(migration.pipeline)
    given, now = approvals(migration), clock.now()
    counted = policy.valid(rule, given, author=migration.created_by, named=migration.plan_hash, now=now)
    missing = max(1, rule.approvers) - len(counted)
    words = freezes if migration.stage == MigrationStage.APPROVED else []
    promoted = is_promoted(migration)
    return Standing(
        stage=MigrationStage(migration.stage),
        waits=waits(migration) is not None,
        approved=missing <= 0,
        missing=f"{missing} more must approve it." if missing > 0 else "",
        old_ended=progress.intended(migration.steps, StepName.END_OLD_RUN),
        paused=progress.intended(migration.steps, StepName.PAUSE),
        promoted=promoted,
        planned=promoted and has_delivered(migration),
        delivered=_delivered(migration) if promoted else 0,
        open_records=possible_duplicates(migration.pipeline_id) if promoted else 0,
        again=_read_again(migration) if promoted else 0,
        reread=read_since(migration) if promoted and is_reread(migration) else 0,
        restart=_restart_seconds(migration),
        frozen="; ".join(words),
        stale=is_stale(migration),
        translated=is_translated(migration),
        one_way=_one_way(migration),
    )


def is_reread(migration: Migration) -> bool:
    """Whether the old configuration reads again what the new side has read, because that has filtered it; once."""
    taken = migration.snapshot or {}
    if migration.kind != MigrationKind.REVISION or not taken.get("positions") or taken.get("reread") is not None:
        return False
    seen = progress.of(migration.steps, StepName.OBSERVE, "evidence") or migration.observed or {}
    breached = (check for check in seen.get("checks", []) if not check["holds"] and not check.get("waits"))
    return any(check["name"] in LOSSES for check in breached) and outcome_of(migration).is_filtered_away


def read_since(migration: Migration) -> int:
    """Records between the positions of the snapshot and the present ones."""
    taken = (migration.snapshot or {}).get("positions", [])
    now = {_place_of(row): row["offset"] for row in positions(migration.pipeline_id)}
    return sum(max(0, now.get(_place_of(row), row["offset"]) - row["offset"]) for row in taken)


def _place_of(row: Mapping[str, Any]) -> tuple[str, str, str, int]:
    return row["source"], row["channel"], row["topic"], row["partition"]


def reverse_of(migration: Migration) -> dict[str, Any] | str:
    """What the opposite of a migration is asked for with; or, in words, why there is none."""
    old = migration.old_revision
    snapshot = migration.snapshot or {}
    before = Before(
        revision=old.number if old else None,
        definition=old.definition if old else {},
        host=migration.old_host_id,
        positions=snapshot.get("positions", []),
        other_logs=_other_logs(migration, snapshot.get("identities", [])),
    )
    return reverse(MigrationKind(migration.kind), migration.spec, before)


def _other_logs(migration: Migration, then: Iterable[Mapping[str, Any]]) -> set[str]:
    """Sources whose positions were offsets of another log than they are now; asked where it matters."""
    if migration.kind != MigrationKind.POSITION:
        return set()
    now = _logs(each.model_dump() for each in identities(migration.pipeline_id))
    return {source for source, *_ in _logs(then) - now}


def _logs(found: Iterable[Mapping[str, Any]]) -> set[tuple[str, str, str, str]]:
    return {
        (each["source"], each["cluster_id"], topic, topic_id)
        for each in found
        for topic, topic_id in each["topics"].items()
    }


def _one_way(migration: Migration) -> str:
    found = reverse_of(migration) if migration.stage == MigrationStage.COMMITTED else ""
    return found if isinstance(found, str) else ""


def is_promoted(migration: Migration) -> bool:
    """Whether the new side has the pipeline, or had it."""
    return migration.new_run is not None and migration.new_run.role == RunRole.ACTIVE


def _delivered(migration: Migration) -> int:
    return int(_since_the_cut(migration).aggregate(total=Sum("delivered"))["total"] or 0)


def _read_again(migration: Migration) -> int:
    """Records that the new side has read, and that channels which it does not have go on before."""
    if migration.old_revision is None or migration.old_revision_id == migration.new_revision_id:
        return 0
    old, new = (_definition(each) for each in (migration.old_revision, migration.new_revision))
    alone = set(old.queries()) - set(new.queries())
    left = [row for row in (migration.snapshot or {}).get("positions", []) if (row["source"], row["channel"]) in alone]
    if not left:
        return 0
    reached: dict[tuple[str, str, int], int] = {}
    for row in positions(migration.pipeline_id):
        place = row["source"], row["topic"], row["partition"]
        reached[place] = max(row["offset"], reached.get(place, 0))
    return sum(reached.get((r["source"], r["topic"], r["partition"]), r["offset"]) - r["offset"] for r in left)


def _definition(revision: Revision | None) -> Definition:
    return Definition.model_validate(revision.definition if revision else {})


@dataclass(frozen=True)
class Draining:
    """What a pause waits for: `batches` and `records` begun and not finished, `rate` of before, what holds them up."""

    batches: int
    records: int
    rate: float | None
    held_by: list[str]


def draining(migration: Migration) -> Draining | None:
    """What the pause of the old run waits for; None where none is under way."""
    run = migration.old_run
    if migration.stage != MigrationStage.PAUSING or run is None:
        return None
    queries = (run.observed or {}).get("queries", [])
    before = (migration.snapshot or {}).get("before") or {}
    return Draining(
        batches=sum(1 for each in queries if each.get("in_flight")),
        records=possible_duplicates(migration.pipeline_id),
        rate=before.get("rate"),
        held_by=sorted({each["holding"]["component"] for each in queries if each.get("holding")}),
    )


def drain_dump(migration: Migration) -> Dump | None:
    """What the old run was doing when its pause was given up; None where it was not asked, or has not answered yet."""
    dumps = migration.old_run.dumps if migration.old_run else []
    return next((Dump.model_validate(each) for each in dumps if each["asked"] == migration.pk.hex), None)


def _restart_seconds(migration: Migration) -> float:
    """What the start of the old run has taken."""
    run = migration.old_run
    if run is None or run.first_record_at is None or run.start_requested_at is None:
        return 20.0
    return round(max(1.0, (run.first_record_at - run.start_requested_at).total_seconds()), 1)


def lifecycle_of(migration: Migration) -> Lifecycle:
    """The deadlines of the old definition."""
    definition = migration.old_revision.definition if migration.old_revision else {}
    return Lifecycle.model_validate(definition.get("lifecycle", {}))


def batch_interval(migration: Migration) -> float:
    """Seconds between two batches of the new side, in which its positions stand still."""
    revision = migration.new_revision or migration.old_revision
    if revision is None:
        return Delivery().trigger_interval_ms / 1000
    definition = Definition.model_validate(revision.definition)
    if definition.delivery.mode == "real_time":
        return definition.delivery.batch_duration
    return max([definition.delivery.trigger_interval_ms / 1000, *map(definition.batch_interval, definition.reads())])


def positions(pipeline_id: UUID) -> list[dict[str, Any]]:
    """Where the ledger stands, as evidence has it."""
    rows = Position.objects.filter(pipeline_id=pipeline_id).order_by("source", "channel", "topic", "partition")
    return [
        {
            "source": row.source,
            "channel": row.channel,
            "topic": row.topic,
            "partition": row.partition,
            "offset": row.next_offset,
        }
        for row in rows
    ]


def totals(pipeline_id: UUID, run: Run | None = None) -> dict[str, int]:
    """The sums of finished batches, of one run or of all."""
    rows = LedgerBatch.objects.filter(pipeline_id=pipeline_id, state=LedgerState.DONE)
    if run is not None:
        rows = rows.filter(run=run)
    found = rows.aggregate(**{name: Sum(name, default=0) for name in (*COUNTERS, "gaps", "overlaps", "duplicates_max")})
    return {name: int(value) for name, value in found.items()}


def batch_seconds(run: Run | None) -> float | None:
    """How long the batches of a run have taken of late; None where it has none."""
    if run is None:
        return None
    rows = LedgerBatch.objects.filter(run=run, state=LedgerState.DONE, planned_at__isnull=False, done_at__isnull=False)
    spans = [
        (row.done_at - row.planned_at).total_seconds() / max(1, row.last_batch - row.first_batch + 1)
        for row in rows.order_by("-pk")[:20]
        if row.done_at and row.planned_at
    ]
    return round(max(spans), 2) if spans else None


def seen_before(pipeline: Pipeline, run: Run | None, seconds: float) -> Seen:
    """What the old side was like in the last `seconds`."""
    span = max(60.0, seconds)
    since = clock.now() - timedelta(seconds=span)
    rates = list(
        Sample.objects.filter(pipeline=pipeline, at__gte=since).values_list("records_per_second", "lag_records")
    )
    known = [rate for rate, _ in rates if rate is not None]
    lags = [lag for _, lag in rates if lag is not None]
    dead_letters = DeadLetter.objects.filter(pipeline=pipeline, at__gte=since).count()
    return Seen(
        rate=sum(known) / len(known) if known else None,
        lag=max(lags, default=None),
        dead_letters=dead_letters,
        held=_held(run),
        span=span,
        outcome=outcome(LedgerBatch.objects.filter(pipeline=pipeline, done_at__gte=clock.now() - COMPARED)),
    )


COMPARED = timedelta(hours=1)
"""What the old side has made of records in so long a time is expected of the new one, where nothing is predicted."""
_JUDGED_ROWS = 2000
"""Rows of the ledger of which an outcome is made, the newest ones."""


def outcome(rows: QuerySet[LedgerBatch]) -> Outcome:
    """What has become of the records of finished batches."""
    sources: dict[str, dict[str, ChannelOutcome]] = {}
    done = rows.filter(state=LedgerState.DONE).order_by("-pk")
    names = ("source", "channel", "read", "added", "delivered", "filtered", "components", "delivered_bytes")
    for source, channel, read, added, delivered, filtered, components, size in done.values_list(*names)[:_JUDGED_ROWS]:
        channels = sources.setdefault(source, {})
        parts = {path: counts.get("filtered", 0) for path, counts in (components or {}).items()}
        more = ChannelOutcome(
            read=read,
            events=read + added,
            delivered=delivered,
            filtered={"": filtered} if filtered and components is None else parts,
            size=size or 0,
            sized=0 if size is None else delivered,
        )
        channels[channel] = channels.get(channel, ChannelOutcome()) + more
    return Outcome(sources=sources)


def expected(migration: Migration) -> Expected:
    """What is expected of the records of the new side: as its plan predicts, else as in the old side's last hour."""
    before = Seen.model_validate((migration.snapshot or {}).get("before") or {}).outcome
    old, new = migration.old_revision, migration.new_revision
    changed = changed_interceptors(_definition(old), _definition(new)) if old and new and old.pk != new.pk else []
    plan = plan_of(migration)
    return outcomes.expected(before, prediction.outcome(plan.predictions if plan else []), changed)


def outcome_rows(migration: Migration) -> list[OutcomeRow]:
    """Prediction and outcome side by side: at the end of the migration, or as it is now."""
    taken, plan = migration.snapshot or {}, plan_of(migration)
    found = Outcome.model_validate(taken["outcome"]) if "outcome" in taken else outcome_of(migration)
    before = Seen.model_validate(taken.get("before") or {}).outcome
    return side_by_side(plan.predictions if plan else [], before, found)


def outcome_of(migration: Migration) -> Outcome:
    """What has become of the records of the new side."""
    run = migration.new_run
    if run is None or not is_promoted(migration):
        return Outcome()
    return outcome(
        LedgerBatch.objects.filter(
            pipeline=migration.pipeline_id, run__revision=run.revision_id, run__epoch__gte=run.epoch
        )
    )


def seen_now(pipeline: Pipeline, new: Run, span: float = 0.0) -> Seen:
    """What the new side is like. `new`: the run that was promoted; the supervisor may have restarted it since. `span`:
    seconds whose records it has had."""
    mine = LedgerBatch.objects.filter(pipeline=pipeline, run__epoch__gte=new.epoch)
    run = active_run(pipeline.id)
    sums = mine.filter(state=LedgerState.DONE).aggregate(
        **{name: Sum(name, default=0) for name in (*COUNTERS, "gaps", "overlaps")}
    )
    live = (run.observed or {}).get("live", {}) if run else {}
    restarts = Run.objects.filter(pipeline=pipeline, epoch__gt=new.epoch).count()
    answered = pipeline.observed_generation >= pipeline.generation
    resting = answered and pipeline.phase in {Phase.BLOCKED, Phase.FAILED}
    return Seen(
        rate=live.get("records_per_second"),
        lag=live.get("lag_records"),
        dead_letters=DeadLetter.objects.filter(pipeline=pipeline, run__epoch__gte=new.epoch).count(),
        gaps=sums["gaps"],
        overlaps=sums["overlaps"],
        difference=sums["read"] + sums["added"] - sum(sums[name] for name in COUNTERS[2:]),
        held=_held(run),
        restarts=restarts,
        ended=f"{pipeline.phase}: {pipeline.phase_message}" if resting else "",
        span=span,
        away="" if _is_at_work(pipeline) else f"{pipeline.phase}: {pipeline.phase_message}",
        outcome=outcome(mine),
    )


def _is_at_work(pipeline: Pipeline) -> bool:
    """A batch that is stalled is no work."""
    if pipeline.desired_state == DesiredState.PAUSED:
        return pipeline.phase == Phase.PAUSED
    return pipeline.phase in {Phase.RUNNING, Phase.DEGRADED}


def _held(run: Run | None) -> str:
    """The components that hold a batch up."""
    queries = (run.observed or {}).get("queries", []) if run else []
    return ", ".join(sorted({each["holding"]["component"] for each in queries if each.get("holding")}))
