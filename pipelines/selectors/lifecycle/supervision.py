"""What a supervisor reads: its host's pipelines in a fixed number of queries, and the ledger's heads for a launch."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import reduce
from operator import add
from uuid import UUID

from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet, Sum, Value

from pipelines.domain.base.positions import PartitionPosition, PartitionRange
from pipelines.domain.base.states import DesiredState, LedgerState, Phase, RunRole, RunState
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.ledger.journal import Planned, SinkSwitched
from pipelines.domain.ledger.ledger import COUNTERS, LedgerTotals
from pipelines.domain.ledger.sink_groups import Penalty
from pipelines.domain.runs.lineage import Before
from pipelines.domain.runs.protocol import QueryHead
from pipelines.models import Event, Host, LedgerBatch, Operation, Pipeline, Position, Reconciliation, Revision, Run
from pipelines.selectors.base.prepared import Prepared, Remembering, given
from pipelines.selectors.hosts.hosts import expected
from pipelines.selectors.lifecycle.situations import open_operations
from pipelines.selectors.positions import positions
from pipelines.selectors.runs import runs as run_selectors

_UNUSED_OF_RUN = (
    "observed",
    "identity",
    "in_flight",
    "dumps",
    "host",
    "outcome",
    "stop_stage",
    "keeper_pid",
    "started_at",
    "ended_at",
    "start_requested_at",
    "stop_requested_at",
)
_UNUSED_OF_PIPELINE = (
    "description",
    "labels",
    "created_at",
    "archived_at",
    "restart_at",
    "restart_cause",
    "restarts",
    "phase_since",
    "stop_reason",
    "version",
)
"""What a tick does not look at, nor a row that is otherwise as it was."""
_UNUSED_OF_STANDBY = (
    *_UNUSED_OF_RUN,
    *(f"pipeline__{name}" for name in _UNUSED_OF_PIPELINE if name != "archived_at"),
)
_LEASE = ("name", "lease_epoch", "lease_until", "drained_at", "on_timeout")
SWITCH_EVENTS = ("sink.switched", "sink.recovered")


@dataclass(frozen=True)
class Row:
    """A pipeline of the host with its run that is not over and its open operation; or a standby on the host, with its
    pipeline, which may be another host's."""

    pipeline: Pipeline
    run: Run | None
    operation: Operation | None

    @property
    def is_standby(self) -> bool:
        """Whether it is about a run that consumes nothing."""
        return self.run is not None and self.run.role == RunRole.STANDBY


def _of_host(host: str | Value) -> QuerySet[Pipeline]:
    found = Pipeline.objects.filter(host_id=host, archived_at__isnull=True)
    return found.defer(*_UNUSED_OF_PIPELINE)


def _standbys_of(host: Value) -> QuerySet[Run]:
    return Run.objects.filter(host_id=host, role=RunRole.STANDBY).exclude(state=RunState.ENDED)


def _without_host() -> QuerySet[Pipeline]:
    found = Pipeline.objects.filter(host__isnull=True, archived_at__isnull=True)
    return found.exclude(desired_state=DesiredState.STOPPED)


_HOST = given("host")
_RESTING = Q(phase=Phase.STOPPED, desired_state=DesiredState.STOPPED, generation=F("observed_generation"))
_living = Remembering(lambda: run_selectors.living_runs().filter(pipeline__host_id=_HOST).defer(*_UNUSED_OF_RUN))
_operations = Prepared(lambda: open_operations().filter(pipeline__host_id=_HOST))
_pipelines = Remembering(lambda: _of_host(_HOST))
_moving = Remembering(lambda: _of_host(_HOST).exclude(_RESTING))
_some_standby = Prepared(lambda: _standbys_of(_HOST).only("id")[:1])
_standbys = Prepared(
    lambda: _standbys_of(_HOST).select_related("pipeline").defer(*_UNUSED_OF_STANDBY).order_by("pipeline_name")
)
_some_homeless = Prepared(lambda: _without_host().only("id")[:1])
_leases = Prepared(lambda: expected().only(*_LEASE).order_by("name"))


def roster(host: str, busy: AbstractSet[UUID] | None) -> list[Row]:
    """Every pipeline of a host that may need something, by name; four queries at most, whatever their number.

    One that rests as it was asked to, without a run and without an operation, needs nothing, unless it is among `busy`;
    None: every pipeline is wanted.
    """
    runs = {run.pipeline_id: run for run in _living(host=host)}
    operations = {operation.pipeline_id: operation for operation in _operations(host=host)}
    pipelines = _pipelines(host=host) if busy is None else _awake(host, {*runs, *operations, *busy})
    by_name = sorted(pipelines, key=lambda pipeline: pipeline.name)  # here alone: collations of databases differ
    return [Row(p, runs.get(p.id), operations.get(p.id)) for p in by_name]


def _awake(host: str, others: AbstractSet[UUID]) -> list[Pipeline]:
    """Those that do not rest, and `others`."""
    moving = _moving(host=host)
    missing = others - {pipeline.id for pipeline in moving}
    resting = _of_host(host).filter(id__in=missing) if missing else ()
    return [*moving, *resting]


def standbys(host: str) -> list[Row]:
    """The standbys on a host that are not over."""
    rows = _standbys(host=host) if _some_standby(host=host) else []
    return [Row(run.pipeline, run, None) for run in rows]


def homeless() -> list[Pipeline]:
    """Pipelines that should do something and have no host."""
    return list(_without_host().select_related("current_revision")) if _some_homeless() else []


def leases() -> list[Host]:
    """Every host that is expected, with its lease."""
    return _leases()


def living_runs(host: str) -> list[Run]:
    """ACTIVE runs on a host that are not proven over, with their pipelines and revisions, oldest first."""
    runs = run_selectors.living_runs().filter(host_id=host).defer("observed", "identity")
    return list(runs.select_related("revision", "pipeline", "pipeline__current_revision").order_by("pk"))


def waiting_without_run(host: str) -> list[Pipeline]:
    """Pipelines of a host that something is wanted of and that have no run, unless a person has to decide first."""
    living = run_selectors.living_runs().filter(pipeline=OuterRef("pk"))
    decided = ~Q(phase__in=[Phase.BLOCKED, Phase.FAILED]) | Q(generation__gt=F("observed_generation"))
    wanted = Pipeline.objects.filter(decided, host_id=host, archived_at=None).exclude(
        desired_state=DesiredState.STOPPED
    )
    return list(wanted.exclude(Exists(living)).select_related("current_revision").order_by("name"))


def own_runs(host: str, tokens: Iterable[str]) -> list[Run]:
    """The runs of a host that have these tokens."""
    return list(Run.objects.filter(host_id=host, token__in=set(tokens)).select_related("pipeline"))


def definitions(revision_ids: Iterable[int]) -> dict[int, dict[str, object]]:
    """The definitions of revisions, in one query."""
    return dict(Revision.objects.filter(pk__in=set(revision_ids)).values_list("pk", "definition"))


def totals(pipeline_ids: Iterable[UUID]) -> dict[UUID, LedgerTotals]:
    """The books of pipelines, in one query."""
    done = LedgerBatch.objects.filter(pipeline_id__in=set(pipeline_ids), state=LedgerState.DONE)
    verdicts = [Sum(name) for name in COUNTERS[2:]]
    rows = done.values("pipeline_id").annotate(
        batches=Sum(F("last_batch") - F("first_batch") + 1),
        skipped=Sum("gaps"),
        repeated=Sum("overlaps"),
        difference=Sum("read") + Sum("added") - reduce(add, verdicts),
        misplaced=Sum("unattributed"),
    )
    return {
        row["pipeline_id"]: LedgerTotals(
            batches=row["batches"],
            gaps=row["skipped"],
            overlaps=row["repeated"],
            difference=row["difference"],
            unattributed=row["misplaced"],
        )
        for row in rows
    }


def reconciliation(pipeline_id: UUID) -> bool:
    """Whether a person has said whom to believe where a host knows more than the database."""
    return Reconciliation.objects.filter(pipeline_id=pipeline_id).exists()


def last_run(pipeline_id: UUID) -> Run | None:
    """The last run of a pipeline that could consume, with its revision."""
    active = run_selectors.active_runs().filter(pipeline_id=pipeline_id)
    return active.select_related("revision").order_by("-epoch").first()


def before(pipeline: Pipeline) -> Before | None:
    """What the next run of a pipeline follows; None where nothing of it ever consumed."""
    run = last_run(pipeline.id)
    if run is None:
        return None
    return Before(
        definition=Definition.model_validate(run.revision.definition),
        lineage=run.lineage,
        host=run.host_id,
        has_read=has_positions(pipeline.id),
        open_batches=open_batches(pipeline.id),
        closed=run.lineage <= pipeline.closed_lineage,
        identified=frozenset(each.source for each in positions.identities(pipeline.id)),
    )


def has_positions(pipeline_id: UUID) -> bool:
    """Whether anything was ever read, or a position set."""
    return Position.objects.filter(pipeline_id=pipeline_id).exists()


def open_batches(pipeline_id: UUID) -> tuple[str, ...]:
    """Batches that were begun and not finished, in words."""
    rows = LedgerBatch.objects.filter(pipeline_id=pipeline_id, state=LedgerState.PLANNED)
    return tuple(f"{row.first_batch} of {row.source}.{row.channel}" for row in rows.order_by("first_batch"))


def penalties(pipeline_id: UUID) -> dict[tuple[str, str], list[Penalty]]:
    """Members of sink groups by (source, channel) that had failed at the last switch that was taken in of them."""
    switches = Event.objects.filter(pipeline_id=pipeline_id, kind__in=SWITCH_EVENTS)
    last = switches.values("data__source", "data__channel", "data__sink").annotate(last=Max("id")).values("last")
    found: dict[tuple[str, str], list[Penalty]] = {}
    for data in Event.objects.filter(pk__in=last).order_by("pk").values_list("data", flat=True):
        switched = SinkSwitched.model_validate(data)
        if not switched.recovered:
            penalty = Penalty.model_validate(data)
            found.setdefault((switched.source, switched.channel), []).append(penalty)
    return found


def ledger_heads(pipeline_id: UUID, lineage: int, queries: Iterable[tuple[str, str]]) -> list[QueryHead]:
    """Where the ledger stands for each (source, channel): positions, last finished batch of the lineage, open batch."""
    rows = Position.objects.filter(pipeline_id=pipeline_id).order_by("topic", "partition")
    positions: dict[tuple[str, str], list[PartitionPosition]] = {}
    decided: dict[tuple[str, str], list[PartitionPosition]] = {}
    for row in rows:
        position = PartitionPosition(topic=row.topic, partition=row.partition, offset=row.next_offset)
        positions.setdefault((row.source, row.channel), []).append(position)
        if row.reported_at_decision is not None:
            reported = position.model_copy(update={"offset": row.reported_at_decision})
            decided.setdefault((row.source, row.channel), []).append(reported)
    batches = LedgerBatch.objects.filter(pipeline_id=pipeline_id, lineage=lineage)
    finished = batches.filter(state=LedgerState.DONE).values("source", "channel")
    rows_done = list(finished.annotate(last=Max("last_batch"), epoch=Max("run__epoch")))
    done = {(row["source"], row["channel"]): row["last"] for row in rows_done}
    told = {(row["source"], row["channel"]): row["epoch"] for row in rows_done}
    damaged = Run.objects.filter(pipeline_id=pipeline_id, lineage=lineage, state=RunState.ENDED, journal_whole=False)
    last_damaged = damaged.aggregate(epoch=Max("epoch"))["epoch"] or 0
    open_rows = batches.filter(state=LedgerState.PLANNED).order_by("first_batch")
    out = penalties(pipeline_id)
    planned = {(row.source, row.channel): _planned(row) for row in open_rows}
    return [
        QueryHead(
            source=source,
            channel=channel,
            positions=positions.get((source, channel), []),
            done_batch=done.get((source, channel)),
            planned=planned.get((source, channel)),
            penalties=out.get((source, channel), []),
            decided=decided.get((source, channel), []),
            incomplete=last_damaged > 0 and last_damaged >= told.get((source, channel), 0),
        )
        for source, channel in queries
    ]


def _planned(row: LedgerBatch) -> Planned:
    return Planned(
        source=row.source,
        channel=row.channel,
        batch=row.first_batch,
        ranges=[PartitionRange.model_validate(each) for each in row.ranges],
        sink_ends=row.sink_ends,
        open_ended=row.open_ended,
        attempts=row.attempts,
    )
