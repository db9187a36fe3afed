"""Silences: alerts of which nobody is told for a while."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.access.owners import owner_of_new
from pipelines.api.http.base import TeamView, View, answer, idempotent
from pipelines.api.http.paging import Page, each, page
from pipelines.api.http.requests import ActionBody
from pipelines.api.http.watch_requests import SilenceBody, SilencesQuery
from pipelines.models import Silence
from pipelines.selectors.monitoring import silences as reading
from pipelines.selectors.monitoring.schemas import SilenceSchema
from pipelines.services.monitoring import silences
from pipelines.services.monitoring.silences import SilenceSettings


class SilenceList(View):
    """All silences."""

    queries = {"GET": SilencesQuery}

    @extend_schema(operation_id="list_silences", responses=Page[SilenceSchema])
    def get(self, request: Request) -> Response:
        """List silences, newest first."""
        query = self.query(SilencesQuery)
        return page(reading.silences(query.state, self.access), ["-id"], query, each(reading.silence_schema))

    @extend_schema(operation_id="create_silence", request=SilenceBody, responses={201: SilenceSchema})
    @idempotent
    def post(self, request: Request) -> Response:
        """Hold back deliveries of the alerts that match, from now until `ends_at`. The alerts stand as ever."""
        body = self.body(SilenceBody)
        made = silences.create(
            wanted=SilenceSettings(body.matchers.matchers(), body.ends_at, body.comment, owner_of_new(self, body.team)),
            longest=timedelta(days=settings.HEADGATE.silence_days),
            actor=self.actor,
        )
        return answer(reading.silence_schema(reading.get_silence(made.pk)), 201, Location=f"/api/v1/silences/{made.pk}")


class SilenceView(TeamView):
    """An address below one silence."""

    shared = True

    @property
    def owner(self) -> int | None:
        """Its team."""
        return self.silence.team_id

    @cached_property
    def silence(self) -> Silence:
        """The silence that the address names; raises NotFound."""
        return reading.get_silence(self.kwargs["silence_id"], self.access)


class SilenceDetail(SilenceView):
    """One silence."""

    @extend_schema(operation_id="get_silence", responses=SilenceSchema)
    def get(self, request: Request, silence_id: int) -> Response:
        """Show a silence."""
        return answer(reading.silence_schema(self.silence))


class EndSilence(SilenceView):
    """The end of a silence before its time."""

    @extend_schema(operation_id="end_silence", request=ActionBody, responses=SilenceSchema)
    @idempotent
    def post(self, request: Request, silence_id: int) -> Response:
        """End a silence now. Alerts that still fire are delivered."""
        self.body(ActionBody)
        silences.end(silence_id=silence_id, actor=self.actor)
        return answer(reading.silence_schema(reading.get_silence(silence_id, self.access)))
