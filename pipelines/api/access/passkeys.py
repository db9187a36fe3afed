"""Passkeys of the user who asks, and of one whose log-in waits for its second step."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.models import User
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.access.second_factor import OwnView
from pipelines.api.http.base import View, answer
from pipelines.api.http.requests import ActionBody
from pipelines.api.http.sessions import by_session
from pipelines.api.http.sign_in_requests import PasskeyBody
from pipelines.selectors.access.sign_in import PasskeyOptionsSchema, RecoveryCodesSchema
from pipelines.services.access import passkeys, sessions
from pipelines.services.access.log_in import BadCredentials


class Registration(OwnView):
    """The first half of adding a passkey."""

    reauthenticate = frozenset({"POST"})

    @extend_schema(operation_id="begin_passkey", request=ActionBody, responses=PasskeyOptionsSchema)
    def post(self, request: Request) -> Response:
        """Say what the browser makes a passkey from."""
        self.body(ActionBody)
        options = passkeys.registration(user=self.user, session=request._request.session)
        return answer(PasskeyOptionsSchema(public_key=options))


class Passkeys(OwnView):
    """The second half of adding a passkey."""

    reauthenticate = frozenset({"POST"})

    @extend_schema(operation_id="add_passkey", request=PasskeyBody, responses={201: RecoveryCodesSchema})
    def post(self, request: Request) -> Response:
        """Keep a passkey. The answer has recovery codes, this once, if it is the first second factor."""
        body = self.body(PasskeyBody)
        session = request._request.session
        codes = passkeys.register(
            user=self.user, session=session, name=body.name, credential=body.credential, actor=self.actor
        )
        session.pop(sessions.ENROL, None)
        return answer(RecoveryCodesSchema(codes=codes), 201)


class PasskeyDetail(OwnView):
    """One passkey of the user."""

    reauthenticate = frozenset({"DELETE"})

    @extend_schema(operation_id="remove_passkey", responses={204: None})
    def delete(self, request: Request, passkey_id: int) -> Response:
        """Remove it. 409 where it is the last second factor and one is required."""
        passkeys.remove(user=self.user, passkey_id=passkey_id, is_required=self.is_required, actor=self.actor)
        return Response(status=204)


@method_decorator(csrf_protect, name="dispatch")
class Challenge(View):
    """What a passkey has to sign. Open to a log-in that waits, and to a session."""

    permission_classes = [AllowAny]
    before_enrolment = True
    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="challenge_passkey", request=ActionBody, responses=PasskeyOptionsSchema)
    def post(self, request: Request) -> Response:
        """Say what a passkey of the user has to sign, for /session/code and /session/proof."""
        self.body(ActionBody)
        session = request._request.session
        user = cast(User, request.user) if by_session(request) else sessions.waiting_user(session)
        if user is None:
            raise BadCredentials("No log-in waits for a passkey.", code="no_log_in", hint="Log in again.")
        return answer(PasskeyOptionsSchema(public_key=passkeys.question(user=user, session=session)))
