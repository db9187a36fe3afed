"""Signing in at the OpenID Connect provider of the installation."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer
from pipelines.api.http.problems import problem_of, problem_response, request_id
from pipelines.api.http.sessions import by_session
from pipelines.api.http.sign_in_requests import SignInBody
from pipelines.foundation.errors import HeadgateError, TooManyRequests
from pipelines.selectors.access.sign_in import SignInAddressSchema
from pipelines.services.access import attempts, oidc, sessions
from pipelines.services.base.audit import Actor

HOME = "/"


@method_decorator(csrf_protect, name="dispatch")
class OidcSignIn(View):
    """The way to the provider. Open to everybody, as the log-in is."""

    permission_classes = [AllowAny]
    before_enrolment = True
    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="sign_in", request=SignInBody, responses=SignInAddressSchema)
    def post(self, request: Request) -> Response:
        """Begin to sign in: the answer is the address at the provider where the browser goes on."""
        body = self.body(SignInBody)
        attempts.admit_sign_in(str(request.META.get("REMOTE_ADDR") or ""))
        again = cast(User, request.user) if body.again and by_session(request) else None
        address = oidc.begin(session=request._request.session, then=body.next, again=again)
        return answer(SignInAddressSchema(url=address))


@require_safe
def callback(request: HttpRequest) -> HttpResponse:
    """Where the provider sends the browser back to. What went wrong is told by the page, which asks for its session."""
    actor = Actor("unknown", str(request.META.get("REMOTE_ADDR") or ""), request_id())
    try:
        attempts.admit_sign_in(actor.address)
    except TooManyRequests as refused:  # before a session is taken that would say why
        return problem_response(problem_of(refused))
    try:
        then = oidc.complete(request=request, answer=request.GET.dict(), actor=actor)
    except HeadgateError as failed:
        sessions.leave_problem(request.session, problem_of(failed))
        then = HOME
    response = HttpResponseRedirect(then)
    response.headers["Cache-Control"] = "no-store"
    return response
