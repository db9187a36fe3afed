"""control.json says who leads the run: the epoch of the host's lease, and how long the run may go on without renewal.

Keeper and driver obey no order of an older epoch than the last, so that a supervisor that was stopped past its lease
changes nothing; whoever takes over writes the standing order again under its own epoch first. Under `fence` every tick
renews the run's lease, counted from before the host's own lease was renewed, so that another host that has seen the
host's lease stand still for long enough knows that no lease of a run of it lasts.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.domain.runs.protocol import Control
from workers.ports import Now
from workers.supervisor.decisions.actions import Action, WriteControl
from workers.supervisor.decisions.snapshot import PipelineSnapshot, RunSnapshot

_RENEW_EVERY = 0.9
"""Seconds; ticks come once a second, and more often where something is expected to change."""


def led(snapshot: PipelineSnapshot, run: RunSnapshot, commands: Sequence[Action], now: Now) -> list[Action]:
    """The commands under the present lease, or the standing one again where its lease is old or somebody else's."""
    given = [WriteControl(leased(a.control, snapshot, now)) if isinstance(a, WriteControl) else a for a in commands]
    if given or run.control is None or not _is_due(run.control, snapshot, now):
        return given
    return [WriteControl(leased(run.control, snapshot, now))]


def leased(control: Control, snapshot: PipelineSnapshot, now: Now) -> Control:
    """An order with its leader and, where the definition wants it, its lease."""
    ends = now.boottime + snapshot.fence.lease if snapshot.fence else None
    kill = ends + snapshot.fence.grace if ends is not None and snapshot.fence else None
    return control.model_copy(update={"owner": snapshot.owner, "lease_until": ends, "fence_at": kill})


def _is_due(control: Control, snapshot: PipelineSnapshot, now: Now) -> bool:
    if control.owner != snapshot.owner:
        return control.owner < snapshot.owner
    if snapshot.fence is None:
        return False
    return control.lease_until is None or now.boottime >= control.lease_until - snapshot.fence.lease + _RENEW_EVERY
