"""Who gets in, and what answers look like to those who do not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.models import AccessToken, LoginCount
from pipelines.services.access import access, attempts
from tests.factories import RunFactory, UserFactory, definition_data

pytestmark = pytest.mark.django_db
SESSION = "/api/v1/session"
PASSWORD = "correct horse battery"


def browser() -> Client:
    return Client(enforce_csrf_checks=True, headers={"Accept": "application/json"})


def log_in(client: Client, username: str, password: str = PASSWORD) -> int:
    token = client.get(SESSION).json()["csrf_token"]
    body = {"username": username, "password": password}
    response = client.post(SESSION, body, content_type="application/json", headers={"X-CSRFToken": token})
    return response.status_code


def test_a_session_begins_and_ends(db: None) -> None:
    UserFactory.create(username="ana", role=Role.OPERATOR)
    client = browser()
    before = client.get(SESSION).json()
    assert (before["authenticated"], before["user"], before["role"]) == (False, None, None)

    assert log_in(client, "ana") == 200
    during = client.get(SESSION).json()
    assert (during["authenticated"], during["user"], during["role"]) == (True, "ana", "operator")
    assert client.get("/api/v1/pipelines").status_code == 200

    headers = {"X-CSRFToken": during["csrf_token"]}
    assert client.delete(SESSION, headers=headers).status_code == 204
    assert client.get("/api/v1/pipelines").status_code == 401


def test_a_write_by_session_needs_the_csrf_token(db: None) -> None:
    UserFactory.create(username="ana", role=Role.OPERATOR)
    client = browser()
    wanted = {"definition": definition_data()}
    without = client.post(SESSION, {"username": "ana", "password": PASSWORD}, content_type="application/json")
    assert (without.status_code, without.json()["code"]) == (403, "csrf_failed")

    log_in(client, "ana")
    assert client.post("/api/v1/pipelines/validate", wanted, content_type="application/json").status_code == 403
    headers = {"X-CSRFToken": client.get(SESSION).json()["csrf_token"]}
    response = client.post("/api/v1/pipelines/validate", wanted, content_type="application/json", headers=headers)
    assert response.status_code == 200


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(db: None) -> None:
    UserFactory.create(username="ana", role=Role.VIEWER)
    client = browser()
    log_in(client, "ana")
    cookie = client.cookies["sessionid"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")


def test_guessing_passwords_is_stopped_per_user_and_does_not_lock_out_others(db: None) -> None:
    UserFactory.create(username="ana", role=Role.VIEWER)
    UserFactory.create(username="ben", role=Role.VIEWER)
    client = browser()

    codes = [log_in(client, "ana", "wrong") for _ in range(attempts.PER_USER_AND_NETWORK + 1)]

    assert codes == [401] * attempts.PER_USER_AND_NETWORK + [429]
    assert log_in(client, "ana") == 429
    assert log_in(client, "ben") == 200
    LoginCount.objects.update(since=timezone.now() - attempts.WINDOW - timedelta(seconds=1))
    assert log_in(browser(), "ana") == 200


def test_guessing_users_is_stopped_per_address(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "PER_NETWORK", 3)
    client = browser()
    assert [log_in(client, f"user{each}") for each in range(4)] == [401, 401, 401, 429]


def test_an_unknown_user_and_a_wrong_password_look_the_same(db: None) -> None:
    UserFactory.create(username="ana", role=Role.VIEWER)
    client = browser()
    token = client.get(SESSION).json()["csrf_token"]

    def refusal(username: str) -> dict[str, object]:
        body = {"username": username, "password": "wrong"}
        response = client.post(SESSION, body, content_type="application/json", headers={"X-CSRFToken": token})
        return {name: value for name, value in response.json().items() if name != "request_id"}

    assert refusal("ana") == refusal("nobody")


def test_a_token_opens_the_api_until_it_expires_or_is_revoked(db: None) -> None:
    user = UserFactory.create(role=Role.VIEWER)
    client = APIClient()

    def status(text: str) -> int:
        return client.get("/api/v1/pipelines", headers={"Authorization": f"Token {text}"}).status_code

    text = access.create_token(user=user, name="ci", expires=None)
    assert text not in str(AccessToken.objects.values())
    assert status(text) == 200
    assert status(text[:-1] + "x") == 401
    AccessToken.objects.update(expiry=timezone.now() - timedelta(seconds=1))
    assert status(text) == 401
    other = access.create_token(user=user, name="ci", expires=timedelta(days=1))
    assert status(other) == 200
    User.objects.update(is_active=False)
    assert status(other) == 401


def test_the_token_command_makes_a_user_of_the_role_and_prints_the_token_once(
    db: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CommandError, match="no user 'ci'"):
        call_command("create_token", "ci")

    call_command("create_token", "ci", "--role", "operator", "--name", "pipeline", "--expires-days", "3")

    text = capsys.readouterr().out.strip()
    response = APIClient().get(SESSION, headers={"Authorization": f"Token {text}"})
    assert (response.json()["user"], response.json()["role"]) == ("ci", "operator")
    assert AccessToken.objects.get().name == "pipeline"


def test_the_user_command_changes_password_and_role(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_PASSWORD", "short")
    with pytest.raises(CommandError, match="too short"):
        call_command("create_user", "ana")

    monkeypatch.setenv("HEADGATE_PASSWORD", PASSWORD)
    call_command("create_user", "ana", "--role", "operator")
    call_command("create_user", "ana", "--role", "viewer")
    client = browser()
    assert log_in(client, "ana") == 200
    assert client.get(SESSION).json()["role"] == "viewer"


def test_every_answer_confines_the_page(anonymous: APIClient) -> None:
    for path in ("/api/v1/session", "/healthz", "/nowhere", "/api/nowhere"):
        headers = anonymous.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["X-Request-ID"]
        assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize(
    ("method", "path", "content", "status", "code"),
    [
        ("get", "/api/v1/nothing", None, 404, "not_found"),
        ("get", "/api/v1/pipelines/UPPER", None, 404, "not_found"),
        ("put", "/api/v1/pipelines", None, 405, "method_not_allowed"),
        ("post", "/api/v1/pipelines", ("text/plain", "x"), 415, "unsupported_media_type"),
        ("post", "/api/v1/pipelines", ("application/json", "{"), 400, "bad_request"),
        ("post", "/api/v1/pipelines", ("application/json", "[" * 100_000), 400, "bad_request"),
        ("post", "/api/v1/pipelines", ("application/json", "[]"), 422, "body_invalid"),
        ("post", "/api/v1/pipelines", ("application/json", ""), 422, "body_invalid"),
        ("post", "/api/v1/pipelines", ("application/yaml", b"\xff"), 400, "bad_request"),
        ("get", "/api/v1/pipelines?q=%00", None, 400, "query_invalid"),
        ("get", "/api/v1/operations?limit=many", None, 400, "query_invalid"),
        ("get", "/api/v1/runs/999", None, 404, "run_not_found"),
    ],
)
def test_every_failure_is_a_problem(
    admin: APIClient, method: str, path: str, content: tuple[str, str | bytes] | None, status: int, code: str
) -> None:
    more = {"content_type": content[0], "data": content[1]} if content else {}
    response = getattr(admin, method)(path, **more)

    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert problem["type"] == f"urn:headgate:problem:{code}"
    assert problem["status"] == status
    assert problem["request_id"] == response.headers["X-Request-ID"]
    assert {"title", "detail", "hint", "findings"} <= set(problem)


def test_a_body_that_is_too_large_is_refused_unread(operator: APIClient, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    response = operator.post("/api/v1/pipelines", {"definition": "x" * 200}, format="json")
    assert (response.status_code, response.json()["code"]) == (413, "too_large")


def test_an_unexpected_error_tells_its_request_id_and_no_internals(
    viewer: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr("pipelines.api.hosts.hosts.capacity.hosts", fail)
    viewer.raise_request_exception = False
    response = viewer.get("/api/v1/hosts")

    assert (response.status_code, response.json()["code"]) == (500, "internal_error")
    assert response.json()["request_id"]
    assert "swordfish" not in response.content.decode()
    assert "Traceback" not in response.content.decode()


def test_secrets_do_not_reach_the_log(caplog: pytest.LogCaptureFixture) -> None:
    import structlog

    structlog.get_logger("test").warning("something", password="swordfish", api_token="abc123", user="ana")
    assert "swordfish" not in caplog.text
    assert "abc123" not in caplog.text
    assert "ana" in caplog.text


def test_the_log_of_a_run_is_never_read_outside_the_run_directories(viewer: APIClient) -> None:
    run = RunFactory.create(run_dir="/etc")
    assert viewer.get(f"/api/v1/runs/{run.pk}/log").json()["code"] == "log_not_found"
