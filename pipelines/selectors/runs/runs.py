"""Reading runs."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Max, QuerySet

from pipelines.domain.access.teams import Access
from pipelines.domain.base.states import RunOutcome, RunRole, RunState
from pipelines.foundation.errors import NotFound
from pipelines.models import Pipeline, Run, RunNumber
from pipelines.selectors.base.visible import visible
from pipelines.selectors.runs.schemas import RunSchema


def active_runs() -> QuerySet[Run]:
    """Runs that consume or have consumed; a standby is among them from its promotion on."""
    return Run.objects.filter(role=RunRole.ACTIVE)


def living_runs() -> QuerySet[Run]:
    """ACTIVE runs that are not proven over; at most one of each pipeline."""
    return active_runs().exclude(state=RunState.ENDED)


def last_active(pipeline_id: UUID) -> Run | None:
    """The run of a pipeline that has the highest epoch: the last one that could consume."""
    return active_runs().filter(pipeline_id=pipeline_id).order_by("-epoch").first()


def runs(*, pipeline: Pipeline | None = None) -> QuerySet[Run]:
    """Runs, of one pipeline or all, with what their views need."""
    found = Run.objects.select_related("revision").defer("revision__definition", "revision__source_text", "observed")
    return found.filter(pipeline=pipeline) if pipeline else found


def get_run(run_id: int, access: Access) -> Run:
    """One run, with its pipeline; raises NotFound."""
    run = visible(runs(), access, "pipeline__team").select_related("pipeline").filter(pk=run_id).first()
    if run is None:
        raise NotFound(f"There is no run {run_id}.", code="run_not_found")
    return run


def run_schema(run: Run) -> RunSchema:
    """One run as the API shows it."""
    return RunSchema(
        id=run.pk,
        number=run.number,
        role=RunRole(run.role),
        epoch=run.epoch,
        revision=run.revision.number,
        host=run.host_id,
        lineage=run.lineage,
        state=RunState(run.state),
        outcome=RunOutcome(run.outcome) if run.outcome else None,
        exit_code=run.exit_code,
        exit_reason=run.exit_reason,
        stop_stage=run.stop_stage,
        stuck=sorted(
            {path for dump in run.dumps if dump["stop_stage"] in {"INTERRUPT", "KILL"} for path in dump["stuck"]}
        ),
        dumps=[name for dump in run.dumps for name in dump["files"]],
        started_at=run.started_at,
        first_record_at=run.first_record_at,
        ended_at=run.ended_at,
        promoted_at=run.promoted_at,
        stop_requested_at=run.stop_requested_at,
        start_requested_at=run.start_requested_at,
        driver_pid=run.driver_pid,
        keeper_pid=run.keeper_pid,
        run_dir=run.run_dir,
    )


def next_number(pipeline_name: str) -> int:
    """The number of a name's next run, or the epoch of its next promotion; it grows for ever, over deleted and purged
    pipelines too."""
    return last_number(pipeline_name) + 1


def last_number(pipeline_name: str) -> int:
    """The last number that a name has given away, as a run's number or as an epoch; 0 without any."""
    used = Run.objects.filter(pipeline_name=pipeline_name).aggregate(number=Max("number"), epoch=Max("epoch"))
    kept = RunNumber.objects.filter(pipeline_name=pipeline_name).values_list("last", flat=True).first()
    return max(used["number"] or 0, used["epoch"] or 0, kept or 0)
