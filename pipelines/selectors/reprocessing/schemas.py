"""What the API answers about dead letters and range replays."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pipelines.domain.base.states import DeadLetterState
from pipelines.selectors.base.schemas import OperationSchema, Schema
from pipelines.selectors.monitoring.schemas import SinkEffectSchema


class RangePlanSchema(Schema):
    """What a replay of [start, end) does: so many offsets come again, at most, in so many batches. The channel has read
    up to `read_up_to`; `hash` applies the plan."""

    source: str
    channel: str
    topic: str
    partition: int
    start: int
    end: int
    read_up_to: int
    offsets: int
    batches: int
    sinks: list[SinkEffectSchema]
    hash: str


class RangeReplaySchema(OperationSchema):
    """A replay of [start, end) that was asked for. `progress`: `done` `of` so many offsets, and what came of them."""

    source: str
    channel: str
    topic: str
    partition: int
    start: int
    end: int


class DeadLetterSchema(Schema):
    """An event that could not be processed, without its content. `at`: when that was; `partition` and `offset` of its
    origin; `operation`: the replay under way that has taken it; `in_doubt`: a replay may have sent it, unconfirmed.
    """

    id: str
    at: datetime
    source: str
    channel: str
    component: str
    cause: str
    topic: str
    partition: int
    offset: int
    size: int
    truncated: bool
    state: DeadLetterState
    settled_at: datetime | None
    settled_by: str
    operation: UUID | None
    in_doubt: bool


class HeaderSchema(Schema):
    """A header's value, as text where it is UTF-8, else in base64."""

    name: str
    value: str | None
    value_base64: str | None


class DeadLetterDetailSchema(DeadLetterSchema):
    """A dead letter with its content, each part as text where it is UTF-8, else in base64. Of a `truncated` one the
    first 16 KiB are here; the whole event lies at `location` of `host`."""

    key: str | None
    key_base64: str | None
    headers: list[HeaderSchema]
    body: str | None
    body_base64: str | None
    location: str
    host: str
    repaired: bool


class DeadLetterCauseSchema(Schema):
    """New dead letters of one component with one cause."""

    component: str
    cause: str
    dead_letters: int
    first_at: datetime
    last_at: datetime


class DeadLettersSummarySchema(Schema):
    """Dead letters by state, and the new ones by cause, most frequent first. `more_causes`: not all causes are here."""

    new: int
    retried: int
    discarded: int
    causes: list[DeadLetterCauseSchema]
    more_causes: bool


class DiscardedSchema(Schema):
    """How many dead letters were discarded."""

    discarded: int
