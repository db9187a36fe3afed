"""Reading webhooks and their deliveries."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count, QuerySet

from pipelines.domain.monitoring.webhooks import OPEN, DeliveryState
from pipelines.foundation.errors import NotFound
from pipelines.models import Delivery, Webhook
from pipelines.selectors.monitoring.schemas import DeliverySchema, WebhookSchema


def get_webhook(webhook_id: int) -> Webhook:
    """The webhook; raises NotFound."""
    webhook = Webhook.objects.filter(pk=webhook_id).first()
    if webhook is None:
        hint = "GET /api/v1/webhooks lists them."
        raise NotFound(f"There is no webhook {webhook_id}.", code="webhook_not_found", hint=hint)
    return webhook


def get_delivery(webhook_id: int, delivery_id: int) -> Delivery:
    """The delivery of that webhook; raises NotFound."""
    delivery = deliveries(webhook_id, None).select_related("webhook").filter(pk=delivery_id).first()
    if delivery is None:
        words = f"Webhook {webhook_id} has no delivery {delivery_id}."
        hint = f"GET /api/v1/webhooks/{webhook_id}/deliveries lists them; old ones are deleted."
        raise NotFound(words, code="delivery_not_found", hint=hint)
    return delivery


def deliveries(webhook_id: int, state: DeliveryState | None) -> QuerySet[Delivery]:
    """Deliveries of a webhook, with what their views need."""
    found = Delivery.objects.select_related("event__pipeline").filter(webhook_id=webhook_id)
    return found.filter(state=state) if state else found


def webhook_schemas(rows: Sequence[Webhook]) -> list[WebhookSchema]:
    """Webhooks as the API shows them, with one query for the counts of all."""
    still_open = Delivery.objects.filter(webhook__in=rows, state__in=[state.value for state in OPEN])
    waiting = dict(still_open.values_list("webhook_id").annotate(Count("id")))
    return [_webhook_schema(row, waiting.get(row.pk, 0)) for row in rows]


def _webhook_schema(row: Webhook, waiting: int) -> WebhookSchema:
    return WebhookSchema(
        id=row.pk,
        url=row.url,
        events=row.events,
        secrets=row.secrets,
        description=row.description,
        enabled=row.enabled,
        disabled_reason=row.disabled_reason,
        waiting=waiting,
        failing_since=row.failing_since,
        last_success_at=row.last_success_at,
        created_at=row.created_at,
        created_by=row.created_by,
        updated_at=row.updated_at,
        updated_by=row.updated_by,
        etag=f'"{row.version}"',
    )


def delivery_schema(row: Delivery) -> DeliverySchema:
    """One delivery as the API shows it."""
    return DeliverySchema(
        id=row.pk,
        webhook=row.webhook_id,
        message_id=row.message_id,
        event=row.event_id,
        type=row.event.kind,
        pipeline=row.event.pipeline.name if row.event.pipeline else None,
        happened_at=row.event.at,
        state=DeliveryState(row.state),
        attempts=row.attempts,
        next_attempt_at=row.next_attempt_at,
        last_attempt_at=row.last_attempt_at,
        response_status=row.response_status,
        last_error=row.last_error,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )
