"""Where a pipeline runs."""

from __future__ import annotations

from django.db.models import Count, Q

from controlplane.shared import clock
from controlplane.shared.errors import Conflict
from pipelines.domain.spec import ANY_HOST
from pipelines.domain.states import RunState
from pipelines.models import Host, Pipeline
from pipelines.selectors.hosts import LOST_AFTER


def choose(pipeline: Pipeline) -> str | None:
    """The host of the next run: the definition's, the present one, or the living one with the fewest agents.

    A pipeline stays where it is, for its checkpoints are on that host's disk. None where no worker lives: the first one
    that comes takes it. Raises Conflict where the definition names a host that never was.
    """
    named = _named(pipeline)
    if named != ANY_HOST:
        return _known(named)
    return pipeline.host_id or _least_busy()


def _named(pipeline: Pipeline) -> str:
    definition = pipeline.current_revision.definition if pipeline.current_revision else {}
    return str(definition.get("placement", {}).get("host", ANY_HOST))


def _known(name: str) -> str:
    if not Host.objects.filter(name=name).exists():
        raise Conflict(
            f"No worker has ever reported from the host {name!r}.",
            code="unknown_host",
            hint=f"Start a worker there with HEADGATE_HOST={name}, or change placement.host.",
        )
    return name


def _least_busy() -> str | None:
    alive = Host.objects.filter(seen_at__gte=clock.now() - LOST_AFTER)
    agents = Count("runs", filter=~Q(runs__state=RunState.ENDED))
    host = alive.annotate(agents=agents).order_by("agents", "name").first()
    return host.name if host else None
