"""Previews are requested here and carried out by the worker of the pipeline's host, which alone reaches its sources.

A state changes by compare-and-swap: a preview whose worker has died is started once more, and fails at the second time
or at its deadline.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from pipelines.domain.base.states import OPEN_PREVIEW_STATES, PreviewState
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.preview.protocol import PreviewResult
from pipelines.domain.preview.selection import PreviewSelection
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict, NotFound, TooManyRequests
from pipelines.models import Host, Pipeline, Preview, PreviewDifference
from pipelines.selectors.hosts.hosts import supervised
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor

SECONDS = 120.0
"""What one preview may take on its host."""
WAITING_SECONDS = 600.0
"""From the request to the end, with those before it."""
QUEUED = 8
"""Open previews of one host."""
ATTEMPTS = 2
KEPT_FOR = timedelta(days=1)
_ROWS = 100


@transaction.atomic
def request(
    *, pipeline: Pipeline, candidate: Definition, source: str, selection: PreviewSelection, actor: Actor
) -> Preview:
    """Ask for a comparison with the present revision. Raises NotFound without one, Conflict where no host is there to
    make it, TooManyRequests where as many as may are waiting for the host."""
    base = pipeline.current_revision
    if base is None:
        raise NotFound("The pipeline has no definition.", hint="Publish a revision.")
    host = _host(pipeline)
    now = clock.now()
    open_ones = Preview.objects.filter(pipeline__host=host, state__in=OPEN_PREVIEW_STATES, deadline__gt=now)
    if open_ones.count() >= QUEUED:
        raise TooManyRequests(
            f"{QUEUED} previews wait for the host {host.name}.",
            code="previews_waiting",
            hint="Try again when one of them is done.",
            retry_after=15,
        )
    preview = Preview.objects.create(
        pipeline=pipeline,
        base=base,
        candidate=candidate.plain(),
        digest=candidate.digest(),
        source=source,
        selection=selection.model_dump(mode="json"),
        requested_by=actor.name,
        requested_at=now,
        deadline=now + timedelta(seconds=WAITING_SECONDS),
        expires_at=now + KEPT_FOR,
    )
    asked = {"preview": str(preview.pk), "base": base.number, "digest": preview.digest, "selection": preview.selection}
    audit.record(actor=actor, action="preview.requested", pipeline_name=pipeline.name, after=asked)
    dispatch.wake(host.name)
    return preview


def _host(pipeline: Pipeline) -> Host:
    """The host, locked, so that its waiting previews are counted one request after the other."""
    if pipeline.host_id is None:
        raise Conflict(f"{pipeline.name} has no host that can read its source.", code="no_host", hint="Start it once.")
    if not supervised(pipeline.host):
        raise Conflict(
            f"The supervisor on {pipeline.host_id} is silent, so it cannot read the source of {pipeline.name}.",
            code="host_silent",
            hint="Start the worker of this host.",
        )
    return Host.objects.select_for_update().get(pk=pipeline.host_id)


def start(*, preview: Preview) -> bool:
    """The worker begins with it, or begins anew after another worker has died. False where it is not to be done: it has
    ended, somebody else has it, or it was tried too often, which fails it."""
    if preview.attempts >= ATTEMPTS:
        message = "The worker ended twice while it made this preview."
        fail(
            preview=preview, error={"code": "preview_interrupted", "message": message, "hint": "Select fewer records."}
        )
        return False
    same = Preview.objects.filter(pk=preview.pk, state__in=OPEN_PREVIEW_STATES, attempts=preview.attempts)
    preview.attempts += 1
    return bool(same.update(state=PreviewState.RUNNING, attempts=preview.attempts, started_at=clock.now()))


@transaction.atomic
def finish(*, preview: Preview, result: PreviewResult) -> bool:
    """Keep what it has found. False where somebody else has ended it."""
    if not _close(preview, PreviewState.DONE, result=result.model_dump(mode="json", exclude={"differences"})):
        return False
    rows = [
        PreviewDifference(
            preview=preview,
            number=number,
            kinds=_names(row.kinds),
            components=_names(row.components),
            shown=row.model_dump(mode="json"),
        )
        for number, row in enumerate(result.differences)
    ]
    PreviewDifference.objects.bulk_create(rows, batch_size=_ROWS)
    return True


def _names(names: list[Any]) -> str:
    return f" {' '.join(str(name).replace(' ', '_') for name in names)} "


def fail(*, preview: Preview, error: Mapping[str, Any]) -> bool:
    """It could not be made: `error` has code, message and hint, and findings where the definition is the reason."""
    return _close(preview, PreviewState.FAILED, error=dict(error))


def _close(preview: Preview, state: PreviewState, **fields: Any) -> bool:
    own = Preview.objects.filter(pk=preview.pk, state__in=OPEN_PREVIEW_STATES, attempts=preview.attempts)
    return bool(own.update(state=state, ended_at=clock.now(), **fields))


def expire(*, now: datetime) -> None:
    """Fail what is past its deadline, and delete what is kept no longer."""
    hint = "Check that the worker of the host runs, and request it again."
    error = {"code": "preview_timed_out", "message": "The preview was not made in time.", "hint": hint}
    late = Preview.objects.filter(state__in=OPEN_PREVIEW_STATES, deadline__lte=now)
    late.update(state=PreviewState.FAILED, ended_at=now, error=error)
    Preview.objects.filter(expires_at__lte=now).exclude(state__in=OPEN_PREVIEW_STATES).delete()
