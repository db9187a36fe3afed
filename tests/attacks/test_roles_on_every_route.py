"""Every user on every route: what docs/security/roles.md promises is what views declare, and what the API does."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from pytest_django import Settings
from rest_framework.permissions import AllowAny
from rest_framework.test import APIClient

from pipelines.api.http.permissions import needed_role
from pipelines.api.http.sessions import OfSession
from pipelines.api.positions import positions
from pipelines.domain.access.scopes import Scope
from pipelines.domain.base.roles import Role
from pipelines.services.access import oidc, tokens
from tests.attacks.world import address, own_rows, world
from tests.factories import UserFactory
from tests.settings import BASE_DIR

PAGE = (BASE_DIR / "docs" / "security" / "roles.md").read_text()
PATHS: dict[str, Any] = json.loads((BASE_DIR / "frontend" / "openapi.json").read_text())["paths"]
ROUTES = [(method.upper(), path) for path, item in PATHS.items() for method in item]
HEADS = [("HEAD", path) for method, path in ROUTES if method == "GET"]
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE")
PASSWORD = "correct horse battery"
READING = {
    "/api/v1/pipelines/validate",
    "/api/v1/pipelines/{name}/diff",
    "/api/v1/imports/flume",
    "/api/v1/imports/connect",
}
"""What a token for reading may POST."""
OUTSIDE = {
    "healthz": "open",
    "readyz": "open",
    "metrics": "viewer",
    "api/docs": "viewer",
    "api/v1/schema": "viewer",
    "api/v1/session/oidc/callback": "open",
    r"^docs(?:/(?P<path>.*))?$": "open",
    r"^(?:api|static|assets)(?:/.*)?$": "open",
    r"^.*$": "open",
}
"""Patterns of URLs that are no route of the API's description, and who may GET them."""
PLACES = {r"^docs(?:/(?P<path>.*))?$": "docs/", r"^(?:api|static|assets)(?:/.*)?$": "static/x", r"^.*$": "pipelines"}

ROW = re.compile(r"^\| ((?:GET|POST|PUT|PATCH|DELETE)[A-Z, ]*) \| `(/[^`]*)` \| (\w+) \|$", re.MULTILINE)
ROWS = [(methods.split(", "), pattern, who) for methods, pattern, who in ROW.findall(PAGE)]


def promised(method: str, path: str) -> str:
    """Who may send it, as the page of roles says: the first row that fits."""
    wanted = "GET" if method == "HEAD" else method
    plain = path.removeprefix("/api/v1")
    return next((who for methods, pattern, who in ROWS if wanted in methods and fnmatchcase(plain, pattern)), "nobody")


def declared(method: str, path: str) -> str:
    """Who may send it, as its view says."""
    view = resolve(re.sub(r"\{[a-z_]*_id\}|\{number\}", "1", _with_ids(path))).func.cls  # type: ignore[attr-defined]
    if AllowAny in view.permission_classes:
        return "open"
    return "session" if OfSession in view.permission_classes else needed_role(view, method).word


def _with_ids(path: str) -> str:
    """The path with values of the right kinds, whether or not there are rows."""
    uuid = "00000000-0000-0000-0000-000000000000"
    kinds = (
        "operation",
        "pipeline",
        "inspection",
        "migration",
        "evacuation",
        "request",
        "preview",
        "trace",
        "peek",
        "test_run",
    )
    for name in kinds:
        path = path.replace(f"{{{name}_id}}", uuid)
    return re.sub(r"\{(?:name|rule|username|token_key|team)\}", "a", path)


@dataclass(frozen=True)
class Identity:
    """Who asks. `by`: token, session, or nothing; `role`: that of the user, which `scope` may lower."""

    by: str = "nothing"
    role: Role | None = None
    scope: Scope = field(default_factory=Scope)

    def __str__(self) -> str:
        cap = f"-capped-{self.scope.role_cap.word}" if self.scope.role_cap else ""
        return f"{self.by}-{self.role.word if self.role else 'none'}{cap}{'-read-only' if self.scope.read_only else ''}"

    def client(self) -> tuple[Any, dict[str, dict[str, str]]]:
        """A client of a new user, and the rows of that user."""
        if self.by == "nothing":
            return APIClient(), {"tokens": {"token_key": "hg_0123456789ab"}, "session": {"passkey_id": "1"}}
        if self.by == "forgery":
            return APIClient(headers={"Authorization": "Token hg_" + "0" * 61}), own_rows(UserFactory.create())
        user = UserFactory.create(username="eve", role=self.role)
        if self.by == "token":
            text = tokens.create(user=user, name="t", expires=None, scope=self.scope).text
            return APIClient(headers={"Authorization": f"Token {text}"}), own_rows(user)
        browser = Client()
        body = {"username": "eve", "password": PASSWORD}
        assert browser.post("/api/v1/session", body, content_type="application/json").status_code == 200
        return browser, own_rows(user)

    def refused(self, method: str, path: str) -> int | None:
        """The status by which this route refuses the identity; None where it is open."""
        who = promised(method, path)
        if who == "open":
            return None
        if self.by in ("nothing", "forgery"):
            return 401
        if who == "session":
            return None if self.by == "session" else 403
        if self.scope.read_only and method not in ("GET", "HEAD") and path not in READING:
            return 403
        role = self.scope.capped(self.role)
        return None if role and role >= Role.named(who) else 403


IDENTITIES = [
    Identity(),
    Identity("forgery"),
    *(Identity(by, role) for by in ("token", "session") for role in (None, *Role)),
    *(Identity("token", Role.ADMIN, Scope(role)) for role in Role if role < Role.ADMIN),
    *(Identity("token", role, Scope(read_only=True)) for role in (Role.VIEWER, Role.ADMIN)),
    Identity("token", None, Scope(Role.ADMIN)),
    Identity("token", Role.VIEWER, Scope(Role.ADMIN)),
]


@pytest.fixture(autouse=True)
def _nothing_else_answers(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.HEADGATE = settings.HEADGATE.model_copy(update={"demo_pipeline": "orders"})
    monkeypatch.setattr(positions, "supervised", lambda _host: False)
    monkeypatch.setattr(oidc, "begin", lambda **_: "https://provider.invalid/")


def closed(path: str) -> set[int]:
    """By what an open route does not answer. Those of the log-in say so that a password or a code is wrong."""
    refusals = set() if path.startswith("/api/v1/session") else {401, 403}
    return refusals | {404, 405, 500}


def send(client: Any, method: str, place: str) -> Any:
    """The answer; database and cookies stay as they were."""
    cookies = copy.deepcopy(client.cookies)
    with transaction.atomic():
        body = {} if method in ("GET", "HEAD") else {"data": "{}", "content_type": "application/json"}
        answer = getattr(client, method.lower())(place, **body)
        transaction.set_rollback(True)
    client.cookies = cookies
    return answer


@pytest.mark.django_db
@pytest.mark.parametrize("identity", IDENTITIES, ids=str)
def test_every_route_answers_each_user_as_the_page_of_roles_says(identity: Identity, record_property: Any) -> None:
    rows = world()
    client, own = identity.client()
    wrong, tried = [], 0
    for method, path in ROUTES + HEADS:
        answer, refused = send(client, method, address(path, rows | own)), identity.refused(method, path)
        tried += 1
        if refused == 401:
            assert answer.headers["WWW-Authenticate"] == "Token"
        if answer.status_code != refused and (refused or answer.status_code in closed(path)):
            wrong.append((method, path, answer.status_code, f"wanted {refused or 'an answer'}"))
    record_property("requests", tried)
    assert not wrong


@pytest.mark.django_db
def test_methods_that_are_not_described_do_nothing(record_property: Any) -> None:
    rows = world()
    tried = 0
    for identity in (Identity(), Identity("token", Role.VIEWER), Identity("token", Role.ADMIN)):
        with transaction.atomic():
            client, own = identity.client()
            for path, item in PATHS.items():
                for method in METHODS:
                    if method.lower() not in item:
                        answer = send(client, method, address(path, rows | own))
                        assert answer.status_code in (401, 403, 405), (method, path, answer.status_code)
                        tried += 1
            transaction.set_rollback(True)
    record_property("requests", tried)


@pytest.mark.django_db
@pytest.mark.parametrize("identity", [Identity(), Identity("token")], ids=str)
def test_options_tell_nothing_to_strangers(identity: Identity) -> None:
    rows = world()
    client, own = identity.client()
    for path, item in PATHS.items():
        if "open" not in {promised(method.upper(), path) for method in item}:
            answer = send(client, "OPTIONS", address(path, rows | own))
            assert answer.status_code == (401 if identity.by == "nothing" else 403), path


@pytest.mark.parametrize(("method", "path"), ROUTES + HEADS)
def test_every_view_declares_what_the_page_of_roles_says(method: str, path: str) -> None:
    assert declared(method, path) == promised(method, path)


def test_the_page_of_roles_has_no_row_without_a_route() -> None:
    for methods, pattern, _ in ROWS:
        for method in methods:
            fitting = [path for known, path in ROUTES if known == method and fnmatchcase(path[7:], pattern)]
            assert fitting, (method, pattern)


def patterns(found: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    """Every pattern that a URL can lead to."""
    for each in found:
        if isinstance(each, URLResolver):
            yield from patterns(each.url_patterns, prefix + str(each.pattern))
        else:
            yield prefix + str(each.pattern)


def test_every_pattern_of_urls_is_described_or_known() -> None:
    described = {path.lstrip("/") for path in PATHS}
    found = {re.sub(r"<\w+:(\w+)>", r"{\1}", each) for each in patterns(get_resolver().url_patterns)}
    assert found == described | set(OUTSIDE)


@pytest.mark.django_db
@pytest.mark.parametrize("identity", [each for each in IDENTITIES if each.by != "session"], ids=str)
def test_routes_outside_the_description_are_closed_too(identity: Identity) -> None:
    client, _ = identity.client()
    role = identity.scope.capped(identity.role)
    for pattern, who in OUTSIDE.items():
        status = client.get("/" + PLACES.get(pattern, pattern)).status_code
        if who == "open" or role:
            assert status not in (401, 403), (pattern, status)
        else:
            assert status == (403 if identity.by == "token" else 401), (pattern, status)
