"""What every view of the API has in common."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, NoReturn, TypeVar, get_origin

from django.conf import settings
from django.http import QueryDict
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, ParseError
from rest_framework.parsers import BaseParser, JSONParser
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from pipelines.api.http import rate_limits
from pipelines.api.http.permissions import needed_role
from pipelines.api.http.problems import request_id
from pipelines.api.http.sessions import require_proof
from pipelines.api.http.tracing import join, name_trace, route, traceparent
from pipelines.domain.access.teams import Access
from pipelines.domain.base.findings import Finding, did_you_mean, dotted, quote
from pipelines.domain.base.roles import Role
from pipelines.domain.base.shapes import findings_of
from pipelines.foundation import clock
from pipelines.foundation.errors import BadRequest, Forbidden, HeadgateError, Invalid, PreconditionRequired
from pipelines.models import AccessToken, Pipeline, Run
from pipelines.selectors.lifecycle.pipelines import get_pipeline
from pipelines.selectors.runs.runs import get_run
from pipelines.services.access.audit import refusals
from pipelines.services.base import audit, idempotency
from pipelines.services.base.audit import Actor
from pipelines.services.governance import read_only
from pipelines.services.governance.governing import Governed

Body = TypeVar("Body", bound=BaseModel)
Handler = Callable[..., Response]


class NoQuery(BaseModel):
    """No query parameters."""


class TooLarge(HeadgateError):
    """The body is larger than any definition may be."""

    status = 413
    code = "too_large"
    title = "The body is too large"


class StrictJSONParser(JSONParser):
    """JSON whose nesting the parser can follow."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """Parse the body; raises ParseError."""
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None


class YAMLTextParser(BaseParser):
    """A definition as the body itself: `Content-Type: application/yaml`. The text is validated, not parsed here."""

    media_type = "application/yaml"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The text as the request's `definition`; raises ParseError where it is not UTF-8."""
        try:
            return {"definition": stream.read().decode("utf-8")}
        except UnicodeDecodeError as error:
            raise ParseError(f"The body is not UTF-8: {error.reason}.") from None


class View(APIView):
    """One address of the API. `roles` names the role of methods that need another one than usual, `queries` the shape
    of the query parameters of methods that accept any. `reauthenticate`: methods that are dangerous, so that a session
    needs a log-in that is not old. `reading`: methods that change nothing although they are not
    safe by name. `while_read_only`: methods that users need
    although the installation is read-only; every other one that is neither safe nor reading is refused then.
    `costs`: what requests count that are not one of
    many (`rate_limits`). `before_enrolment`: open to a user who has yet to set up a second factor."""

    parser_classes = [StrictJSONParser]
    roles: dict[str, Role] = {}
    queries: dict[str, type[BaseModel]] = {}
    reauthenticate: frozenset[str] = frozenset()
    reading: frozenset[str] = frozenset()
    while_read_only: frozenset[str] = frozenset()
    before_enrolment = False
    costs: dict[str, int] = {}
    _allowance: rate_limits.Allowance | None = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse what no view could answer, before anything is read."""
        self._arrived = clock.now()
        join(traceparent(request))
        super().initial(request, *args, **kwargs)
        if request.method not in {*SAFE_METHODS, *self.reading, *self.while_read_only}:
            read_only.require_writable()
        if request.method in self.reauthenticate:
            require_proof(request)
        length = int(request.META.get("CONTENT_LENGTH") or 0)
        if length > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise TooLarge(f"The body has {length} bytes; {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} are allowed.")
        if hasattr(self, (request.method or "").lower()):
            shape = self.queries.get("GET" if request.method == "HEAD" else request.method or "", NoQuery)
            self._query = read_query(request.query_params, shape)

    def perform_authentication(self, request: Request) -> None:
        """Find who asks, and count the request. Raises TooFast."""
        super().perform_authentication(request)
        try:
            self._allowance = rate_limits.admit(request, self.costs.get(request.method or "", 1))
        except rate_limits.TooFast as refused:
            self._allowance = refused.allowance
            raise

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Say in every answer what is left of the allowance."""
        answered = super().finalize_response(request, response, *args, **kwargs)
        if self._allowance is not None:
            for name, value in self._allowance.headers.items():
                answered.headers[name] = value
        return answered

    def handle_exception(self, exc: Exception) -> Response:
        """Record what was refused; the transaction of it is over by now."""
        if isinstance(exc, Governed):
            audit.record(
                actor=self.actor,
                action=f"pipeline.{exc.data['kind']}",
                pipeline_name=exc.data["pipeline"],
                after={"code": exc.code, "detail": exc.detail},
                outcome="refused",
            )
        answered = super().handle_exception(exc)
        if isinstance(exc, AuthenticationFailed) and (text := _presented_token(self.request)):
            refusals.record_token(actor=self.actor, text=text)
        elif answered.status_code == Forbidden.status and answered.data["code"] not in refusals.NOT_RECORDED:
            name = str(self.kwargs.get("name", "")) if isinstance(self, PipelineView) else ""
            refusals.record_request(actor=self.actor, code=str(answered.data["code"]), pipeline_name=name)
        return answered

    @cached_property
    def role(self) -> Role:
        """The caller's role, as the permission found it."""
        return self.request.role  # type: ignore[attr-defined, no-any-return]

    @cached_property
    def access(self) -> Access:
        """What the caller may reach, as the permission found it."""
        return self.request.access  # type: ignore[attr-defined, no-any-return]

    def require(self, team: int | None, role: Role | None = None) -> Role:
        """The caller's role in a team, or in the installation for None; raises Forbidden where it is below the role
        that the method needs."""
        needed = role or needed_role(self, self.request.method)
        own = self.access.role_in(team)
        if own is None or own < needed:
            raise Forbidden(
                f"This needs the role {needed.word} in {'its team' if team is not None else 'every team'}.",
                code="role_in_team_needed",
                hint="Ask an administrator of the team, or a user with that role.",
            )
        return own

    def require_named(self, pipeline: str) -> None:
        """Ask for the role in the team of the pipeline that a rule names; in every team where it names none. Raises
        NotFound for a name that does not exist for the caller."""
        of_all = not pipeline or self.access.visible is None
        self.require(None if of_all else get_pipeline(pipeline, self.access).team_id)

    @property
    def actor(self) -> Actor:
        """The caller, for the audit."""
        address = str(self.request.META.get("REMOTE_ADDR") or "")
        return Actor(
            self.request.user.get_username(),
            address,
            request_id(),
            traceparent(self.request),
            {
                "method": self.request.method,
                "route": route(self.request),
                "user_id": str(self.request.user.pk),
                "request_id": request_id(),
                "at": self._arrived.isoformat(),
            },
            token=_label(self.request.auth),
            role=getattr(self.request, "role", None) or Role.VIEWER,
        )

    def body(self, shape: type[Body]) -> Body:
        """The request's body; raises Invalid with every problem at once. An absent body is an empty object."""
        data: Any = self.request.data
        try:
            return shape.model_validate({} if data is None or data == "" else data)
        except ValidationError as error:
            findings = findings_of(error, shape)
            raise Invalid("The body of the request is not valid.", code="body_invalid", findings=findings) from None

    def query(self, shape: type[Body]) -> Body:
        """The request's query parameters, which are of the shape that `queries` names for its method."""
        if not isinstance(self._query, shape):
            raise TypeError(f"{type(self).__name__}.queries has no {shape.__name__} for {self.request.method}.")
        return self._query


def _label(credentials: object) -> str:
    """What the audit says of a token; empty for a session."""
    return f"{credentials.token_key} {credentials.name}"[:120] if isinstance(credentials, AccessToken) else ""


def _presented_token(request: Request) -> str:
    """The token of the header, whatever it is worth; empty without one."""
    kind, _, text = get_authorization_header(request).decode("ascii", "replace").partition(" ")
    return text.strip() if kind.lower() == "token" else ""


def read_query(given: QueryDict, shape: type[Body]) -> Body:
    """Query parameters in their shape; an empty one counts as left out. Raises BadRequest with every problem at once:
    what no view reads would be ignored, and the answer taken for that of another question."""
    known = shape.model_fields
    findings = [
        Finding(
            path=dotted((name,)),
            code="unknown_parameter",
            message=f"There is no query parameter {quote(name)} here.",
            suggestion=did_you_mean(name, known) or "Remove it.",
        )
        for name in given
        if name not in known
    ]
    texts = {name: _values(given, name, known[name]) for name in given if name in known and given[name] != ""}
    with_nul = [name for name, value in texts.items() if "\0" in "".join(value)]
    findings += [
        Finding(path=name, code="nul_character", message="The value contains a NUL character.") for name in with_nul
    ]
    try:
        found = shape.model_validate({name: value for name, value in texts.items() if name not in with_nul})
    except ValidationError as error:
        findings += findings_of(error, shape)
    if findings:
        raise BadRequest("A query parameter is not valid.", code="query_invalid", findings=findings)
    return found


def _values(given: QueryDict, name: str, field: FieldInfo) -> str | list[str]:
    """What a parameter says: the last value, or all of them where several are possible."""
    if get_origin(field.annotation) is list:
        return [str(each) for each in given.getlist(name)]
    return str(given[name])


def answer(view: BaseModel, status: int = 200, **headers: str) -> Response:
    """A view as the answer; header names are written with underscores. The log of the request names the trace of what
    it shows."""
    if trace_id := getattr(view, "trace_id", ""):
        name_trace(trace_id)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(view.model_dump(mode="json"), status=status, headers=named)


def expected_version(request: Request, *, required: bool) -> int | None:
    """The version that If-Match names; None for `*` or, where it is not required, without the header.

    An entity tag that never was one of ours gives -1, which no version is. Raises PreconditionRequired.
    """
    header = request.headers.get("If-Match")
    if header is None and required:
        raise PreconditionRequired(
            "This write needs the header If-Match.", hint="Send the `etag` of the pipeline as you read it, or `*`."
        )
    if header is None or header.strip() == "*":
        return None
    text = header.strip().strip('"')
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1


class TeamView(View):
    """An address of something that a team owns, or that the installation owns for all of them. What is of a team that
    the caller is not in is not found, whatever the method. `shared`: a role in any team reads the installation's."""

    shared = False

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Ask for the role in the owner's team."""
        super().initial(request, *args, **kwargs)
        owner = self.owner
        if owner is not None or not self.shared or request.method not in SAFE_METHODS:
            self.role = self.require(owner)

    def permission_denied(self, request: Request, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse; where the caller has a role somewhere, only what is there."""
        if self.access.highest is not None:
            _ = self.owner
        super().permission_denied(request, *args, **kwargs)

    @property
    def owner(self) -> int | None:
        """Id of the team that owns what the address names, None for the installation; raises NotFound."""
        raise NotImplementedError


class PipelineView(TeamView):
    """An address below one pipeline."""

    @property
    def owner(self) -> int | None:
        """The pipeline's team."""
        return self.pipeline.team_id

    @cached_property
    def pipeline(self) -> Pipeline:
        """The pipeline that the address names; raises NotFound."""
        return get_pipeline(self.kwargs["name"], self.access)

    @property
    def shows_records(self) -> bool:
        """Whether the caller may see what its records and events hold."""
        return self.access.sees_records(self.pipeline.team_id)


class RunView(TeamView):
    """An address below one run."""

    @property
    def owner(self) -> int | None:
        """The team of its pipeline."""
        return self.run.pipeline.team_id

    @cached_property
    def run(self) -> Run:
        """The run that the address names; raises NotFound."""
        return get_run(self.kwargs["run_id"], self.access)


def idempotent(handler: Handler) -> Handler:
    """Answer a repeated POST with the same Idempotency-Key by the first answer, without doing it again. With other
    roles than the first one it is another request."""

    @wraps(handler)
    def wrapper(view: View, request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get("Idempotency-Key")
        if key is None:
            return handler(view, request, *args, **kwargs)
        asked = [request.method, request.get_full_path(), request.data, str(view.access)]
        content = json.dumps(asked, sort_keys=True, default=str)
        stored = idempotency.once(
            user=request.user.get_username(),
            key=key,
            content=content,
            act=lambda: _stored(handler(view, request, *args, **kwargs)),
        )
        replayed = {"Idempotency-Replayed": "true"} if stored.replayed else {}
        return Response(stored.body, status=stored.status, headers=stored.headers | replayed)

    wrapper.idempotent = True  # type: ignore[attr-defined]
    return wrapper


Replacement = TypeVar("Replacement", bound=Callable[..., Any])


def in_place_of(view: Callable[..., Any], replacement: Replacement) -> Replacement:
    """Give a function that answers instead of a view what URL conf, CSRF check and schema look for on the view."""
    for name in ("cls", "initkwargs", "csrf_exempt", "__name__", "__doc__"):
        setattr(replacement, name, getattr(view, name))
    return replacement


KEPT_HEADERS = ("Location", "ETag")


def _stored(response: Response) -> idempotency.StoredResponse:
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    return idempotency.StoredResponse(status=response.status_code, headers=headers, body=response.data)
