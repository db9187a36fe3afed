"""What a supervisor sees of its host and of running agents: heartbeat, lease, status, samples, live frames."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction

from controlplane.shared import dispatch
from pipelines.domain.protocol import Status
from pipelines.models import Event, Host, IdempotencyKey, Pipeline, Run, Sample
from pipelines.selectors.live import live_frame
from pipelines.services import dead_letters


@dataclass(frozen=True)
class HostFacts:
    """What a host tells of itself. `owner`: pid, start_time and boot_id of its supervisor's process."""

    name: str
    state_dir: str
    version: str
    cores: int
    memory_bytes: int
    owner: dict[str, Any]


def lease_of(name: str) -> Host:
    """The host's row, made when it is missing."""
    return Host.objects.get_or_create(name=name)[0]


def beat(*, facts: HostFacts, seen: Host, now: datetime, ttl: float, tick_ms: float | None) -> bool:
    """Heartbeat and lease in one write, by compare-and-swap on the lease that was seen; False where it has changed."""
    same = Host.objects.filter(name=facts.name, lease_until=seen.lease_until)
    return bool(
        same.update(
            seen_at=now,
            lease_owner=facts.owner,
            lease_until=now + timedelta(seconds=ttl),
            boot_id=facts.owner["boot_id"],
            state_dir=facts.state_dir,
            version=facts.version,
            cores=facts.cores,
            memory_bytes=facts.memory_bytes,
            tick_ms=tick_ms,
        )
    )


def release_lease(*, name: str, owner: dict[str, Any]) -> None:
    """Give the lease back, so that the next supervisor need not wait."""
    Host.objects.filter(name=name, lease_owner=owner).update(lease_owner=None, lease_until=None)


def claim(*, pipeline: Pipeline, host: str) -> bool:
    """Take a pipeline that has no host; False where another host was faster."""
    return bool(Pipeline.objects.filter(id=pipeline.id, host__isnull=True).update(host_id=host))


@transaction.atomic
def record_status(*, pipeline: Pipeline, run: Run, status: Status, sample: bool) -> None:
    """The agent's last word about itself, and a point of its series; open pages are told after the commit."""
    run.observed = status.model_dump(mode="json")
    if run.first_record_at is None:
        run.first_record_at = _first_record(status)
    Run.objects.filter(pk=run.pk).update(observed=run.observed, first_record_at=run.first_record_at)
    frame = live_frame(pipeline, run)
    if sample:
        live = frame["live"]
        rate, lag = live["records_per_second"] or 0.0, live["lag_records"]
        Sample.objects.create(pipeline=pipeline, at=_utc(status.at), records_per_second=rate, lag_records=lag)
    transaction.on_commit(lambda: dispatch.publish("live", frame))


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
    letters_each: int = 100_000
    """The newest dead letters of one pipeline that are kept, however young."""
    idempotency_keys: timedelta = timedelta(days=1)


def prune(*, now: datetime, retention: Retention) -> dict[str, int]:
    """Delete what is older than its retention; returns how many rows of each kind."""
    old = {
        "samples": Sample.objects.filter(at__lt=now - retention.samples),
        "events": Event.objects.filter(at__lt=now - retention.events),
        "idempotency_keys": IdempotencyKey.objects.filter(created_at__lt=now - retention.idempotency_keys),
    }
    deleted = {name: rows.delete()[0] for name, rows in old.items()}
    letters = dead_letters.prune(before=now - retention.dead_letters, each=retention.letters_each)
    return deleted | {"dead_letters": letters}
