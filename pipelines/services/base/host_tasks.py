"""What the worker of a pipeline's host, which alone reaches its sources and sinks, is asked to make once.

A state changes by compare-and-swap: a task whose worker has died is started once more, and fails at the second time or
at its deadline.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from pipelines.domain.base.states import OPEN_HOST_TASK_STATES, HostTaskState
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, TooManyRequests
from pipelines.models import Host, Pipeline
from pipelines.models.host_task import HostTask
from pipelines.selectors.hosts.hosts import supervised

WAITING_SECONDS = 600.0
"""From the request to the end, with those before it."""
QUEUED = 8
"""Open tasks of one kind of one host."""
ATTEMPTS = 2
KEPT_FOR = timedelta(days=1)


def asked(kind: type[HostTask], pipeline: Pipeline, by: str) -> dict[str, Any]:
    """The fields of a new task about a pipeline. Raises Conflict where no host is there to make it, and as
    `admitted`."""
    return {"pipeline": pipeline, **admitted(kind, _host(pipeline), by, of_host="pipeline__host")}


def admitted(kind: type[HostTask], host: Host, by: str, *, of_host: str) -> dict[str, Any]:
    """The fields of a new task, with its host locked, so that waiting ones are counted one request after the other.
    `of_host`: how rows name their host. Raises TooManyRequests where as many as may are waiting for the host."""
    Host.objects.select_for_update().get(pk=host.pk)
    now = clock.now()
    open_ones = _rows(kind).filter(**{of_host: host}, state__in=OPEN_HOST_TASK_STATES, deadline__gt=now)
    if open_ones.count() >= QUEUED:
        raise TooManyRequests(
            f"{QUEUED} {kind.NOUN}s wait for the host {host.name}.",
            code=f"{kind.NOUN}s_waiting",
            hint="Try again when one of them is done.",
            retry_after=15,
        )
    return {
        "requested_by": by,
        "requested_at": now,
        "deadline": now + timedelta(seconds=WAITING_SECONDS),
        "expires_at": now + KEPT_FOR,
    }


def _host(pipeline: Pipeline) -> Host:
    if pipeline.host is None:
        raise Conflict(f"{pipeline.name} has no host that can read its source.", code="no_host", hint="Start it once.")
    if not supervised(pipeline.host):
        raise Conflict(
            f"The supervisor on {pipeline.host_id} is silent, so it cannot read the source of {pipeline.name}.",
            code="host_silent",
            hint="Start the worker of this host.",
        )
    return pipeline.host


def start(task: HostTask) -> bool:
    """The worker begins with it, or begins anew after another worker has died. False where it is not to be done: it has
    ended, somebody else has it, or it was tried too often, which fails it."""
    if task.attempts >= ATTEMPTS:
        message = f"The worker ended twice while it made this {task.NOUN}."
        fail(task, {"code": f"{task.NOUN}_interrupted", "message": message, "hint": task.ADVICE})
        return False
    same = _open(task)
    task.attempts += 1
    return bool(same.update(state=HostTaskState.RUNNING, attempts=task.attempts, started_at=clock.now()))


def finish(task: HostTask, result: Mapping[str, Any], **more: Any) -> bool:
    """Keep what it has found. False where somebody else has ended it. `more`: columns of its kind."""
    return _close(task, HostTaskState.DONE, result=dict(result), **more)


def fail(task: HostTask, error: Mapping[str, Any]) -> bool:
    """It could not be made: `error` has code, message and hint, and findings where the definition is the reason."""
    return _close(task, HostTaskState.FAILED, error=dict(error))


def cancel(task: HostTask, error: Mapping[str, Any]) -> bool:
    """End it for a user, whoever makes it. False where it has ended."""
    rows = _rows(type(task)).filter(pk=task.pk, state__in=OPEN_HOST_TASK_STATES)
    return bool(rows.update(state=HostTaskState.FAILED, ended_at=clock.now(), error=dict(error)))


def is_wanted(task: HostTask) -> bool:
    """Whether its answer is still waited for."""
    return bool(_open(task).exists())


def _close(task: HostTask, state: HostTaskState, **fields: Any) -> bool:
    return bool(_open(task).update(state=state, ended_at=clock.now(), **fields))


def _open(task: HostTask) -> Any:
    """The row, as long as this attempt is the last one."""
    return _rows(type(task)).filter(pk=task.pk, state__in=OPEN_HOST_TASK_STATES, attempts=task.attempts)


def _rows(kind: type[HostTask]) -> Any:
    return kind._default_manager


def expire(*kinds: type[HostTask], now: datetime) -> None:
    """Fail what is past its deadline, and delete what is kept no longer."""
    for kind in kinds:
        message = f"The {kind.NOUN} was not made in time."
        hint = "Check that the worker of the host runs, and request it again."
        error = {"code": f"{kind.NOUN}_timed_out", "message": message, "hint": hint}
        rows = _rows(kind)
        late = rows.filter(state__in=OPEN_HOST_TASK_STATES, deadline__lte=now)
        late.update(state=HostTaskState.FAILED, ended_at=now, error=error)
        rows.filter(expires_at__lte=now).exclude(state__in=OPEN_HOST_TASK_STATES).delete()
