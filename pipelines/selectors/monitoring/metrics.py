"""Reading what metrics show: a fixed number of queries, whatever the number of pipelines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Min, OuterRef, Q, Subquery

from pipelines.domain.base.positions import FINDING_CODES
from pipelines.domain.base.states import OPEN_STAGES, DesiredState, LedgerState, MigrationStage, Phase
from pipelines.domain.ledger.ledger import CAUSES
from pipelines.domain.ledger.totals import TOTALS
from pipelines.domain.lifecycle.conditions import ConditionStatus, ConditionType
from pipelines.domain.monitoring.alert_rules import STANDING
from pipelines.domain.monitoring.lag import QUIET_SECONDS, STEPS, PartitionLag, from_rows, most, total
from pipelines.domain.monitoring.webhooks import OPEN
from pipelines.foundation import clock
from pipelines.models import (
    Alert,
    ChannelTotals,
    ComponentTotals,
    Delivery,
    LagPoint,
    LedgerBatch,
    Migration,
    Pipeline,
    Receiver,
)
from pipelines.selectors.monitoring.output import is_checked
from pipelines.selectors.monitoring.schemas import (
    ActiveAlertsSchema,
    ChannelLagSchema,
    ChannelMetricsSchema,
    ComponentMetricsSchema,
    MetricsSchema,
    PipelineMetricsSchema,
    ReceiverMetricsSchema,
)
from pipelines.selectors.runs.runs import active_runs

LAG_HOLDS = timedelta(seconds=QUIET_SECONDS + 2 * STEPS[0])
"""A point of lag that is older says nothing of the present."""

Names = dict[UUID, str]
_HOLDS = {ConditionStatus.TRUE: True, ConditionStatus.FALSE: False}


def snapshot() -> MetricsSchema:
    """Everything but hosts, in nine queries."""
    now = clock.now()
    rows = _pipelines()
    names: Names = {row["id"]: row["name"] for row in rows}
    return MetricsSchema(
        pipelines=[_pipeline(row) for row in rows],
        channels=_channels(names),
        components=_components(names),
        lags=_lags(names, now),
        open_batches=_open_batches(names),
        migrations=_migrations(names),
        alerts=_alerts(),
        receivers=_receivers(now),
    )


def _pipelines() -> list[dict[str, Any]]:
    fields = ("id", "name", "host_id", "phase", "desired_state", "restarts", "restart_count", "findings", "conditions")
    output = ("output__status", "host__output_checked_at")
    return list(Pipeline.objects.filter(archived_at=None).order_by("name").values(*fields, *output))


def _pipeline(row: dict[str, Any]) -> PipelineMetricsSchema:
    codes = [finding.get("code") for finding in row["findings"]]
    return PipelineMetricsSchema(
        name=row["name"],
        host=row["host_id"],
        phase=Phase(row["phase"]),
        desired_state=DesiredState(row["desired_state"]),
        restarts=row["restarts"],
        restarts_in_a_row=row["restart_count"],
        findings=len(codes),
        position_findings=sum(code in FINDING_CODES for code in codes),
        positions_safe=_positions_safe(row["conditions"]),
        output_usual=_output_usual(row),
    )


def _positions_safe(conditions: Iterable[dict[str, Any]]) -> bool | None:
    status = next((each["status"] for each in conditions if each["type"] == ConditionType.POSITIONS_SAFE), None)
    return None if status is None else _HOLDS.get(status)


def _output_usual(row: dict[str, Any]) -> bool | None:
    return _HOLDS.get(row["output__status"]) if is_checked(row["host__output_checked_at"]) else None


def _channels(names: Names) -> list[ChannelMetricsSchema]:
    """Of pipelines that were not deleted; a query by their ids would be longer than SQLite takes."""
    rows = ChannelTotals.objects.filter(pipeline__archived_at=None).order_by("pipeline_id", "source", "channel")
    found = rows.values_list("pipeline_id", "source", "channel", *TOTALS)
    return [
        ChannelMetricsSchema(
            pipeline=names[pipeline], source=source, channel=channel, totals=dict(zip(TOTALS, amounts, strict=True))
        )
        for pipeline, source, channel, *amounts in found
        if pipeline in names
    ]


def _components(names: Names) -> list[ComponentMetricsSchema]:
    """Of the revision that each pipeline ran last: no more than its definition has."""
    last = active_runs().filter(pipeline=OuterRef("pipeline")).order_by("-number").values("revision")[:1]
    rows = ComponentTotals.objects.filter(pipeline__archived_at=None, revision=Subquery(last))
    keys = ("pipeline_id", "source", "channel", "component")
    return [
        ComponentMetricsSchema(
            pipeline=names[pipeline], source=source, channel=channel, component=component, outcome=outcome, records=each
        )
        for pipeline, source, channel, component, *counts in rows.order_by(*keys).values_list(*keys, *CAUSES)
        if pipeline in names
        for outcome, each in zip(CAUSES, counts, strict=True)
        if each
    ]


def _lags(names: Names, now: datetime) -> list[ChannelLagSchema]:
    """From the newest point of each pipeline, where it still says something of the present."""
    own = LagPoint.objects.filter(pipeline=OuterRef("pk"), step=STEPS[0], at__gte=now - LAG_HOLDS)
    newest = Pipeline.objects.filter(archived_at=None).values(newest=Subquery(own.order_by("-at").values("pk")[:1]))
    points = LagPoint.objects.filter(pk__in=newest).values_list("pipeline_id", "partitions")
    return [lag for pipeline, partitions in points if pipeline in names for lag in _lag(names[pipeline], partitions)]


def _lag(pipeline: str, rows: Sequence[Sequence[Any]]) -> Iterable[ChannelLagSchema]:
    channels: dict[tuple[str, str], list[PartitionLag]] = defaultdict(list)
    for each in from_rows(rows):
        channels[(each.source, each.channel)].append(each)
    for (source, channel), partitions in sorted(channels.items()):
        yield ChannelLagSchema(
            pipeline=pipeline,
            source=source,
            channel=channel,
            records=total(each.records for each in partitions),
            seconds=most(each.seconds for each in partitions),
        )


def _open_batches(names: Names) -> dict[tuple[str, str, str], int]:
    rows = LedgerBatch.objects.filter(state=LedgerState.PLANNED).order_by("pipeline_id", "source", "channel")
    counted = rows.values_list("pipeline_id", "source", "channel").annotate(number=Count("pk"))
    return {
        (names[pipeline], source, channel): number for pipeline, source, channel, number in counted if pipeline in names
    }


def _migrations(names: Names) -> dict[str, MigrationStage]:
    rows = Migration.objects.filter(stage__in=[stage.value for stage in OPEN_STAGES])
    found = rows.values_list("pipeline_id", "stage")
    return {names[pipeline]: MigrationStage(stage) for pipeline, stage in found if pipeline in names}


def _alerts() -> list[ActiveAlertsSchema]:
    rows = Alert.objects.filter(state__in=[state.value for state in STANDING])
    shown = rows.filter(Q(pipeline=None) | Q(pipeline__archived_at=None)).order_by("pipeline__name", "rule", "state")
    counted = shown.values_list("pipeline__name", "rule", "state").annotate(number=Count("pk"))
    return [
        ActiveAlertsSchema(pipeline=pipeline or "", rule=rule, state=state, number=number)
        for pipeline, rule, state, number in counted
    ]


def _receivers(now: datetime) -> ReceiverMetricsSchema:
    pending = Delivery.objects.filter(state__in=[state.value for state in OPEN])
    found = pending.aggregate(number=Count("pk"), oldest=Min("created_at"))
    age = (now - found["oldest"]).total_seconds() if found["oldest"] else 0.0
    failing = Receiver.objects.filter(enabled=True, failing_since__isnull=False).count()
    return ReceiverMetricsSchema(pending=found["number"], oldest_seconds=max(0.0, age), failing=failing)
