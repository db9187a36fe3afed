"""Where a pipeline runs.

A start that has no room is refused with the reason, so that whoever asks can choose; a pipeline that has lost its host
waits until one has room. What is promised to a pipeline stays promised while it is restarted.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.document.spec import ANY_HOST
from pipelines.domain.hosts.capacity import Room, lacking, least_loaded
from pipelines.foundation.errors import Conflict
from pipelines.models import Host, Pipeline
from pipelines.selectors.hosts.capacity import need_by, need_of, not_evacuating, rooms, takers, tied, wanted_host
from pipelines.selectors.hosts.hosts import expected
from pipelines.selectors.lifecycle.situations import live_run
from pipelines.services.base.fencing import fenced


def choose(pipeline: Pipeline) -> str | None:
    """The host of the next run, within a transaction, whose end releases the hosts to other choices.

    The definition's; the present one, where its data or its checkpoints are; else the living one with the most room.
    None where no worker lives: the first one that comes takes it. Raises Conflict where the definition names a host
    that never was, or where no host has room.
    """
    if live_run(pipeline) is not None:
        return pipeline.host_id
    named = wanted_host(pipeline)
    if named != ANY_HOST:
        return _on(_known(named), pipeline)
    if pipeline.host_id is not None and tied(pipeline):
        (present,) = _locked(Host.objects.filter(name=pipeline.host_id))
        return _on(present, pipeline)
    return _anywhere(pipeline)


def room_for_standby(name: str, definition: dict[str, Any]) -> Host:
    """The host, which has room for one more agent beside all that it has, those of the same pipeline included. Places
    of migrations that were begun do not count: the one that asks has such a place itself.

    Raises Conflict where it never was, is being drained, or has no room.
    """
    host = _known(name)
    return _with_room(host, need_by(definition), rooms([host], ahead=False))


def _anywhere(pipeline: Pipeline) -> str | None:
    """The present host if it takes agents, for its checkpoints are there, else the one with the most room."""
    need, hosts = need_of(pipeline), _locked(takers(pipeline.host_id))
    if not hosts:
        return pipeline.host_id
    here = [host for host in hosts if host.name == pipeline.host_id]
    if chosen := least_loaded(rooms(here, beside=pipeline), need):
        return chosen.host
    found = rooms(hosts, beside=pipeline)
    if (chosen := least_loaded(found, need)) is None:
        raise _no_room(found, need)
    return chosen.host


def _on(host: Host, pipeline: Pipeline) -> str:
    """This host and no other. Raises Conflict where it takes no more agents."""
    return _with_room(host, need_of(pipeline), rooms([host], beside=pipeline)).name


def _with_room(host: Host, need: int, found: list[Room]) -> Host:
    if host.drained_at is not None:
        raise Conflict(
            f"{host.name} is being drained and takes no new agents.",
            code="host_drained",
            hint=f"Run `headgate hosts undrain {host.name}`, or change placement.host.",
        )
    if least_loaded(found, need) is None:
        raise _no_room(found, need)
    return host


def _no_room(found: list[Room], need: int) -> Conflict:
    words = lacking(found, need)
    hint = "Stop a pipeline, add a host, or raise HEADGATE_SLOTS or HEADGATE_MEMORY of a worker."
    finding = Finding(path="placement.host", code="NO_CAPACITY", message=words, suggestion=hint)
    return Conflict(words, code="no_capacity", hint=hint, findings=[finding])


def _locked(hosts: Any) -> list[Host]:
    """Two choices at a time would promise the same room twice. Each choice locks all hosts that it needs by one call:
    two that took them one after the other could wait for each other."""
    return list(hosts.select_for_update(no_key=True).order_by("name"))


def _known(name: str) -> Host:
    host = next(iter(_locked(expected().filter(name=name))), None)
    if host is None:
        raise Conflict(
            f"No worker has ever reported from the host {name!r}, or it was removed.",
            code="unknown_host",
            hint=f"Start a worker there with HEADGATE_HOST={name}, or change placement.host.",
        )
    return host


@fenced
def claim(*, pipeline: Pipeline, host: str) -> bool:
    """Take a pipeline that has no host; False where another was faster, or where there is no room."""
    found = rooms(_locked(Host.objects.filter(not_evacuating(), name=host, drained_at=None)), beside=pipeline)
    if least_loaded(found, need_of(pipeline)) is None:
        return False
    return bool(Pipeline.objects.filter(id=pipeline.id, host__isnull=True).update(host_id=host))


def elsewhere(pipeline: Pipeline, living: Collection[str]) -> str | None:
    """Another of the living hosts with room for it; None where it is tied, or where there is none."""
    others = set(living) - {pipeline.host_id}
    if not others or tied(pipeline):
        return None
    found = rooms(_locked(Host.objects.filter(name__in=others, drained_at=None)), beside=pipeline)
    chosen = least_loaded(found, need_of(pipeline))
    return chosen.host if chosen else None
