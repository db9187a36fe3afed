"""The second factor of the user who asks, by a session alone."""

from __future__ import annotations

from typing import cast

import segno
from django.conf import settings
from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer
from pipelines.api.http.permissions import role_of
from pipelines.api.http.requests import ActionBody
from pipelines.api.http.sessions import OfSession
from pipelines.api.http.sign_in_requests import CodeBody
from pipelines.foundation.sign_in import totp
from pipelines.selectors.access.sign_in import (
    EnrolmentSchema,
    RecoveryCodesSchema,
    SecondFactorSchema,
    second_factor_schema,
)
from pipelines.services.access import attempts, passkeys, second_factor, sessions

ISSUER = "Headgate"


class OwnView(View):
    """An address about the log-in of the user who asks."""

    permission_classes = [OfSession]
    before_enrolment = True
    while_read_only = frozenset({"POST", "PUT", "DELETE"})

    @property
    def user(self) -> User:
        """Who asks."""
        return cast(User, self.request.user)

    @property
    def is_required(self) -> bool:
        """Whether the user needs a second factor."""
        return second_factor.is_required(role_of(self.user))


class SecondFactor(OwnView):
    """What the user has."""

    @extend_schema(operation_id="get_second_factor", responses=SecondFactorSchema)
    def get(self, request: Request) -> Response:
        """Say which second factors the user has, and whether one is required."""
        return answer(
            second_factor_schema(self.user, is_required=self.is_required, has_passkeys=passkeys.is_available())
        )


class Enrolment(OwnView):
    """The authenticator application that is set up."""

    reauthenticate = frozenset({"POST", "PUT", "DELETE"})

    @extend_schema(operation_id="begin_enrolment", request=ActionBody, responses=EnrolmentSchema)
    def post(self, request: Request) -> Response:
        """Make the secret of an authenticator application. It counts once PUT has confirmed it by a code."""
        self.body(ActionBody)
        secret = second_factor.begin(user=self.user)
        uri = totp.uri_of(secret, issuer=f"{ISSUER} {settings.HEADGATE.host}", account=self.user.username)
        picture = segno.make(uri, error="m").svg_data_uri(scale=5, border=2, light="#fff")
        return answer(EnrolmentSchema(secret=totp.text_of(secret), uri=uri, picture=picture))

    @extend_schema(operation_id="confirm_enrolment", request=CodeBody, responses=RecoveryCodesSchema)
    def put(self, request: Request) -> Response:
        """Confirm the application by a code of it. The answer has recovery codes if it is the first second factor."""
        code = self.body(CodeBody).code.get_secret_value()
        attempts.admit(self.actor)
        codes = second_factor.confirm(user=self.user, code=code, actor=self.actor)
        attempts.forgive(self.actor)
        request._request.session.pop(sessions.ENROL, None)
        return answer(RecoveryCodesSchema(codes=codes))

    @extend_schema(operation_id="remove_authenticator", responses={204: None})
    def delete(self, request: Request) -> Response:
        """Remove the application. 409 where it is the last second factor and one is required."""
        second_factor.remove_totp(user=self.user, is_required=self.is_required, actor=self.actor)
        return Response(status=204)


class RecoveryCodes(OwnView):
    """Codes for the day that the application is lost."""

    reauthenticate = frozenset({"POST"})

    @extend_schema(operation_id="renew_recovery_codes", request=ActionBody, responses=RecoveryCodesSchema)
    def post(self, request: Request) -> Response:
        """Replace the recovery codes. The answer has the new ones, this once."""
        self.body(ActionBody)
        return answer(RecoveryCodesSchema(codes=second_factor.renew_codes(user=self.user, actor=self.actor)))
