"""A password that was stolen, a session that was left open, and what the second factor makes of them."""

from __future__ import annotations

import base64
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from pytest_django import Settings
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.foundation.sign_in import totp
from pipelines.models import AuditRow, LoginCount, RecoveryCode, Secret, Totp
from pipelines.services.access import access, attempts, second_factor
from tests.factories import PipelineFactory, UserFactory

SESSION = "/api/v1/session"
CODE = f"{SESSION}/code"
PROOF = f"{SESSION}/proof"
FACTOR = f"{SESSION}/second-factor"
PASSKEYS = f"{SESSION}/passkeys"
PASSWORD = "correct horse battery"
START = datetime(2026, 3, 2, 8, tzinfo=UTC)


class Page:
    """The page of one browser; every write sends the CSRF token."""

    def __init__(self) -> None:
        self.client = Client(enforce_csrf_checks=True)

    def send(self, method: str, path: str, **body: Any) -> Any:
        """One request with a body."""
        token = self.client.get(SESSION).json()["csrf_token"]
        sent = getattr(self.client, method)
        return sent(path, body, content_type="application/json", headers={"X-CSRFToken": token})

    def log_in(self, username: str = "ana", password: str = PASSWORD) -> Any:
        """The first step."""
        return self.send("post", SESSION, username=username, password=password)

    def enrol(self) -> tuple[bytes, list[str]]:
        """Set an authenticator application up; its secret, and the recovery codes."""
        begun = self.send("post", f"{FACTOR}/totp")
        assert begun.status_code == 200, begun.json()
        secret = Totp.objects.get(user__username=self.client.get(SESSION).json()["user"]).ciphertext
        plain = secret_of(begun.json()["secret"])
        assert begun.json()["secret"] not in secret
        confirmed = self.send("put", f"{FACTOR}/totp", code=now_code(plain))
        assert confirmed.status_code == 200, confirmed.json()
        return plain, confirmed.json()["codes"]


def secret_of(text: str) -> bytes:
    return base64.b32decode(text + "=" * (-len(text) % 8))


def now_code(secret: bytes, *, steps: int = 0) -> str:
    return totp.code_of(secret, int(datetime.now(UTC).timestamp() // totp.SECONDS) + steps)


def require(settings: Settings, **changes: Any) -> None:
    settings.HEADGATE = django_settings.HEADGATE.model_copy(update=changes)


@pytest.fixture
def ana(db: None) -> User:
    return UserFactory.create(username="ana", role=Role.ADMIN)


@pytest.fixture
def page(ana: User) -> Page:
    """The page of ana, who has logged in."""
    found = Page()
    assert found.log_in().json()["proof"] == "password"
    return found


def test_the_codes_are_those_of_the_standard() -> None:
    secret = b"12345678901234567890"
    seconds = {59: "287082", 1111111109: "081804", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"}
    assert {at: totp.code_of(secret, at // 30) for at in seconds} == seconds
    assert totp.step_of(secret, "287082", 59 + 30) == 1
    assert totp.step_of(secret, "287082", 59 + 60) is None
    assert totp.step_of(secret, "28708²", 59) is None


def test_a_password_alone_is_not_enough(page: Page) -> None:
    secret, codes = page.enrol()
    thief = Page()
    answer = thief.log_in().json()
    assert (answer["authenticated"], answer["waits_for_code"], answer["role"]) == (False, True, None)
    assert thief.client.get("/api/v1/pipelines").status_code == 401
    assert thief.send("post", CODE, code="000000").status_code == 401
    owner = Page()
    owner.log_in()
    with time_machine.travel(datetime.now(UTC) + timedelta(seconds=60), tick=False):
        answered = owner.send("post", CODE, code=now_code(secret)).json()
    assert (answered["authenticated"], answered["proof"]) == (True, "password_and_code"), answered
    actions = list(AuditRow.objects.filter(action="session.login").values_list("outcome", "after"))
    assert ("accepted", {"method": "password and totp"}) in actions
    assert ("refused", {"reason": "bad_code"}) in actions
    assert len(codes) == second_factor.CODES


def test_a_code_is_good_once(page: Page) -> None:
    with time_machine.travel(START, tick=False):
        page = Page()
        page.log_in()
        secret, _ = page.enrol()
        seen = now_code(secret)
        thief = Page()
        thief.log_in()
        assert thief.send("post", CODE, code=seen).json()["code"] == "bad_code"
        assert thief.send("post", CODE, code=now_code(secret, steps=-1)).json()["code"] == "bad_code"
        assert thief.send("post", CODE, code=now_code(secret, steps=1)).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_a_code_is_good_once_for_requests_at_the_same_time() -> None:
    user = UserFactory.create(username="ana", role=Role.ADMIN)
    secret = second_factor.begin(user=user)
    Totp.objects.update(confirmed_at=START)
    code = now_code(secret)

    def use(_: int) -> str | None:
        try:
            return second_factor.use(user=user, code=code)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sorted(filter(None, pool.map(use, range(8)))) == ["totp"]


def test_codes_are_guessed_no_more_often_than_passwords(page: Page) -> None:
    page.enrol()
    thief = Page()
    answers = []
    for _ in range(10):
        thief.log_in()
        answers.append(thief.send("post", CODE, code="000000").status_code)
    assert answers.count(401) < attempts.PER_USER_AND_NETWORK
    assert set(answers) == {401, 429}


def test_a_log_in_with_a_code_is_not_counted(page: Page) -> None:
    secret, _ = page.enrol()
    for minute in range(1, 12):
        with time_machine.travel(datetime.now(UTC) + timedelta(minutes=minute), tick=False):
            other = Page()
            assert other.log_in().status_code == 200
            assert other.send("post", CODE, code=now_code(secret)).status_code == 200
    assert not LoginCount.objects.filter(attempts__gt=0).exists()


def test_a_code_belongs_to_the_log_in_that_waits_for_it(page: Page) -> None:
    secret, _ = page.enrol()
    stranger = Page()
    assert stranger.send("post", CODE, code=now_code(secret, steps=1)).json()["code"] in {
        "no_log_in",
        "not_authenticated",
    }
    with time_machine.travel(START, tick=False):
        slow = Page()
        slow.log_in()
    with time_machine.travel(START + timedelta(minutes=6), tick=False):
        assert slow.send("post", CODE, code=now_code(secret)).json()["code"] == "no_log_in"


def test_a_changed_password_and_a_disabled_user_end_what_waits(page: Page, ana: User) -> None:
    secret, _ = page.enrol()
    for change in ("password", "disabled"):
        waiting = Page()
        waiting.log_in()
        if change == "password":
            ana.set_password("another horse battery")
            ana.save()
        else:
            User.objects.update(is_active=False)
        assert waiting.send("post", CODE, code=now_code(secret, steps=1)).json()["code"] == "no_log_in"
        ana.set_password(PASSWORD)
        ana.save()


def test_a_recovery_code_stands_in_once(page: Page) -> None:
    _, codes = page.enrol()
    assert not RecoveryCode.objects.filter(digest__in=codes).exists()
    for expected in (200, 401):
        other = Page()
        other.log_in()
        assert other.send("post", CODE, code=codes[0].upper()).status_code == expected
    assert page.client.get(FACTOR).json()["recovery_codes"] == second_factor.CODES - 1
    renewed = page.send("post", f"{FACTOR}/recovery-codes").json()["codes"]
    assert set(renewed).isdisjoint(codes)
    other = Page()
    other.log_in()
    assert other.send("post", CODE, code=codes[1]).status_code == 401


def test_the_secret_of_the_application_is_not_in_the_database(page: Page, ana: User) -> None:
    secret, _ = page.enrol()
    row = Totp.objects.get(user=ana)
    for text in (totp.text_of(secret), secret.hex(), secret.decode("latin1")):
        assert text not in row.ciphertext


def test_a_secret_under_another_key_lets_nobody_in(page: Page, settings: Settings) -> None:
    secret, _ = page.enrol()
    settings.SECRET_KEY = "another key of the installation"
    other = Page()
    other.log_in()
    answer = other.send("post", CODE, code=now_code(secret, steps=1))
    assert (answer.status_code, answer.json()["code"]) == (409, "second_factor_unreadable")


def test_a_second_application_does_not_replace_the_first(page: Page) -> None:
    page.enrol()
    assert page.send("post", f"{FACTOR}/totp").json()["code"] == "second_factor_exists"
    assert page.send("put", f"{FACTOR}/totp", code="000000").json()["code"] == "no_enrolment"


def test_an_application_that_was_not_confirmed_is_not_asked_for(page: Page) -> None:
    assert page.send("post", f"{FACTOR}/totp").status_code == 200
    assert page.send("put", f"{FACTOR}/totp", code="000000").json()["code"] == "bad_code"
    assert Page().log_in().json()["authenticated"]


def test_a_stolen_token_changes_no_log_in(page: Page, ana: User) -> None:
    page.enrol()
    client = APIClient(headers={"Authorization": f"Token {access.create_token(user=ana, name='x', expires=None)}"})
    for method, path in (
        ("get", FACTOR),
        ("delete", f"{FACTOR}/totp"),
        ("post", f"{FACTOR}/totp"),
        ("put", f"{FACTOR}/totp"),
        ("post", f"{FACTOR}/recovery-codes"),
        ("post", PROOF),
        ("post", PASSKEYS),
        ("post", f"{PASSKEYS}/registration"),
        ("delete", f"{PASSKEYS}/1"),
    ):
        answer = getattr(client, method)(path)
        assert (answer.status_code, answer.json()["code"]) == (403, "session_required"), path
    assert client.get("/api/v1/pipelines").status_code == 200


@pytest.mark.parametrize(
    ("wanted", "role", "asked"),
    [
        ("none", Role.ADMIN, False),
        ("admins", Role.ADMIN, True),
        ("admins", Role.OPERATOR, False),
        ("all", Role.VIEWER, True),
    ],
)
def test_who_needs_a_second_factor_does_nothing_before_it(
    db: None, settings: Settings, wanted: str, role: Role, asked: bool
) -> None:
    require(settings, require_mfa=wanted)
    UserFactory.create(username="ben", role=role)
    page = Page()
    assert page.log_in("ben").json()["enrolment_required"] is asked
    answer = page.client.get("/api/v1/pipelines")
    assert answer.status_code == (403 if asked else 200)
    if asked:
        assert answer.json()["code"] == "enrolment_required"
        page.enrol()
        assert page.client.get("/api/v1/pipelines").status_code == 200
        assert page.client.get(SESSION).json()["enrolment_required"] is False
        assert page.send("delete", f"{FACTOR}/totp").json()["code"] == "second_factor_required"


def test_an_administrator_resets_what_was_lost(page: Page) -> None:
    page.enrol()
    call_command("reset_second_factor", "ana")
    assert Page().log_in().json()["authenticated"]
    assert not RecoveryCode.objects.exists()
    for name in ("ana", "nobody"):
        with pytest.raises(CommandError):
            call_command("reset_second_factor", name)


def patterns(found: list[URLPattern | URLResolver]) -> list[URLPattern]:
    each = [patterns(entry.url_patterns) if isinstance(entry, URLResolver) else [entry] for entry in found]
    return [pattern for group in each for pattern in group]


SAMPLES = {
    "uuid": "3f1b0c52-8a84-4f7e-9a43-0d4d0b8f0001",
    "secret": "db",
    "name": "orders",
    "number": "1",
    "str": "ben",
    "slug": "ben",
}
"""A value for each kind of parameter of an address."""
DANGEROUS = {
    (str(pattern.pattern), method)
    for pattern in patterns(get_resolver().url_patterns)
    for method in getattr(getattr(pattern.callback, "cls", None), "reauthenticate", ())
}


def test_what_is_dangerous_is_listed() -> None:
    assert {
        ("secrets/<secret:name>", "PUT"),
        ("secrets/<secret:name>", "DELETE"),
        ("secrets/rotate", "POST"),
        ("pipelines/<name:name>", "DELETE"),
        ("pipelines/<name:name>/declare-lost", "POST"),
        ("archived-pipelines/<uuid:pipeline_id>", "DELETE"),
        ("hosts/<name:name>", "DELETE"),
        ("approval-policies/<number:policy_id>", "DELETE"),
        ("freezes/<number:freeze_id>", "DELETE"),
        ("session/second-factor/totp", "DELETE"),
        ("session/passkeys", "POST"),
        ("session/passkeys/registration", "POST"),
        ("session/passkeys/<number:passkey_id>", "DELETE"),
        ("session/second-factor/totp", "POST"),
        ("session/second-factor/totp", "PUT"),
        ("session/second-factor/recovery-codes", "POST"),
    } <= DANGEROUS


@pytest.mark.parametrize(("route", "method"), sorted(DANGEROUS))
def test_a_session_that_was_left_open_does_nothing_dangerous(page: Page, route: str, method: str) -> None:
    path = "/api/v1/" + re.sub("<(.+?):.+?>", lambda parameter: SAMPLES[parameter[1]], route)
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=16), tick=False):
        answer = page.send(method.lower(), path)
        assert (answer.status_code, answer.json()["code"]) == (403, "reauthentication_required")
        assert page.send("post", PROOF, password=PASSWORD).status_code == 200
        answer = page.send(method.lower(), path)
        assert answer.status_code == 204 or answer.json().get("code") != "reauthentication_required"


def test_a_token_needs_no_proof(page: Page, ana: User) -> None:
    PipelineFactory.create(name="orders")
    client = APIClient(headers={"Authorization": f"Token {access.create_token(user=ana, name='x', expires=None)}"})
    assert client.delete("/api/v1/secrets/none").status_code == 404


def test_what_may_be_done_by_anybody_at_the_machine_needs_no_proof(page: Page) -> None:
    with time_machine.travel(datetime.now(UTC) + timedelta(hours=1), tick=False):
        assert page.client.get("/api/v1/pipelines").status_code == 200
        assert page.send("post", "/api/v1/pipelines/validate", definition="x").status_code == 200


def test_proof_needs_the_password_and_the_code_and_is_counted(page: Page) -> None:
    secret, _ = page.enrol()
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=16), tick=False):
        assert page.client.get(SESSION).json()["proof"] == "password_and_code"
        assert page.send("post", PROOF, password=PASSWORD).json()["code"] == "bad_code"
        assert page.send("post", PROOF, password="wrong", code=now_code(secret)).json()["code"] == "bad_credentials"
        assert page.send("delete", f"{FACTOR}/totp").json()["code"] == "reauthentication_required"
        before = page.client.cookies["sessionid"].value
        assert page.send("post", PROOF, password=PASSWORD, code=now_code(secret)).status_code == 200
        assert page.client.cookies["sessionid"].value != before
        assert page.send("delete", f"{FACTOR}/totp").status_code == 204
    assert AuditRow.objects.filter(action="session.reauthenticated", outcome="accepted").count() == 1
    assert AuditRow.objects.filter(action="session.reauthenticated", outcome="refused").count() == 2


def test_proof_is_not_given_by_another_user(page: Page) -> None:
    UserFactory.create(username="ben", password="another horse battery")
    answer = page.send("post", PROOF, password="another horse battery")
    assert answer.status_code == 401
    assert page.send("post", PROOF, password=PASSWORD, username="ben").status_code == 422


def test_a_dangerous_act_is_refused_before_anything_is_done(page: Page) -> None:
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=16), tick=False):
        assert page.send("put", "/api/v1/secrets/db", value="x").json()["code"] == "reauthentication_required"
    assert not Secret.objects.exists()
