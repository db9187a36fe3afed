"""Webhooks: endpoints of others that events are sent to. All of it is for admins: an address often holds a password."""

from __future__ import annotations

from django.conf import settings
from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.access.secrets import opened_if_possible
from pipelines.api.http.base import View, answer, expected_version, idempotent
from pipelines.api.http.openapi import OPTIONAL_IF_MATCH
from pipelines.api.http.paging import Page, PageQuery, each, page
from pipelines.api.http.requests import ActionBody, Shape, Text
from pipelines.domain.base.roles import Role
from pipelines.domain.monitoring.webhooks import DeliveryState
from pipelines.models import Webhook
from pipelines.selectors.monitoring import webhooks as reading
from pipelines.selectors.monitoring.schemas import DeliverySchema, WebhookSchema
from pipelines.services.monitoring import webhooks
from pipelines.services.monitoring.webhooks import WebhookSettings


class WebhookBody(Shape):
    """An endpoint. `events`: types, beginnings of types (`migration.*`) or `*`. `secrets`: a reference to the secret
    that signs, and while it is exchanged a second one: `${secret:NAME}`."""

    url: Text = Field(max_length=4096)
    events: list[str] = Field(max_length=1000)
    secrets: list[str] = Field(max_length=100)
    description: Text = Field(default="", max_length=1000)
    enabled: bool = True


class WebhookChangeBody(Shape):
    """What to change; what is left out stays."""

    url: Text | None = Field(default=None, max_length=4096)
    events: list[str] | None = Field(default=None, max_length=1000)
    secrets: list[str] | None = Field(default=None, max_length=100)
    description: Text | None = Field(default=None, max_length=1000)
    enabled: bool | None = None


class DeliveriesQuery(PageQuery):
    """Which deliveries."""

    state: DeliveryState | None = None


class AdminView(View):
    """For admins alone, whatever the method."""

    roles = dict.fromkeys(("GET", "HEAD", "POST", "PATCH"), Role.ADMIN)


class WebhookList(AdminView):
    """All endpoints."""

    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_webhooks", responses=Page[WebhookSchema])
    def get(self, request: Request) -> Response:
        """List webhooks with how they are doing."""
        return page(Webhook.objects.all(), ["id"], self.query(PageQuery), reading.webhook_schemas)

    @extend_schema(operation_id="create_webhook", request=WebhookBody, responses={201: WebhookSchema})
    @idempotent
    def post(self, request: Request) -> Response:
        """Send what happens from now on to an endpoint."""
        body = self.body(WebhookBody)
        made = webhooks.create(
            wanted=WebhookSettings(**body.model_dump()),
            reach=settings.HEADGATE.webhook_reach,
            keyring=opened_if_possible(),
            actor=self.actor,
        )
        return _shown(made, 201, Location=f"/api/v1/webhooks/{made.pk}")


class WebhookDetail(AdminView):
    """One endpoint."""

    @extend_schema(operation_id="get_webhook", responses=WebhookSchema)
    def get(self, request: Request, webhook_id: int) -> Response:
        """Show a webhook."""
        return _shown(reading.get_webhook(webhook_id))

    @extend_schema(
        operation_id="update_webhook",
        parameters=[OPTIONAL_IF_MATCH],
        request=WebhookChangeBody,
        responses=WebhookSchema,
    )
    def patch(self, request: Request, webhook_id: int) -> Response:
        """Change a webhook, or enable or disable it. When it is disabled, its waiting deliveries are canceled."""
        body = self.body(WebhookChangeBody)
        changed = webhooks.update(
            webhook_id=webhook_id,
            version=expected_version(request, required=False),
            changes=body.model_dump(exclude_none=True),
            reach=settings.HEADGATE.webhook_reach,
            keyring=opened_if_possible(),
            actor=self.actor,
        )
        return _shown(changed)

    @extend_schema(operation_id="delete_webhook", responses={204: None})
    def delete(self, request: Request, webhook_id: int) -> Response:
        """Remove a webhook with its deliveries."""
        webhooks.delete(webhook_id=webhook_id, actor=self.actor)
        return Response(status=204)


class PingWebhook(AdminView):
    """A trial."""

    @extend_schema(operation_id="ping_webhook", request=ActionBody, responses={202: DeliverySchema})
    @idempotent
    def post(self, request: Request, webhook_id: int) -> Response:
        """Send an event `webhook.ping`, once; the delivery shows the result."""
        self.body(ActionBody)
        made = webhooks.ping(webhook_id=webhook_id, actor=self.actor)
        where = f"/api/v1/webhooks/{webhook_id}/deliveries/{made.pk}"
        return answer(reading.delivery_schema(made), 202, Location=where)


class DeliveryList(AdminView):
    """Messages to one endpoint."""

    queries = {"GET": DeliveriesQuery}

    @extend_schema(
        operation_id="list_webhook_deliveries",
        responses=Page[DeliverySchema],
    )
    def get(self, request: Request, webhook_id: int) -> Response:
        """List deliveries, newest first."""
        query = self.query(DeliveriesQuery)
        webhook = reading.get_webhook(webhook_id)
        return page(reading.deliveries(webhook.pk, query.state), ["-id"], query, each(reading.delivery_schema))


class DeliveryDetail(AdminView):
    """One message."""

    @extend_schema(operation_id="get_webhook_delivery", responses=DeliverySchema)
    def get(self, request: Request, webhook_id: int, delivery_id: int) -> Response:
        """Show a delivery."""
        return answer(reading.delivery_schema(reading.get_delivery(webhook_id, delivery_id)))


class RetryDelivery(AdminView):
    """Sending a message again."""

    @extend_schema(operation_id="retry_webhook_delivery", request=ActionBody, responses={202: DeliverySchema})
    @idempotent
    def post(self, request: Request, webhook_id: int, delivery_id: int) -> Response:
        """Send a delivery now, with the same webhook-id, whatever became of it before."""
        self.body(ActionBody)
        again = webhooks.retry(webhook_id=webhook_id, delivery_id=delivery_id, actor=self.actor)
        return answer(reading.delivery_schema(again), 202)


def _shown(webhook: Webhook, status: int = 200, **headers: str) -> Response:
    (view,) = reading.webhook_schemas([webhook])
    return answer(view, status, ETag=view.etag, **headers)
