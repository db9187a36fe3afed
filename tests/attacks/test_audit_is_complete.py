"""Nothing is done, tried or refused without a row of the audit, and no row holds a secret."""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import FunctionType, ModuleType
from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.test import APIClient

from pipelines.api.http.base import View
from pipelines.domain.base.roles import Role
from pipelines.foundation import clock
from pipelines.models import AccessToken, AuditRow, RoleBinding
from pipelines.services.access import access
from pipelines.services.access.audit import refusals
from pipelines.services.base import audit
from tests.db.test_secrets import BOUND
from tests.factories import PipelineFactory, TeamFactory, UserFactory
from tests.fakes.receivers import NEW

SESSION = "/api/v1/session"
PASSWORD = "correct horse battery"
WRITES = ("post", "put", "patch", "delete")
NEEDS_NO_ROW = {
    "Enrolment.post": "a proposal to the user; what confirms it is recorded",
    "ExternalGroupPlan.post": "a plan, which changes nothing",
    "PlanPositions.post": "a plan, which changes nothing",
    "RangeReplayPlan.post": "a plan, which changes nothing",
    "Rehearse.post": "a trial, which changes nothing",
    "RehearsePipeline.post": "a trial, which changes nothing",
    "Challenge.post": "a number for the browser, which changes nothing",
    "Registration.post": "a number for the browser, which changes nothing",
    "OidcSignIn.post": "where to sign in; the sign-in itself is recorded when the provider sends the user back",
}


def _views(patterns: list[URLPattern | URLResolver]) -> Iterator[type[View]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _views(pattern.url_patterns)
        elif view := getattr(pattern.callback, "cls", None) or getattr(pattern.callback, "view_class", None):
            yield view


HANDLERS = sorted(
    {
        (f"{view.__name__}.{method}", method, view)
        for view in _views(get_resolver().url_patterns)
        if issubclass(view, View)
        for method in WRITES
        if hasattr(view, method) and method.upper() not in view.reading
    },
    key=lambda found: found[0],
)


def _records(function: FunctionType, owner: type | None = None) -> bool:
    """Whether a function, or one of ours that it names, adds a row. By what it names, so that no request is needed."""
    return _reaches(function, owner, set())


def _reaches(function: FunctionType, owner: type | None, seen: set[object]) -> bool:
    function = inspect.unwrap(function)
    if function is audit.record:
        return True
    if function in seen or not function.__module__.startswith("pipelines."):
        return False
    seen.add(function)
    return any(_reaches(each, found_in, seen) for each, found_in in _named(function, owner))


def _named(function: FunctionType, owner: type | None) -> Iterator[tuple[FunctionType, type | None]]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except OSError:  # made by a dataclass
        return
    scope = inspect.unwrap(function).__globals__
    for node in ast.walk(tree):
        found, found_in = None, None
        if isinstance(node, ast.Name):
            found = scope.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "self" and owner is not None:
                found, found_in = inspect.getattr_static(owner, node.attr, None), owner
            elif isinstance(module := scope.get(node.value.id), ModuleType | type):
                found = getattr(module, node.attr, None)
        found = getattr(found, "fget", None) or getattr(found, "func", None) or found
        if isinstance(found, FunctionType):
            yield found, found_in
        elif isinstance(found, type) and found.__module__.startswith("pipelines.services"):
            yield from ((each, found) for each in vars(found).values() if isinstance(each, FunctionType))


def test_the_sweep_knows_the_handlers_that_write() -> None:
    assert len(HANDLERS) > 50
    assert set(NEEDS_NO_ROW) <= {name for name, _, _ in HANDLERS}


@pytest.mark.parametrize(("name", "method", "view"), HANDLERS, ids=[name for name, _, _ in HANDLERS])
def test_every_handler_that_writes_adds_a_row(name: str, method: str, view: type[View]) -> None:
    assert _records(getattr(view, method), view) is (name not in NEEDS_NO_ROW), NEEDS_NO_ROW.get(name, name)


@pytest.fixture
def rows(db: None) -> Callable[[], list[tuple[str, str, str, str]]]:
    """Who, what, with what outcome, from where, of each row since the last call."""
    seen = [0]

    def found() -> list[tuple[str, str, str, str]]:
        new = list(AuditRow.objects.filter(pk__gt=seen[0]).order_by("pk"))
        seen[0] = new[-1].pk if new else seen[0]
        return [(row.actor, row.action, row.outcome, row.address) for row in new]

    return found


Rows = Callable[[], list[tuple[str, str, str, str]]]
HERE = "127.0.0.1"


def _log_in(client: Client, password: str = PASSWORD) -> dict[str, str]:
    token = client.get(SESSION).json()["csrf_token"]
    body = {"username": "ana", "password": password}
    client.post(SESSION, body, content_type="application/json", headers={"X-CSRFToken": token})
    return {"X-CSRFToken": client.get(SESSION).json()["csrf_token"]}


def test_sessions_leave_rows_from_the_failed_log_in_to_the_log_out(rows: Rows) -> None:
    UserFactory.create(username="ana", role=Role.VIEWER)
    client = Client(enforce_csrf_checks=True, headers={"Accept": "application/json"})
    rows()
    _log_in(client, "wrong")
    assert rows() == [("ana", "session.login", "refused", HERE)]
    headers = _log_in(client)
    assert rows() == [("ana", "session.login", "accepted", HERE)]
    assert client.delete(SESSION, headers=headers).status_code == 204
    assert rows() == [("ana", "session.logout", "accepted", HERE)]
    client.delete(SESSION, headers={"X-CSRFToken": client.get(SESSION).json()["csrf_token"]})
    assert rows() == []


def test_what_is_refused_to_a_user_leaves_a_row(viewer: APIClient, rows: Rows) -> None:
    PipelineFactory.create(name="orders")
    rows()
    assert viewer.post("/api/v1/pipelines/orders/stop").status_code == 403
    assert viewer.get("/api/v1/audit").status_code == 403
    assert rows() == [("viewer", "request.refused", "refused", HERE)] * 2
    stop, audit_list = AuditRow.objects.order_by("pk")
    assert stop.pipeline_name == "orders"
    assert stop.after == {"method": "POST", "route": "/api/v1/pipelines/<name:name>/stop", "code": "forbidden"}
    assert _content(audit_list)["route"] == "/api/v1/audit"


def _content(row: AuditRow) -> dict[str, Any]:
    return dict(row.after or {})


def _with(text: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {text}")
    return client


def test_tokens_leave_rows_when_they_are_made_expired_revoked_and_unknown(admin: APIClient, rows: Rows) -> None:
    user = UserFactory.create(username="ana", role=Role.OPERATOR)
    expired = access.create_token(user=user, name="old", expires=timedelta(seconds=-1))
    revoked = access.create_token(user=user, name="gone", expires=None)
    rows()
    assert admin.delete(f"/api/v1/tokens/{revoked[:15]}").status_code == 204
    assert rows() == [("admin", "token.revoked", "accepted", HERE)]
    for text, who, reason in (
        (expired, "ana", "expired"),
        (revoked, "", "revoked"),
        ("hunter2-hunter2-hunter2", "", "unknown"),
    ):
        assert _with(text).get("/api/v1/pipelines").status_code == 401
        assert rows() == [(who, "token.refused", "refused", HERE)]
        after = _content(AuditRow.objects.latest("pk"))
        assert after["reason"] == reason
        assert after["token"] in (text[:15], "")
        assert "hunter2" not in json.dumps(after)


def test_a_right_token_is_not_recorded_and_neither_is_a_visitor_without_one(rows: Rows) -> None:
    user = UserFactory.create(username="ana", role=Role.OPERATOR)
    text = access.create_token(user=user, name="ci", expires=None)
    rows()
    assert _with(text).get("/api/v1/pipelines").status_code == 200
    assert APIClient().get("/api/v1/pipelines").status_code == 401
    assert rows() == []


def test_a_row_says_by_which_token_and_never_its_text(rows: Rows) -> None:
    user = UserFactory.create(username="ana", role=Role.ADMIN)
    text = access.create_token(user=user, name="ci", expires=None)
    assert _with(text).put("/api/v1/alert-rules/lag", {"enabled": False}, format="json").status_code < 300
    row = AuditRow.objects.latest("pk")
    assert (row.actor, row.token) == ("ana", f"{text[:15]} ci")
    shown = _with(text).get("/api/v1/audit", {"token": text[:15]}).json()["results"]
    assert [each["token"] for each in shown] == [row.token]
    assert text not in json.dumps(shown)


def test_users_of_one_team_read_and_export_its_rows_alone(db: None) -> None:
    own, other = TeamFactory.create(name="web"), TeamFactory.create(name="data")
    for team, name in ((own, "orders"), (other, "clicks")):
        PipelineFactory.create(name=name, team=team)
        audit.record(actor=audit.Actor("ben"), action="pipeline.stop", pipeline_name=name)
    audit.record(actor=audit.Actor("ben"), action="user.created")
    client = APIClient()
    user = UserFactory.create(username="ana")
    RoleBinding.objects.create(user=user, team=own, role=Role.ADMIN, created_at=clock.now(), created_by="a")
    client.force_authenticate(user)
    assert {row["pipeline"] for row in client.get("/api/v1/audit").json()["results"]} == {"orders"}
    found = [*client.get("/api/v1/audit/export")]
    assert b"orders" in b"".join(found)
    assert b"clicks" not in b"".join(found)
    assert b"user.created" not in b"".join(found)


def test_refusals_do_not_fill_the_database(viewer: APIClient, rows: Rows) -> None:
    rows()
    for _ in range(refusals.MOST + 5):
        viewer.get("/api/v1/audit")
        _with("hg_000000000000ffff").get("/api/v1/audit")
    found = rows()
    assert found.count(("viewer", "request.refused", "refused", HERE)) == refusals.MOST
    assert found.count(("", "token.refused", "refused", HERE)) == refusals.MOST
    assert "more" in _content(AuditRow.objects.latest("pk"))


SECRET_FIELD = re.compile(r"password|secret|digest|hash|key|cipher|value|signature|session_data|code", re.IGNORECASE)
PUBLIC = {
    "AccessToken.token_key",
    "AuditRow.digest",
    "AuditHead.key",
    "AuditHead.digest",
    "AuditHead.signature",
    "AuditCheck.digest",
    "AuditCheck.signature",
}
"""What may be shown of a token, and the chain itself."""
MARK = "Xq7-never-shown"


def _secrets() -> Iterator[tuple[str, str]]:
    """Every text in a field of any table whose name says that it is secret."""
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            name = f"{model.__name__}.{field.name}"
            if field.is_relation or name in PUBLIC or not SECRET_FIELD.search(field.name):
                continue
            for value in model._default_manager.values_list(field.attname, flat=True):
                text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
                if len(text) > 11:
                    yield name, text


@pytest.mark.usefixtures("key_file")
def test_no_row_holds_a_secret(admin: APIClient) -> None:
    given: dict[str, Any] = {}

    def send(method: str, path: str, body: object = None) -> Any:
        response = getattr(admin, method)(f"/api/v1/{path}", body, format="json")
        assert response.status_code < 300, response.json()["findings"]
        return response.json() if response.content else {}

    for value in (f"{MARK}-secret", f"{MARK}-replaced"):
        send("put", "secrets/kafka", {"value": value, **BOUND})
    send("put", "secrets/hooks", {"value": NEW, "purpose": "receivers"})
    hook = f"https://u.example.com/{MARK}-path?token={MARK}-query"
    send("post", "receivers", {"kind": "webhook", "url": hook, "events": ["alert.*"], "secrets": ["${secret:hooks}"]})
    send("post", "users", {"username": "ben", "password": f"{MARK}-password", "role": "viewer"})
    given["token"] = send("post", "tokens", {"name": "ci", "days": 3})["text"]
    access.change_password(
        user=AccessToken.objects.get(name="ci").user,
        password=f"{MARK}-changed",
        keep_tokens=True,
        actor=audit.Actor("a"),
    )
    written = json.dumps([[row.before, row.after] for row in AuditRow.objects.all()])
    assert AuditRow.objects.count() >= 6
    assert MARK not in written
    assert NEW not in written
    assert given["token"] not in written
    found = dict(_secrets())
    assert len(found) >= 3, found
    assert [name for name, text in found.items() if json.dumps(text)[1:-1] in written] == []
