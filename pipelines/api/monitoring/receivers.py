"""Receivers: who events and alerts are sent to. All of it is for admins: an address often holds a password."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.access.owners import owner_of_new
from pipelines.api.access.secrets import opened_if_possible
from pipelines.api.http.base import TeamView, View, answer, expected_version, idempotent
from pipelines.api.http.openapi import OPTIONAL_IF_MATCH
from pipelines.api.http.paging import Page, PageQuery, each, page
from pipelines.api.http.requests import ActionBody, Shape, Text
from pipelines.api.http.watch_requests import MatchersBody, TeamName
from pipelines.domain.base.roles import Role
from pipelines.domain.monitoring.receivers import MailOptions, MailTls, ReceiverKind
from pipelines.domain.monitoring.webhooks import DeliveryState
from pipelines.models import Receiver
from pipelines.selectors.monitoring import receivers as reading
from pipelines.selectors.monitoring.schemas import DeliverySchema, ReceiverSchema
from pipelines.services.monitoring import receivers
from pipelines.services.monitoring.receivers import Installation, ReceiverSettings


class EmailBody(Shape):
    """What a receiver of kind `email` adds. Without `host` mail goes through the mail server of the installation."""

    recipients: list[Text] = Field(default=[], max_length=1000)
    sender: Text = Field(default="", max_length=320)
    host: Text = Field(default="", max_length=253)
    port: int = Field(default=587, ge=0, le=1_000_000)
    tls: Text = Field(default=MailTls.STARTTLS.value, max_length=16)
    user: Text = Field(default="", max_length=320)


class ReceiverBody(Shape):
    """Who gets messages. `url`: of a webhook, or another address of PagerDuty. `events`: types, beginnings of types
    (`migration.*`) or `*`; those that are usual for the kind unless given. `secrets`: references `${secret:NAME}` to
    what the kind needs. `matchers`: which alerts. One of a `team` gets what that team may see."""

    team: TeamName = None
    kind: ReceiverKind = ReceiverKind.WEBHOOK
    url: Text = Field(default="", max_length=4096)
    events: list[str] | None = Field(default=None, max_length=1000)
    secrets: list[str] = Field(default=[], max_length=100)
    matchers: MatchersBody = MatchersBody()
    email: EmailBody | None = None
    description: Text = Field(default="", max_length=1000)
    enabled: bool = True

    def settings(self) -> ReceiverSettings:
        """As the service takes it."""
        return ReceiverSettings(
            kind=self.kind,
            url=self.url,
            events=self.events,
            secrets=self.secrets,
            description=self.description,
            enabled=self.enabled,
            matchers=self.matchers.matchers(),
            email=MailOptions.of(self.email.model_dump() if self.email else None),
        )


class ReceiverChangeBody(Shape):
    """What to change; what is left out stays. `matchers` and `email` are replaced as a whole."""

    url: Text | None = Field(default=None, max_length=4096)
    events: list[str] | None = Field(default=None, max_length=1000)
    secrets: list[str] | None = Field(default=None, max_length=100)
    matchers: MatchersBody | None = None
    email: EmailBody | None = None
    description: Text | None = Field(default=None, max_length=1000)
    enabled: bool | None = None

    def changes(self) -> dict[str, Any]:
        """What is given, as the service takes it."""
        given = self.model_dump(exclude_none=True, exclude={"matchers", "email"})
        if self.matchers is not None:
            given["matchers"] = self.matchers.matchers()
        if self.email is not None:
            given["email"] = MailOptions.of(self.email.model_dump())
        return given


class DeliveriesQuery(PageQuery):
    """Which deliveries."""

    state: DeliveryState | None = None


ADMIN_ALONE = dict.fromkeys(("GET", "POST", "PATCH"), Role.ADMIN)


class ReceiverView(TeamView):
    """An address below one receiver, for administrators alone, whatever the method."""

    roles = ADMIN_ALONE

    @property
    def owner(self) -> int | None:
        """Its team."""
        return reading.get_receiver(self.kwargs["receiver_id"], self.access).team_id


class ReceiverList(View):
    """Receivers, for administrators alone."""

    roles = ADMIN_ALONE

    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_receivers", responses=Page[ReceiverSchema])
    def get(self, request: Request) -> Response:
        """List receivers with how they are doing."""
        return page(reading.receivers(self.access), ["id"], self.query(PageQuery), reading.receiver_schemas)

    @extend_schema(operation_id="create_receiver", request=ReceiverBody, responses={201: ReceiverSchema})
    @idempotent
    def post(self, request: Request) -> Response:
        """Send what happens from now on to a receiver."""
        body = self.body(ReceiverBody)
        team = owner_of_new(self, body.team)
        made = receivers.create(wanted=body.settings(), team=team, installation=_installation(), actor=self.actor)
        return _shown(made, 201, Location=f"/api/v1/receivers/{made.pk}")


class ReceiverDetail(ReceiverView):
    """One receiver."""

    @extend_schema(operation_id="get_receiver", responses=ReceiverSchema)
    def get(self, request: Request, receiver_id: int) -> Response:
        """Show a receiver."""
        return _shown(reading.get_receiver(receiver_id))

    @extend_schema(
        operation_id="update_receiver",
        parameters=[OPTIONAL_IF_MATCH],
        request=ReceiverChangeBody,
        responses=ReceiverSchema,
    )
    def patch(self, request: Request, receiver_id: int) -> Response:
        """Change a receiver, or enable or disable it. While it is disabled, its deliveries wait."""
        body = self.body(ReceiverChangeBody)
        changed = receivers.update(
            receiver_id=receiver_id,
            version=expected_version(request, required=False),
            changes=body.changes(),
            installation=_installation(),
            actor=self.actor,
        )
        return _shown(changed)

    @extend_schema(operation_id="delete_receiver", responses={204: None})
    def delete(self, request: Request, receiver_id: int) -> Response:
        """Remove a receiver with its deliveries."""
        receivers.delete(receiver_id=receiver_id, actor=self.actor)
        return Response(status=204)


class ReceiverTest(ReceiverView):
    """A test."""

    @extend_schema(operation_id="test_receiver", request=ActionBody, responses={202: DeliverySchema})
    @idempotent
    def post(self, request: Request, receiver_id: int) -> Response:
        """Send a test message, once; the delivery shows the result. To a webhook that is the event `webhook.ping`."""
        self.body(ActionBody)
        made = receivers.test(receiver_id=receiver_id, actor=self.actor)
        where = f"/api/v1/receivers/{receiver_id}/deliveries/{made.pk}"
        return answer(reading.delivery_schema(made), 202, Location=where)


class DeliveryList(ReceiverView):
    """Messages to one receiver."""

    queries = {"GET": DeliveriesQuery}

    @extend_schema(
        operation_id="list_receiver_deliveries",
        responses=Page[DeliverySchema],
    )
    def get(self, request: Request, receiver_id: int) -> Response:
        """List deliveries, newest first."""
        query = self.query(DeliveriesQuery)
        receiver = reading.get_receiver(receiver_id)
        return page(reading.deliveries(receiver.pk, query.state), ["-id"], query, each(reading.delivery_schema))


class DeliveryDetail(ReceiverView):
    """One message."""

    @extend_schema(operation_id="get_receiver_delivery", responses=DeliverySchema)
    def get(self, request: Request, receiver_id: int, delivery_id: int) -> Response:
        """Show a delivery."""
        return answer(reading.delivery_schema(reading.get_delivery(receiver_id, delivery_id)))


class RetryDelivery(ReceiverView):
    """Sending a message again."""

    @extend_schema(operation_id="retry_receiver_delivery", request=ActionBody, responses={202: DeliverySchema})
    @idempotent
    def post(self, request: Request, receiver_id: int, delivery_id: int) -> Response:
        """Send a delivery now, with the same webhook-id, whatever became of it before."""
        self.body(ActionBody)
        again = receivers.retry(receiver_id=receiver_id, delivery_id=delivery_id, actor=self.actor)
        return answer(reading.delivery_schema(again), 202)


def _installation() -> Installation:
    environment = settings.HEADGATE
    return Installation(environment.webhook_reach, opened_if_possible(), environment.mail_server)


def _shown(receiver: Receiver, status: int = 200, **headers: str) -> Response:
    (view,) = reading.receiver_schemas([receiver])
    return answer(view, status, ETag=view.etag, **headers)
