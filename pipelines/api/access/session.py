"""The session of the page: who am I, log in, log out."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.middleware.csrf import get_token
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_variables
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer
from pipelines.api.http.permissions import role_of
from pipelines.api.http.problems import request_id
from pipelines.api.http.requests import LoginBody
from pipelines.selectors.access.sign_in import ProviderSchema, SignInProblemSchema
from pipelines.selectors.lifecycle.schemas import SessionSchema
from pipelines.services.access import sessions
from pipelines.services.base.audit import Actor


def _session_schema(request: Request, user: AbstractBaseUser | AnonymousUser) -> SessionSchema:
    role = role_of(user)
    limits = settings.HEADGATE
    problem = sessions.take_problem(request._request.session)
    return SessionSchema(
        authenticated=user.is_authenticated,
        user=user.get_username() if user.is_authenticated else None,
        role=role.word if role else None,
        csrf_token=get_token(request._request),
        provider=ProviderSchema(button=limits.oidc_button) if limits.oidc_issuer else None,
        problem=SignInProblemSchema(**problem) if problem else None,
    )


@method_decorator(csrf_protect, name="dispatch")
class Session(View):
    """Open to everybody: it is how one becomes somebody."""

    permission_classes = [AllowAny]

    @extend_schema(operation_id="get_session", responses=SessionSchema)
    def get(self, request: Request) -> Response:
        """Say who is asking, and give the CSRF token that writes with a session need."""
        return answer(_session_schema(request, request.user))

    @extend_schema(operation_id="log_in", request=LoginBody, responses=SessionSchema)
    @method_decorator(sensitive_variables())
    def post(self, request: Request) -> Response:
        """Log in with user name and password."""
        body = self.body(LoginBody)
        actor = Actor(body.username, str(request.META.get("REMOTE_ADDR") or ""), request_id())
        user = sessions.log_in(request=request._request, password=body.password, actor=actor)
        return answer(_session_schema(request, user))

    @extend_schema(operation_id="log_out", responses={204: None})
    def delete(self, request: Request) -> Response:
        """Log out."""
        logout(request._request)
        return Response(status=204)
