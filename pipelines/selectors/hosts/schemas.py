"""What the API answers about hosts."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import RootModel

from pipelines.domain.base.states import DesiredState, Phase
from pipelines.domain.hosts.disk import DiskState
from pipelines.domain.hosts.isolation import IsolationState
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.selectors.base.schemas import Schema


class MessagesSchema(Schema):
    """Whether messages reach a worker. BUSY: every task slot is busy; AWAY: the broker does not answer; FULL: it
    accepts nothing more; REFUSED: it accepts nothing on one of the queues; UNRESPONSIVE: the worker is restarted.
    Without messages it acts a second later. `warnings`: what the broker lacks that others could use."""

    state: Literal["HEALTHY", "BUSY", "AWAY", "FULL", "REFUSED", "UNRESPONSIVE"]
    detail: str
    since: datetime
    at: datetime
    round_trip_ms: float | None
    warnings: list[str] = []


class DiskSchema(Schema):
    """The disk of a host's runs and checkpoints; of two, the scarcer one. OK: there is room. LOW: less than
    `margin_bytes` is free. FULL: agents cannot write, so no batch starts."""

    state: DiskState
    path: str
    free_bytes: int
    total_bytes: int
    margin_bytes: int
    at: datetime


class IsolationSchema(Schema):
    """Whether agents of a host run as users of their own (USER), each pipeline's as another, or as the worker's user
    (NONE); `detail` says why, `hint` what to do."""

    state: IsolationState
    detail: str
    hint: str


class HostState(StrEnum):
    """UP: seen within the last 30 s. LOST: not seen for longer."""

    UP = "UP"
    LOST = "LOST"


class HostSchema(Schema):
    """A machine with a worker. LOST: not seen for 30 s; supervised: seen within 5 s. `agents` live there; `promised`
    and `memory_promised` (bytes) also count pipelines that are about to have one. `slots` and `memory_limit`
    bound them. `drained_at`: since when it takes no new agents; `on_timeout`: whether an agent that is to leave
    and does not end its batch in time continues (`abort`) or is stopped. `lease_epoch` grows when another
    supervisor takes the host."""

    name: str
    state: HostState
    seen_at: datetime | None
    supervised: bool
    agents: int
    cores: int
    memory_bytes: int
    state_dir: str
    version: str
    messages: MessagesSchema | None
    disk: DiskSchema | None
    isolation: IsolationSchema | None
    lease_epoch: int
    slots: int | None
    memory_limit: int | None
    promised: int
    memory_promised: int
    drained_at: datetime | None
    drained_by: str
    on_timeout: OnTimeout


class GuestSchema(Schema):
    """A pipeline of a host. `tied`: why it is not moved from there by itself, in words; empty where it can be."""

    name: str
    phase: Phase
    desired_state: DesiredState
    live_run: int | None
    tied: list[str]


class HostDetailSchema(HostSchema):
    """A host with the pipelines that have a place there."""

    pipelines: list[GuestSchema]


class HostsSchema(RootModel[list[HostSchema]]):
    """All hosts."""


class HostMetricsSchema(Schema):
    """What metrics show of a host. `slots`: null without a limit; `connected`: whether messages reach its worker."""

    name: str
    supervised: bool
    seen_at: datetime | None
    tick_seconds: float | None
    slots: int | None
    slots_used: int
    connected: bool | None
    spans_exported: int
    spans_dropped: int
