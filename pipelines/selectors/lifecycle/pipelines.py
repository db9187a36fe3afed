"""Reading pipelines: any number of them with a constant number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, cast
from uuid import UUID

from django.db.models import Count, F, FilteredRelation, Q, QuerySet

from pipelines.domain.access.teams import EVERYTHING, Access
from pipelines.domain.base.findings import Finding
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import (
    LIVE_PHASES,
    DesiredState,
    OperationKind,
    OperationState,
    Phase,
    RunRole,
    RunState,
    StopReason,
)
from pipelines.domain.definitions.document.source_text import source_text
from pipelines.domain.lifecycle.actions import Situation, allowed_actions
from pipelines.domain.lifecycle.attention import attention
from pipelines.domain.lifecycle.conditions import Condition, ConditionStatus, ConditionType, Known, completed, headline
from pipelines.foundation.errors import NotFound
from pipelines.models import Host, OutputVerdict, Pipeline, Run
from pipelines.selectors.access.secrets import outdated_of
from pipelines.selectors.base.schemas import AllowedActionSchema, allowed_action_schema
from pipelines.selectors.base.visible import visible
from pipelines.selectors.governance.read_only import why_read_only
from pipelines.selectors.hosts.hosts import supervised
from pipelines.selectors.lifecycle.draining import drain_schema
from pipelines.selectors.lifecycle.schemas import (
    ArchivedPipelineSchema,
    ConditionSchema,
    OpenOperation,
    PipelineDetailSchema,
    PipelineSchema,
    StatusSchema,
)
from pipelines.selectors.lifecycle.situations import is_open, migrating
from pipelines.selectors.monitoring.lag import measured_lags
from pipelines.selectors.monitoring.output import is_checked
from pipelines.selectors.positions.positions import choice_schemas
from pipelines.selectors.runs.live import (
    component_schemas,
    ingest_buffer_schemas,
    live_schema,
    query_schemas,
    recorded_frame,
    while_in,
)
from pipelines.selectors.runs.runs import living_runs, run_schema, runs
from pipelines.selectors.runs.schemas import LiveSchema

LAST_RUNS = 5


class Listed(NamedTuple):
    """What a list shows of a pipeline, as the database has it: its columns, the number and the role of its current
    revision, its open operation, its living run with what that reports of itself (`live`: None before it does), the
    stage of the migration that holds it, and what to do about its first finding."""

    name: str
    team_name: str
    team_id: int
    description: str
    labels: dict[str, str]
    desired_state: str
    phase: str
    phase_since: datetime
    phase_reason: str
    phase_message: str
    stop_reason: str | None
    generation: int
    observed_generation: int
    host_id: str | None
    created_at: datetime
    updated_at: datetime
    version: int
    restart_count: int
    restart_at: datetime | None
    restart_cause: str
    revision_number: int | None
    revision_role: int | None
    operation_id: UUID | None
    operation_kind: str | None
    operation_state: str | None
    run_id: int | None
    live: dict[str, Any] | None
    migrating: str
    advice: str | None


def pipelines() -> QuerySet[Pipeline]:
    """Every pipeline that was not deleted, with what `Listed` adds to its columns: at most one row of each table joins,
    since one operation at most is open of a pipeline and one run lives."""
    present = Pipeline.objects.filter(archived_at=None)
    joined = present.annotate(
        opened=FilteredRelation("operations", condition=is_open("operations__")),
        living=FilteredRelation("runs", condition=~Q(runs__state=RunState.ENDED) & Q(runs__role=RunRole.ACTIVE)),
    )
    return joined.annotate(
        team_name=F("team__name"),
        revision_number=F("current_revision__number"),
        revision_role=F("current_revision__required_role"),
        operation_id=F("opened__id"),
        operation_kind=F("opened__kind"),
        operation_state=F("opened__state"),
        run_id=F("living__id"),
        live=F("living__observed__live"),
        migrating=migrating(),
        advice=F("findings__0__suggestion"),
    )


def listed_pipelines(found: QuerySet[Pipeline]) -> QuerySet[Pipeline, Listed]:
    """The same with what a list shows: of a thousand pipelines, making their models is most of what a list costs."""
    return cast("QuerySet[Pipeline, Listed]", found.values_list(*Listed._fields, named=True))


def get_pipeline(name: str, access: Access = EVERYTHING) -> Pipeline:
    """One pipeline by its name; raises NotFound, also for one that does not exist for this user."""
    pipeline = pipelines().select_related("current_revision", "host", "team").filter(name=name).first()
    if pipeline is None or not access.sees(pipeline.team_id):
        raise NotFound(
            f"There is no pipeline {name!r}.", code="pipeline_not_found", hint="GET /api/v1/pipelines lists them."
        )
    return pipeline


def _living(found: Iterable[Pipeline]) -> QuerySet[Run]:
    return living_runs().filter(pipeline__in=[pipeline.id for pipeline in found]).defer("identity")


def _as_listed(pipeline: Pipeline) -> Listed:
    return Listed(*(getattr(pipeline, name) for name in Listed._fields))


def pipeline_schemas(found: Sequence[Listed], access: Access) -> list[PipelineSchema]:
    """Pipelines as the API shows them to a user."""
    return [PipelineSchema(**fields) for fields in _all_fields(found, access)]


def detail_schema(pipeline: Pipeline, access: Access) -> PipelineDetailSchema:
    """A pipeline with its definition."""
    revision = pipeline.current_revision
    definition = revision.definition if revision else {}
    (fields,) = _all_fields([_as_listed(pipeline)], access)
    found = source_text(definition, revision.source_text if revision else "")
    return PipelineDetailSchema(
        **fields, definition=definition, definition_yaml=found.text, as_written=found.as_written
    )


def etag(pipeline: Pipeline) -> str:
    """The entity tag of what a person may edit."""
    return _etag(pipeline.version)


def _etag(version: int) -> str:
    return f'"{version}"'


def _all_fields(found: Sequence[Listed], access: Access) -> list[dict[str, Any]]:
    supervision, silent = (
        _supervision(),
        [each.run_id for each in found if each.run_id is not None and each.live is None],
    )
    unread = Run.objects.in_bulk(silent) if silent else {}
    measured = measured_lags([each.name for each in found if each.phase == Phase.UNKNOWN])
    frozen = why_read_only()
    return [_fields(each, supervision, unread, measured, access, frozen) for each in found]


def _fields(
    pipeline: Listed,
    supervision: Mapping[str, _Supervision],
    unread: Mapping[int, Run],
    measured: Mapping[str, int | None],
    access: Access,
    frozen: str,
) -> dict[str, Any]:
    """`unread`: living runs whose figures are in their reports alone. `measured`: lags of pipelines whose agents are
    silent. `frozen`: why the installation is read-only."""
    known = _known(pipeline, supervision)
    live = LiveSchema.model_validate(pipeline.live) if pipeline.live else live_schema(unread.get(pipeline.run_id or 0))
    live = while_in(known.phase, live)
    if live.as_of and known.phase is Phase.UNKNOWN:
        lag = measured.get(pipeline.name, live.lag_records)
        live = live.model_copy(update={"stale": True, "lag_records": lag})
    return {
        "name": pipeline.name,
        "team": pipeline.team_name,
        "description": pipeline.description,
        "labels": pipeline.labels,
        "headline": headline(known),
        "desired_state": known.desired,
        "phase": known.phase,
        "phase_since": pipeline.phase_since,
        "phase_reason": pipeline.phase_reason,
        "phase_message": pipeline.phase_message,
        "stop_reason": known.stop_reason,
        "generation": pipeline.generation,
        "observed_generation": pipeline.observed_generation,
        "revision": pipeline.revision_number,
        "host": pipeline.host_id,
        "created_at": pipeline.created_at,
        "updated_at": pipeline.updated_at,
        "etag": _etag(pipeline.version),
        "live": live,
        "restart_count": pipeline.restart_count,
        "next_restart_at": pipeline.restart_at,
        "supervised": known.supervised,
        "attention": attention(known.phase, known.desired, supervised=known.supervised),
        "operation": _operation(pipeline),
        "allowed_actions": _actions(
            _situation(pipeline, known), access.role_in(pipeline.team_id) or Role.VIEWER, frozen
        ),
    }


def _operation(pipeline: Listed) -> OpenOperation | None:
    if pipeline.operation_id is None:
        return None
    kind, state = pipeline.operation_kind or "", pipeline.operation_state or ""
    return OpenOperation(id=pipeline.operation_id, kind=OperationKind(kind), state=OperationState(state))


def _situation(pipeline: Listed, known: Known) -> Situation:
    return Situation(
        desired=known.desired,
        phase=known.phase,
        operation=OperationKind(pipeline.operation_kind) if pipeline.operation_kind else None,
        has_live_run=pipeline.run_id is not None,
        starter=Role(pipeline.revision_role or Role.OPERATOR),
        migrating=pipeline.migrating,
    )


@lru_cache(maxsize=1024)
def _actions(now: Situation, role: Role, read_only: str) -> list[AllowedActionSchema]:
    """A thousand pipelines are in a handful of situations."""
    return [allowed_action_schema(each) for each in allowed_actions(now, role, read_only)]


class _Supervision(NamedTuple):
    """What is heard of a host's supervisor."""

    supervised: bool
    seen_at: datetime | None
    output_checked: bool = False


def _supervision() -> dict[str, _Supervision]:
    """By host; a thousand pipelines share the rows of a few."""
    hosts = Host.objects.only("seen_at", "output_checked_at")
    return {
        host.name: _Supervision(supervised(host), host.seen_at, is_checked(host.output_checked_at)) for host in hosts
    }


_UNSUPERVISED = _Supervision(supervised(None), None)


def _known(pipeline: Listed, supervision: Mapping[str, _Supervision]) -> Known:
    host = supervision.get(pipeline.host_id or "", _UNSUPERVISED)
    return Known(
        desired=DesiredState(pipeline.desired_state),
        phase=Phase(pipeline.phase),
        phase_since=pipeline.phase_since,
        phase_message=pipeline.phase_message,
        supervised=host.supervised,
        host=pipeline.host_id,
        host_seen_at=host.seen_at,
        output_checked=host.output_checked,
        stop_reason=StopReason(pipeline.stop_reason) if pipeline.stop_reason else None,
        restart_cause=pipeline.restart_cause,
        advice=pipeline.advice or "",
    )


def status_schema(pipeline: Pipeline, access: Access) -> StatusSchema:
    """Everything that is known of a pipeline now."""
    listed, supervision = _as_listed(pipeline), _supervision()
    run = _living([pipeline]).select_related("revision").defer("revision__definition").first()
    measured = measured_lags([listed.name]) if listed.phase == Phase.UNKNOWN else {}
    known_runs = {run.id: run} if run else {}
    fields = _fields(listed, supervision, known_runs, measured, access, why_read_only())
    return StatusSchema(
        **fields,
        lag=fields["live"].lag_records,
        conditions=[_condition_schema(each) for each in completed(_recorded(pipeline), _known(listed, supervision))],
        run=run_schema(run) if run else None,
        runs=[run_schema(each) for each in runs(pipeline=pipeline).order_by("-number")[:LAST_RUNS]],
        queries=query_schemas(run),
        ingest_buffers=ingest_buffer_schemas(run),
        components=component_schemas(run),
        findings=[_finding(each) for each in pipeline.findings],
        choices=choice_schemas(pipeline),
        outdated_secrets=outdated_of(run),
        drain=drain_schema(pipeline, run),
    )


def _recorded(pipeline: Pipeline) -> list[Condition]:
    """What the ticks say of it, and what is said of its output."""
    told = [
        Condition(
            type=ConditionType(each["type"]),
            status=ConditionStatus(each["status"]),
            reason=each["reason"],
            message=each["message"],
            since=datetime.fromisoformat(each["last_transition_time"]),
        )
        for each in pipeline.conditions
    ]
    rows = OutputVerdict.objects.filter(pipeline=pipeline)
    output = [
        Condition(ConditionType.OUTPUT, ConditionStatus(each.status), each.reason, each.message, each.since)
        for each in rows
    ]
    return [*told, *output]


def _condition_schema(condition: Condition) -> ConditionSchema:
    return ConditionSchema(
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


def live_frames(name: str | None, access: Access) -> list[dict[str, Any]]:
    """The `live` frames of what moves now, of one pipeline or all that a user may see."""
    found = visible(Pipeline.objects.filter(archived_at=None, phase__in=MOVING), access)
    if name is not None:
        found = found.filter(name=name)
    moving = list(found.order_by("name")[:MAX_MOVING])
    living = {run.pipeline_id: run for run in _living(moving)}
    return [recorded_frame(pipeline, living.get(pipeline.id)) for pipeline in moving]


def archived(access: Access) -> QuerySet[Pipeline]:
    """Deleted pipelines that a user may see."""
    found = visible(Pipeline.objects.exclude(archived_at=None), access)
    return found.annotate(revision_number=F("current_revision__number"), run_count=Count("runs"))


def get_archived(pipeline_id: UUID, access: Access) -> Pipeline:
    """One deleted pipeline; raises NotFound."""
    pipeline = archived(access).filter(id=pipeline_id).first()
    if pipeline is None:
        raise NotFound("There is no deleted pipeline with this id.", hint="GET /api/v1/archived-pipelines lists them.")
    return pipeline


def archived_schema(pipeline: Pipeline) -> ArchivedPipelineSchema:
    """A deleted pipeline as the API shows it."""
    if pipeline.archived_at is None:
        raise ValueError(f"{pipeline.name} is not archived")
    return ArchivedPipelineSchema(
        id=pipeline.id,
        name=pipeline.name,
        description=pipeline.description,
        archived_at=pipeline.archived_at,
        revision=pipeline.revision_number,  # type: ignore[attr-defined]
        runs=pipeline.run_count,  # type: ignore[attr-defined]
    )
