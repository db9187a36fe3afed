"""What the API answers about webhooks."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from pipelines.domain.monitoring.webhooks import DeliveryState
from pipelines.selectors.base.schemas import Schema


class WebhookSchema(Schema):
    """An endpoint. `waiting`: deliveries that are not over; `failing_since`: no attempt has succeeded since then;
    `disabled_reason`: why it was switched off by itself, else empty."""

    id: int
    url: str
    events: list[str]
    secrets: list[str] = Field(description="References, never values.")
    description: str
    enabled: bool
    disabled_reason: str
    waiting: int
    failing_since: datetime | None
    last_success_at: datetime | None
    created_at: datetime
    created_by: str
    updated_at: datetime
    updated_by: str
    etag: str


class DeliverySchema(Schema):
    """An event on its way to an endpoint. `message_id`: the header webhook-id of every attempt; `response_status`: of
    the last answer, null without one."""

    id: int
    webhook: int
    message_id: str
    event: int
    type: str
    pipeline: str | None
    happened_at: datetime
    state: DeliveryState
    attempts: int
    next_attempt_at: datetime | None
    last_attempt_at: datetime | None
    response_status: int | None
    last_error: str
    created_at: datetime
    ended_at: datetime | None
