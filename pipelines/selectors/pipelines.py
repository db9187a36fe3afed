"""Reading pipelines: any number of them with a constant number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import yaml
from django.db.models import Count, F, QuerySet
from django.utils.functional import cached_property

from controlplane.shared.errors import NotFound
from pipelines.domain.actions import Situation, allowed_actions
from pipelines.domain.conditions import Condition, ConditionStatus, ConditionType, Known, completed, headline
from pipelines.domain.findings import Finding
from pipelines.domain.roles import Role
from pipelines.domain.states import LIVE_PHASES, DesiredState, Phase, StopReason
from pipelines.models import Operation, Pipeline, Run
from pipelines.selectors.hosts import supervised
from pipelines.selectors.live import component_views, intake_views, live_view, query_views, recorded_frame
from pipelines.selectors.operations import short_view
from pipelines.selectors.positions import choice_views
from pipelines.selectors.runs import living_runs, run_view, runs
from pipelines.selectors.situations import migrating, open_operations, situation
from pipelines.selectors.views import (
    AllowedActionView,
    ArchivedPipelineView,
    ConditionView,
    LiveView,
    PipelineDetailView,
    PipelineView,
    StatusView,
    allowed_action_view,
)

LAST_RUNS = 5
_NOT_LISTED = (
    "conditions", "findings", "drain_on_stop", "force_stop", "restart_run", "restart_boot_id", "restart_boottime",
    "closed_lineage",
)  # fmt: skip


def pipelines() -> QuerySet[Pipeline]:
    """Every pipeline that was not deleted."""
    present = Pipeline.objects.filter(archived_at=None)
    return present.annotate(
        revision_number=F("current_revision__number"),
        revision_role=F("current_revision__required_role"),
        migrating=migrating(),
    )


def listed_pipelines() -> QuerySet[Pipeline]:
    """The same with what a list shows: a thousand pipelines share the rows of a few hosts."""
    return pipelines().prefetch_related("host").defer(*_NOT_LISTED)


def get_pipeline(name: str) -> Pipeline:
    """One pipeline by its name; raises NotFound."""
    pipeline = pipelines().select_related("current_revision", "host").filter(name=name).first()
    if pipeline is None:
        raise NotFound(
            f"There is no pipeline {name!r}.", code="pipeline_not_found", hint="GET /api/v1/pipelines lists them."
        )
    return pipeline


class Surroundings:
    """The open operations and living runs of some pipelines, read at once; `revisions`: the runs with theirs."""

    def __init__(self, pipelines: Iterable[Pipeline], *, revisions: bool = False) -> None:
        self._ids = [pipeline.id for pipeline in pipelines]
        self._revisions = revisions

    @cached_property
    def operations(self) -> dict[Any, Operation]:
        """Open operation by pipeline."""
        found = open_operations().filter(pipeline__in=self._ids)
        return {operation.pipeline_id: operation for operation in found}

    @cached_property
    def runs(self) -> dict[Any, Run]:
        """Living run by pipeline."""
        return self._whole(self._ids)

    @cached_property
    def figures(self) -> dict[Any, LiveView]:
        """What the living runs report of themselves, by pipeline. It is little of a status, and of a thousand statuses
        the whole would be most of what a list costs."""
        told = dict(self._living(self._ids).values_list("pipeline_id", "observed__live"))
        silent = [pipeline_id for pipeline_id, live in told.items() if live is None]
        whole = self._whole(silent) if silent else {}
        return {
            pipeline_id: live_view(whole.get(pipeline_id)) if live is None else LiveView.model_validate(live)
            for pipeline_id, live in told.items()
        }

    def _whole(self, ids: Sequence[Any]) -> dict[Any, Run]:
        found = self._living(ids)
        whole = found.select_related("revision").defer("revision__definition") if self._revisions else found
        return {run.pipeline_id: run for run in whole.defer("identity")}

    def _living(self, ids: Sequence[Any]) -> QuerySet[Run]:
        return living_runs().filter(pipeline__in=ids)


def pipeline_views(found: Sequence[Pipeline], role: Role) -> list[PipelineView]:
    """Pipelines as the API shows them to a role."""
    around = Surroundings(found)
    return [PipelineView(**_listed(pipeline, around, role)) for pipeline in found]


def detail_view(pipeline: Pipeline, role: Role) -> PipelineDetailView:
    """A pipeline with its definition."""
    revision = pipeline.current_revision
    definition = revision.definition if revision else {}
    return PipelineDetailView(
        **_listed(pipeline, Surroundings([pipeline]), role), definition=definition, definition_yaml=as_yaml(definition)
    )


def as_yaml(definition: dict[str, Any]) -> str:
    """A definition as a person would write it down."""
    return yaml.safe_dump(definition, sort_keys=False, allow_unicode=True, width=120)


def etag(pipeline: Pipeline) -> str:
    """The entity tag of what a person may edit."""
    return f'"{pipeline.version}"'


def _listed(pipeline: Pipeline, around: Surroundings, role: Role) -> dict[str, Any]:
    return _fields(pipeline, around.operations.get(pipeline.id), around.figures.get(pipeline.id), role)


def _fields(pipeline: Pipeline, operation: Operation | None, figures: LiveView | None, role: Role) -> dict[str, Any]:
    """`figures`: those of its living run; None without one."""
    live, known = figures or LiveView(), _known(pipeline)
    starter = Role(pipeline.revision_role or Role.OPERATOR)  # type: ignore[attr-defined]
    now = situation(pipeline, operation, figures is not None, starter, pipeline.migrating)  # type: ignore[attr-defined]
    return {
        "name": pipeline.name,
        "description": pipeline.description,
        "labels": pipeline.labels,
        "headline": headline(known, live.in_flight),
        "desired_state": known.desired,
        "phase": known.phase,
        "phase_since": pipeline.phase_since,
        "phase_reason": pipeline.phase_reason,
        "phase_message": pipeline.phase_message,
        "stop_reason": StopReason(pipeline.stop_reason) if pipeline.stop_reason else None,
        "generation": pipeline.generation,
        "observed_generation": pipeline.observed_generation,
        "revision": pipeline.revision_number,  # type: ignore[attr-defined]
        "host": pipeline.host_id,
        "created_at": pipeline.created_at,
        "updated_at": pipeline.updated_at,
        "etag": etag(pipeline),
        "live": live,
        "restart_count": pipeline.restart_count,
        "next_restart_at": pipeline.restart_at,
        "supervised": known.supervised,
        "operation": short_view(operation),
        "allowed_actions": _actions(now, role),
    }


@lru_cache(maxsize=1024)
def _actions(now: Situation, role: Role) -> list[AllowedActionView]:
    """A thousand pipelines are in a handful of situations."""
    return [allowed_action_view(each) for each in allowed_actions(now, role)]


def _known(pipeline: Pipeline) -> Known:
    return Known(
        desired=DesiredState(pipeline.desired_state),
        phase=Phase(pipeline.phase),
        phase_since=pipeline.phase_since,
        phase_message=pipeline.phase_message,
        supervised=supervised(pipeline.host),
        host=pipeline.host_id,
        host_seen_at=pipeline.host.seen_at if pipeline.host else None,
    )


def status_view(pipeline: Pipeline, role: Role) -> StatusView:
    """Everything that is known of a pipeline now."""
    around = Surroundings([pipeline], revisions=True)
    run = around.runs.get(pipeline.id)
    fields = _fields(pipeline, around.operations.get(pipeline.id), live_view(run) if run else None, role)
    return StatusView(
        **fields,
        lag=fields["live"].lag_records,
        conditions=[_condition_view(each) for each in completed(_recorded(pipeline), _known(pipeline))],
        run=run_view(run) if run else None,
        runs=[run_view(each) for each in runs(pipeline=pipeline).order_by("-number")[:LAST_RUNS]],
        queries=query_views(run),
        intakes=intake_views(run),
        components=component_views(run),
        findings=[_finding(each) for each in pipeline.findings],
        choices=choice_views(pipeline),
    )


def _recorded(pipeline: Pipeline) -> list[Condition]:
    return [
        Condition(
            type=ConditionType(each["type"]),
            status=ConditionStatus(each["status"]),
            reason=each["reason"],
            message=each["message"],
            since=datetime.fromisoformat(each["last_transition_time"]),
        )
        for each in pipeline.conditions
    ]


def _condition_view(condition: Condition) -> ConditionView:
    return ConditionView(
        type=condition.type,
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        last_transition_time=condition.since,
    )


def _finding(found: dict[str, Any]) -> Finding:
    return Finding(**{name: value for name, value in found.items() if name in Finding.model_fields})


MOVING = [phase.value for phase in LIVE_PHASES]
MAX_MOVING = 500


def live_frames(name: str | None) -> list[dict[str, Any]]:
    """The `live` frames of what moves now, of one pipeline or all."""
    found = pipelines().filter(phase__in=MOVING)
    if name is not None:
        found = found.filter(name=name)
    moving = list(found.order_by("name")[:MAX_MOVING])
    around = Surroundings(moving)
    return [recorded_frame(pipeline, around.runs.get(pipeline.id)) for pipeline in moving]


def archived() -> QuerySet[Pipeline]:
    """Deleted pipelines, newest first."""
    found = Pipeline.objects.exclude(archived_at=None)
    return found.annotate(revision_number=F("current_revision__number"), run_count=Count("runs"))


def archived_view(pipeline: Pipeline) -> ArchivedPipelineView:
    """A deleted pipeline as the API shows it."""
    if pipeline.archived_at is None:
        raise ValueError(f"{pipeline.name} is not archived")
    return ArchivedPipelineView(
        id=pipeline.id,
        name=pipeline.name,
        description=pipeline.description,
        archived_at=pipeline.archived_at,
        revision=pipeline.revision_number,  # type: ignore[attr-defined]
        runs=pipeline.run_count,  # type: ignore[attr-defined]
    )
