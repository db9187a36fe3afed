"""What the database knows of files on hosts: of which runs and lineages they are, and whether those are over."""

from __future__ import annotations

from django.db.models import Max

from pipelines.domain.base.states import DesiredState, LedgerState, Phase, RunState
from pipelines.models import LedgerBatch, Pipeline, Purged, Revision, Run, RunNumber


def runs_of(host: str) -> list[Run]:
    """Every run that was on a host, without what is large."""
    rows = Run.objects.filter(host_id=host).select_related("pipeline").order_by("number")
    return list(
        rows.only(
            "pipeline_name",
            "number",
            "epoch",
            "lineage",
            "state",
            "ended_at",
            "journal_offset",
            "pipeline__archived_at",
        )
    )


def over(run: Run) -> bool:
    """Whether a run is proven over."""
    return run.state == RunState.ENDED


def open_lineages(host: str) -> frozenset[tuple[str, int]]:
    """(name, lineage) with a batch that was begun on a host and not finished."""
    rows = LedgerBatch.objects.filter(state=LedgerState.PLANNED, run__host_id=host, pipeline__archived_at__isnull=True)
    return frozenset(rows.values_list("run__pipeline_name", "lineage"))


def storages(host: str) -> list[str]:
    """Directories beside the host's own in which pipelines of it keep checkpoints."""
    rows = Revision.objects.filter(runs__host_id=host).distinct()
    found = rows.values_list("definition__placement__launcher__storage", flat=True)
    return sorted({str(each) for each in found if each})


def purged() -> list[Purged]:
    """Pipelines that are gone for ever."""
    return list(Purged.objects.order_by("at"))


def last_numbers() -> dict[str, int]:
    """The last run number or epoch of every name that the database knows."""
    kept = dict(RunNumber.objects.values_list("pipeline_name", "last"))
    found = Run.objects.order_by().values("pipeline_name").annotate(number=Max("number"), epoch=Max("epoch"))
    last = {row["pipeline_name"]: max(row["number"], row["epoch"] or 0) for row in found}
    return kept | {name: max(number, kept.get(name, 0)) for name, number in last.items()}


def resting(host: str) -> list[Pipeline]:
    """Pipelines of a host that are stopped, as they were asked to be: no supervisor looks at them by itself."""
    found = Pipeline.objects.filter(host_id=host, archived_at__isnull=True, desired_state=DesiredState.STOPPED)
    return list(found.filter(phase=Phase.STOPPED))
