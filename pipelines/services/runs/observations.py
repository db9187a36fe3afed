"""What a supervisor sees of its host and of running agents: heartbeat, lease, status, samples, live frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction

from pipelines.domain.base.states import RunRole
from pipelines.domain.runs.protocol import Status
from pipelines.foundation import dispatch
from pipelines.models import (
    Delivery,
    Event,
    Host,
    IdempotencyKey,
    PendingTrace,
    Pipeline,
    Run,
    Sample,
    Supervision,
)
from pipelines.selectors.base.prepared import Prepared, given
from pipelines.selectors.hosts.hosts import LOST_AFTER
from pipelines.selectors.runs.live import live_frame
from pipelines.services.base import bulk
from pipelines.services.base.fencing import fenced
from pipelines.services.reprocessing import dead_letters


@dataclass(frozen=True)
class HostFacts:
    """What a host tells of itself. `owner`: pid, start_time and boot_id of its supervisor's process. `slots` and
    `memory_limit`: how many agents, of how many bytes together, may run there; None for no limit. `isolation`: as
    IsolationSchema has it."""

    name: str
    state_dir: str
    version: str
    cores: int
    memory_bytes: int
    owner: dict[str, Any]
    slots: int | None = None
    memory_limit: int | None = None
    isolation: dict[str, Any] = field(default_factory=dict)


_host = Prepared(lambda: Host.objects.filter(name=given("name")))


def lease_of(name: str) -> Host:
    """The host's row, made when it is missing."""
    rows = _host(name=name)
    return rows[0] if rows else Host.objects.get_or_create(name=name)[0]


def heartbeat(
    *,
    facts: HostFacts,
    seen: Host,
    now: datetime,
    ttl: float,
    tick_ms: float | None,
    disk: dict[str, Any] | None = None,
) -> int | None:
    """Heartbeat and lease in one write, by compare-and-swap on the lease that was seen; `disk`: as HostSchema has it.

    Returns the lease's epoch, which grows when it changes hands; None where the lease has changed meanwhile. After
    a gap of LOST_AFTER the time before it is kept, since nothing is known of what agents did in the gap.
    """
    unbroken = seen.seen_at is not None and now - seen.seen_at <= LOST_AFTER
    epoch = seen.lease_epoch if seen.lease_owner == facts.owner else seen.lease_epoch + 1
    same = Host.objects.filter(name=facts.name, lease_until=seen.lease_until, lease_epoch=seen.lease_epoch)
    written = bool(
        same.update(
            lease_epoch=epoch,
            seen_at=now,
            supervised_since=(seen.supervised_since if unbroken else None) or now,
            lease_owner=facts.owner,
            lease_until=now + timedelta(seconds=ttl),
            boot_id=facts.owner["boot_id"],
            state_dir=facts.state_dir,
            version=facts.version,
            cores=facts.cores,
            memory_bytes=facts.memory_bytes,
            slots=facts.slots,
            memory_limit=facts.memory_limit,
            tick_ms=tick_ms,
            disk=disk or {},
            isolation=facts.isolation,
            removed_at=None,
        )
    )
    if written and not unbroken:
        _keep_supervision(seen)
    return epoch if written else None


def _keep_supervision(seen: Host) -> None:
    if seen.supervised_since is not None and seen.seen_at is not None:
        Supervision.objects.create(host=seen, since=seen.supervised_since, until=seen.seen_at)


def release_lease(*, name: str, owner: dict[str, Any]) -> None:
    """Give the lease back, so that the next supervisor need not wait."""
    Host.objects.filter(name=name, lease_owner=owner).update(lease_owner=None, lease_until=None)


@dataclass(frozen=True)
class Report:
    """An agent's last word about itself. `sample`: it is also a point of the pipeline's series."""

    pipeline: Pipeline
    run: Run
    status: Status
    sample: bool


@fenced
def record_statuses(reports: Sequence[Report]) -> None:
    """Store what agents report, a statement per table; open pages are told after the commit.

    What a standby reports is not what its pipeline does: it is kept with its run alone.
    """
    for each in reports:
        if each.run.first_record_at is None:
            each.run.first_record_at = _first_record(each.status)
    frames = {
        each.run.pk: live_frame(each.pipeline, each.status.queries, each.status.at)
        for each in reports
        if each.run.role == RunRole.ACTIVE
    }
    bulk.update(Run, [_observed(each, frames.get(each.run.pk)) for each in reports])
    moving = [each for each in reports if each.sample and each.run.pk in frames]
    bulk.insert([_sample(each, frames[each.run.pk]) for each in moving])
    teams = {each.run.pk: each.pipeline.team_id for each in reports}
    told = [{dispatch.OWNER: teams[run], **frame} for run, frame in frames.items()]
    transaction.on_commit(lambda: dispatch.publish_all("live", told))


def _observed(report: Report, frame: dict[str, Any] | None) -> dict[str, Any]:
    live = {"live": frame["live"]} if frame else {}
    return {
        "id": report.run.pk,
        "observed": {**report.status.model_dump(mode="json"), **live},
        "first_record_at": report.run.first_record_at,
    }


def _sample(report: Report, frame: dict[str, Any]) -> Sample:
    live = frame["live"]
    rate, lag = live["records_per_second"] or 0.0, live["lag_records"]
    return Sample(pipeline=report.pipeline, at=_utc(report.status.at), records_per_second=rate, lag_records=lag)


def _first_record(status: Status) -> datetime | None:
    first = min((query.first_delivered_at for query in status.queries if query.first_delivered_at), default=None)
    return None if first is None else _utc(first)


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@dataclass(frozen=True)
class Retention:
    """How long what is not kept for ever is kept."""

    samples: timedelta = timedelta(days=2)
    events: timedelta = timedelta(days=90)
    dead_letters: timedelta = timedelta(days=30)
    dead_letters_each: int = 100_000
    """The newest dead letters of one pipeline that are kept, however young."""
    deliveries: timedelta = timedelta(days=30)
    idempotency_keys: timedelta = timedelta(days=1)
    supervisions: timedelta = timedelta(days=2)
    pending_traces: timedelta = timedelta(days=1)
    """Of web servers that trace while no worker does."""


def prune(*, now: datetime, retention: Retention) -> dict[str, int]:
    """Delete what is older than its retention, the oldest first; returns how many rows of each kind."""
    old = {
        "samples": Sample.objects.filter(at__lt=now - retention.samples),
        "events": Event.objects.filter(at__lt=now - retention.events),
        "deliveries": Delivery.objects.filter(ended_at__lt=now - retention.deliveries),
        "idempotency_keys": IdempotencyKey.objects.filter(created_at__lt=now - retention.idempotency_keys),
        "supervisions": Supervision.objects.filter(until__lt=now - retention.supervisions),
        "pending_traces": PendingTrace.objects.filter(since__lt=now - retention.pending_traces),
    }
    deleted = {name: bulk.delete(rows) for name, rows in old.items()}
    pruned_dead_letters = dead_letters.prune(before=now - retention.dead_letters, each=retention.dead_letters_each)
    return deleted | {"dead_letters": pruned_dead_letters}
