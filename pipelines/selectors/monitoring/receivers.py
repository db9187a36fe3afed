"""Reading receivers and their deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from django.db.models import Count, QuerySet

from pipelines.domain.access.teams import EVERYTHING, Access
from pipelines.domain.monitoring.matching import Matchers
from pipelines.domain.monitoring.receivers import PAGERDUTY_URL, MailOptions, ReceiverKind
from pipelines.domain.monitoring.webhooks import OPEN, DeliveryState
from pipelines.foundation.errors import NotFound
from pipelines.models import Delivery, Receiver
from pipelines.selectors.base.visible import visible
from pipelines.selectors.monitoring.schemas import DeliverySchema, MatchersSchema, ReceiverEmailSchema, ReceiverSchema


def receivers(access: Access = EVERYTHING) -> QuerySet[Receiver]:
    """Receivers of the teams that a user may see; those of the installation are for a role in every team."""
    return visible(Receiver.objects.select_related("team"), access)


def get_receiver(receiver_id: int, access: Access = EVERYTHING) -> Receiver:
    """The receiver; raises NotFound."""
    receiver = receivers(access).filter(pk=receiver_id).first()
    if receiver is None:
        hint = "GET /api/v1/receivers lists them."
        raise NotFound(f"There is no receiver {receiver_id}.", code="receiver_not_found", hint=hint)
    return receiver


def get_delivery(receiver_id: int, delivery_id: int) -> Delivery:
    """The delivery of that receiver; raises NotFound."""
    delivery = deliveries(receiver_id, None).select_related("receiver").filter(pk=delivery_id).first()
    if delivery is None:
        words = f"Receiver {receiver_id} has no delivery {delivery_id}."
        hint = f"GET /api/v1/receivers/{receiver_id}/deliveries lists them; old ones are deleted."
        raise NotFound(words, code="delivery_not_found", hint=hint)
    return delivery


def deliveries(receiver_id: int, state: DeliveryState | None) -> QuerySet[Delivery]:
    """Deliveries of a receiver, with what their views need."""
    found = Delivery.objects.select_related("event__pipeline").filter(receiver_id=receiver_id)
    return found.filter(state=state) if state else found


def server(url: str) -> str:
    """The part of an address that names the server; paths and queries often hold a password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def target(receiver: Receiver) -> str:
    """Where its messages go, in words that tell no secret."""
    if receiver.kind == ReceiverKind.EMAIL:
        recipients = MailOptions.of(receiver.email).recipients
        return recipients[0] if len(recipients) == 1 else f"{len(recipients)} recipients"
    if receiver.kind == ReceiverKind.SLACK:
        return "Slack"
    return server(receiver.url or PAGERDUTY_URL)


def receiver_schemas(rows: Sequence[Receiver]) -> list[ReceiverSchema]:
    """Receivers as the API shows them, with one query for the counts of all."""
    still_open = Delivery.objects.filter(receiver__in=rows, state__in=[state.value for state in OPEN])
    waiting = dict(still_open.values_list("receiver_id").annotate(Count("id")))
    return [_receiver_schema(row, waiting.get(row.pk, 0)) for row in rows]


def _receiver_schema(row: Receiver, waiting: int) -> ReceiverSchema:
    return ReceiverSchema(
        id=row.pk,
        team=row.team.name if row.team else None,
        kind=ReceiverKind(row.kind),
        url=row.url,
        target=target(row),
        events=row.events,
        matchers=MatchersSchema(**Matchers.of(row.matchers).stored()),
        email=ReceiverEmailSchema(**MailOptions.of(row.email).stored()) if row.kind == ReceiverKind.EMAIL else None,
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
        receiver=row.receiver_id,
        message_id=row.message_id,
        event=row.event_id,
        type=row.event.kind,
        alert=row.alert_id,
        silence=row.silence_id,
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
