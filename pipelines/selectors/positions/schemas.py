"""What the API answers about positions: what an inspection found, choices and plans."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pipelines.domain.base.states import InspectionState
from pipelines.selectors.base.schemas import Schema


class PartitionStateSchema(Schema):
    """The next offset of a partition as the ledger, Spark's checkpoint and the group have it, what the log holds,
    and the verdict: AGREES, UNKNOWN where it was not inspected, or the codes of what is wrong."""

    source: str
    channel: str
    topic: str
    partition: int
    ledger: int | None
    checkpoint: int | None
    group: int | None
    log_start: int | None
    log_end: int | None
    verdict: str
    codes: list[str]


class MoveSchema(Schema):
    """What a choice does to a partition: it continues at `new`; so many records are skipped (`gone`: those of them
    that have expired), and so many reread."""

    source: str
    channel: str
    topic: str
    partition: int
    old: int | None
    new: int
    skip: int
    replay: int
    gone: int


class ChoiceSchema(Schema):
    """A way on from a finding, as `to` of a plan, and its sums over all partitions. The best stands first and is
    `recommended`; `reason` says why."""

    to: str
    skip: int
    replay: int
    recommended: bool
    reason: str
    partitions: list[MoveSchema]


class InspectionErrorSchema(Schema):
    """Why the worker of the host could not inspect the positions."""

    code: str
    message: str
    hint: str


class PositionFindingSchema(Schema):
    """Why the guard does not let the pipeline continue."""

    path: str
    code: str
    message: str
    suggestion: str


class PositionsSchema(Schema):
    """Every partition, as found at `taken_at`. `fresh`: the host has answered this very request, or did so just now;
    otherwise the ledger is as it is now, the rest is older or not known, and `error` may say why."""

    pipeline: str
    taken_at: datetime | None
    fresh: bool
    error: InspectionErrorSchema | None
    findings: list[PositionFindingSchema]
    partitions: list[PartitionStateSchema]
    choices: list[ChoiceSchema]


class ImpossibleSchema(Schema):
    """A partition that cannot continue there, and why."""

    source: str
    channel: str
    topic: str
    partition: int
    reason: str


class PlanSchema(Schema):
    """What a choice would do. `hash` applies it, null where it is not possible or not answered yet.

    `possible_duplicates`: the most records that sinks hold already and get once more, of unfinished batches and of what
    is reread.
    """

    id: UUID
    pipeline: str
    state: InspectionState
    to: dict[str, Any]
    hash: str | None
    skip: int
    replay: int
    gone: int
    possible_duplicates: int
    partitions: list[MoveSchema]
    impossible: list[ImpossibleSchema]
    asked_by: str
    asked_at: datetime
    expires_at: datetime | None
