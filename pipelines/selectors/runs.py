"""Reading runs."""

from __future__ import annotations

from django.db.models import Max, QuerySet

from pipelines.domain.states import RunOutcome, RunRole, RunState
from pipelines.models import Pipeline, Run, RunNumber
from pipelines.selectors.views import RunView


def runs(*, pipeline: Pipeline | None = None) -> QuerySet[Run]:
    """Runs, of one pipeline or all, with what their views need."""
    found = Run.objects.select_related("revision").defer("revision__definition", "revision__source_text", "observed")
    return found.filter(pipeline=pipeline) if pipeline else found


def run_view(run: Run) -> RunView:
    """One run as the API shows it."""
    return RunView(
        id=run.pk,
        number=run.number,
        role=RunRole(run.role),
        epoch=run.number,
        revision=run.revision.number,
        host=run.host_id,
        lineage=run.lineage,
        state=RunState(run.state),
        outcome=RunOutcome(run.outcome) if run.outcome else None,
        exit_code=run.exit_code,
        exit_reason=run.exit_reason,
        rung=run.rung,
        stuck=sorted({path for dump in run.dumps if dump["rung"] in {"sigterm", "sigkill"} for path in dump["stuck"]}),
        dumps=[name for dump in run.dumps for name in dump["files"]],
        started_at=run.started_at,
        first_record_at=run.first_record_at,
        ended_at=run.ended_at,
        stop_requested_at=run.stop_requested_at,
        start_requested_at=run.start_requested_at,
        driver_pid=run.driver_pid,
        keeper_pid=run.keeper_pid,
        run_dir=run.run_dir,
    )


def next_number(pipeline_name: str) -> int:
    """The number of a name's next run; it grows for ever, over deleted and purged pipelines too."""
    last = Run.objects.filter(pipeline_name=pipeline_name).aggregate(last=Max("number"))["last"] or 0
    kept = RunNumber.objects.filter(pipeline_name=pipeline_name).values_list("last", flat=True).first() or 0
    return max(last, kept) + 1
