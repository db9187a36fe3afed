"""The session of the page: who am I, log in, prove that it is still me, log out."""

from __future__ import annotations

from typing import Literal, cast

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.middleware.csrf import get_token
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_variables
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer
from pipelines.api.http.permissions import role_of, scope_of
from pipelines.api.http.problems import request_id
from pipelines.api.http.requests import LoginBody
from pipelines.api.http.sessions import OfSession
from pipelines.api.http.sign_in_requests import FactorBody, PasswordBody, ProofBody
from pipelines.models import Passkey
from pipelines.selectors.access.sign_in import ProviderSchema, SignInProblemSchema
from pipelines.selectors.access.teams import access_of
from pipelines.selectors.governance.read_only import ReadOnlySchema, read_only_schema
from pipelines.selectors.lifecycle.schemas import SessionSchema
from pipelines.services.access import log_in, second_factor, sessions
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor


def session_schema(request: Request, user: AbstractBaseUser | AnonymousUser) -> SessionSchema:
    """What the page has to know of the session."""
    access = scope_of(request).limit(access_of(user))
    session, limits = request._request.session, settings.HEADGATE
    problem = sessions.take_problem(session)
    waiting = None if user.is_authenticated else sessions.waiting_user(session)
    return SessionSchema(
        authenticated=user.is_authenticated,
        user=user.get_username() if user.is_authenticated else None,
        role=access.highest.word if access.highest else None,
        everywhere=access.everywhere.word if access.everywhere else None,
        csrf_token=get_token(request._request),
        provider=ProviderSchema(button=limits.oidc_button) if limits.oidc_issuer else None,
        problem=SignInProblemSchema(**problem) if problem else None,
        waits_for_code=waiting is not None,
        passkeys=_has_passkeys(waiting or user),
        enrolment_required=user.is_authenticated and sessions.ENROL in session,
        proof=_proof(request, user),
        demo_pipeline=limits.demo_pipeline if user.is_authenticated else "",
        read_only=_read_only(user),
    )


def _read_only(user: AbstractBaseUser | AnonymousUser) -> ReadOnlySchema | None:
    mode = read_only_schema() if user.is_authenticated else None
    return mode if mode and mode.read_only else None


def _has_passkeys(user: AbstractBaseUser | AnonymousUser) -> bool:
    return isinstance(user, User) and Passkey.objects.filter(user=user).exists()


def _proof(
    request: Request, user: AbstractBaseUser | AnonymousUser
) -> Literal["password", "password_and_code", "provider"] | None:
    """How the user of the session shows again to be who it is."""
    if not user.is_authenticated or request.auth is not None:  # a token needs none
        return None
    if request._request.session.get(sessions.METHOD) == sessions.PROVIDER:
        return "provider"
    return "password_and_code" if second_factor.is_enrolled(cast(User, user)) else "password"


def _begun(request: Request, user: User) -> Response:
    """The answer to a log-in, whose session can do nothing yet where the user lacks a second factor."""
    if second_factor.is_required(role_of(user)) and not second_factor.is_enrolled(user):
        request._request.session[sessions.ENROL] = True
    return answer(session_schema(request, user))


@method_decorator(csrf_protect, name="dispatch")
class Session(View):
    """Open to everybody: it is how one becomes somebody."""

    permission_classes = [AllowAny]
    before_enrolment = True
    while_read_only = frozenset({"POST", "DELETE"})

    @extend_schema(operation_id="get_session", responses=SessionSchema)
    def get(self, request: Request) -> Response:
        """Say who is asking, and give the CSRF token that writes with a session need."""
        return answer(session_schema(request, request.user))

    @extend_schema(operation_id="log_in", request=LoginBody, responses=SessionSchema)
    @method_decorator(sensitive_variables())
    def post(self, request: Request) -> Response:
        """Log in with user name and password. `waits_for_code`: a code has to follow, at /session/code."""
        body = self.body(LoginBody)
        actor = Actor(body.username, str(request.META.get("REMOTE_ADDR") or ""), request_id())
        user = log_in.log_in(request=request._request, password=body.password, actor=actor)
        return _begun(request, user) if user else answer(session_schema(request, AnonymousUser()))

    @extend_schema(operation_id="log_out", responses={204: None})
    def delete(self, request: Request) -> Response:
        """Log out."""
        if request.user.is_authenticated:
            audit.record(actor=self.actor, action="session.logout")
        logout(request._request)
        return Response(status=204)


@method_decorator(csrf_protect, name="dispatch")
class SessionCode(View):
    """The second step of a log-in. Open to everybody who has taken the first one."""

    permission_classes = [AllowAny]
    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="give_code", request=FactorBody, responses=SessionSchema)
    @method_decorator(sensitive_variables())
    def post(self, request: Request) -> Response:
        """Give a code of the authenticator application, a recovery code, or the answer of a passkey."""
        given = self.body(FactorBody).given
        address = str(request.META.get("REMOTE_ADDR") or "")
        user = log_in.give_code(request=request._request, given=given, address=address, request_id=request_id())
        return _begun(request, user)


class SessionProof(View):
    """Dangerous acts need a log-in that is not old."""

    permission_classes = [OfSession]
    before_enrolment = True
    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="prove_session", request=ProofBody, responses=SessionSchema)
    @method_decorator(sensitive_variables())
    def post(self, request: Request) -> Response:
        """Show again to be the user of the session, by password and, where there is one, second factor."""
        body = self.body(ProofBody)
        log_in.prove_again(
            request=request._request,
            password=body.password.get_secret_value(),
            given=body.given,
            actor=self.actor,
        )
        return answer(session_schema(request, request.user))


class SessionPassword(View):
    """The password of the user who asks."""

    permission_classes = [OfSession]
    reauthenticate = frozenset({"POST"})
    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="change_password", request=PasswordBody, responses=SessionSchema)
    @method_decorator(sensitive_variables())
    def post(self, request: Request) -> Response:
        """Change the own password. It ends all other sessions, and the tokens unless `keep_tokens`."""
        body = self.body(PasswordBody)
        log_in.change_password(
            request=request._request,
            present=body.present.get_secret_value(),
            wanted=body.wanted.get_secret_value(),
            keep_tokens=body.keep_tokens,
            actor=self.actor,
        )
        return answer(session_schema(request, request.user))
