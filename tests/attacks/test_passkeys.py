"""Passkeys: what they let in, and what pretends to be one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from pytest_django import Settings

from pipelines.domain.base.roles import Role
from pipelines.models import AuditRow, Passkey, RecoveryCode
from pipelines.services.access import passkeys
from tests.attacks.test_second_factor import CODE, FACTOR, PASSKEYS, PASSWORD, PROOF, SESSION, Page, now_code
from tests.factories import UserFactory
from tests.fakes.authenticator import Authenticator

ORIGIN = "https://headgate.example.com"


@pytest.fixture
def ana(db: None, settings: Settings) -> User:
    settings.HEADGATE = django_settings.HEADGATE.model_copy(update={"public_url": ORIGIN})
    return UserFactory.create(username="ana", role=Role.ADMIN)


@pytest.fixture
def page(ana: User) -> Page:
    found = Page()
    assert found.log_in().json()["authenticated"]
    return found


def add(page: Page, key: Authenticator, name: str = "key") -> Any:
    """Add a passkey; the answer."""
    options = page.send("post", f"{PASSKEYS}/registration").json()["public_key"]
    return page.send("post", PASSKEYS, name=name, credential=key.make(options))


def challenge(page: Page) -> dict[str, Any]:
    """What a passkey has to sign."""
    asked = page.send("post", f"{PASSKEYS}/challenge")
    assert asked.status_code == 200, asked.json()
    options: dict[str, Any] = asked.json()["public_key"]
    return options


@pytest.fixture
def key(page: Page) -> Authenticator:
    """The key of ana."""
    made = Authenticator()
    assert add(page, made).status_code == 201
    return made


def waiting() -> Page:
    """A browser that has given the password."""
    page = Page()
    answer = page.log_in().json()
    assert (answer["waits_for_code"], answer["passkeys"]) == (True, True)
    return page


def test_a_passkey_lets_its_user_in(key: Authenticator, page: Page) -> None:
    other = waiting()
    session = other.send("post", CODE, passkey=key.sign(challenge(other))).json()
    assert (session["authenticated"], session["user"], session["proof"]) == (True, "ana", "password_and_code")
    row = AuditRow.objects.filter(action="session.login").latest("at")
    assert row.after == {"method": "password and passkey"}
    (found,) = page.client.get(FACTOR).json()["passkeys"]
    assert (found["name"], found["used_at"] is not None) == ("key", True)


def test_the_first_passkey_gives_recovery_codes(page: Page) -> None:
    codes = add(page, Authenticator()).json()["codes"]
    assert len(codes) == 10
    assert add(page, Authenticator(), "second").json()["codes"] == []
    other = waiting()
    assert other.send("post", CODE, code=codes[0]).status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"origin": "https://headgate.example.com.evil.example"},
        {"origin": "https://evil.headgate.example.com"},
        {"origin": "http://headgate.example.com"},
        {"rp_id": "evil.example.com"},
        {"flags": 0},
    ],
)
def test_a_signature_for_another_page_is_refused(key: Authenticator, changes: dict[str, Any]) -> None:
    """A page that looks like Headgate hands the challenge on to the user's key."""
    for name, value in changes.items():
        setattr(key, name, value)
    other = waiting()
    assert other.send("post", CODE, passkey=key.sign(challenge(other))).json()["code"] == "bad_code"


def test_a_key_of_another_user_is_refused(key: Authenticator) -> None:
    UserFactory.create(username="ben", role=Role.ADMIN)
    ben, own = Page(), Authenticator()
    ben.log_in("ben")
    assert add(ben, own).status_code == 201
    other = waiting()
    assert other.send("post", CODE, passkey=own.sign(challenge(other))).json()["code"] == "bad_code"


def test_another_key_under_the_same_id_is_refused(key: Authenticator) -> None:
    forged = Authenticator(credential_id=key.credential_id)
    other = waiting()
    assert other.send("post", CODE, passkey=forged.sign(challenge(other))).json()["code"] == "bad_code"


def test_an_answer_is_good_once_and_for_its_own_log_in(key: Authenticator) -> None:
    first, second = waiting(), waiting()
    answer = key.sign(challenge(first))
    challenge(second)
    assert second.send("post", CODE, passkey=answer).json()["code"] == "bad_code"
    assert first.send("post", CODE, passkey=answer).status_code == 200
    third = waiting()
    assert third.send("post", CODE, passkey=answer).json()["code"] == "bad_code"


def test_an_old_challenge_is_refused(key: Authenticator, monkeypatch: pytest.MonkeyPatch) -> None:
    other = waiting()
    answer = key.sign(challenge(other))
    monkeypatch.setattr(passkeys, "SECONDS", -1.0)
    late = waiting()
    assert late.send("post", CODE, passkey=key.sign(challenge(late))).json()["code"] == "bad_code"
    assert other.send("post", CODE, passkey=answer).status_code == 200


def test_a_copy_of_a_key_is_noticed_by_its_counter(key: Authenticator) -> None:
    for _ in range(2):
        other = waiting()
        assert other.send("post", CODE, passkey=key.sign(challenge(other))).status_code == 200
    key.counter = 1
    other = waiting()
    assert other.send("post", CODE, passkey=key.sign(challenge(other))).json()["code"] == "bad_code"


@pytest.mark.parametrize("credential", [{}, {"id": 1}, {"response": []}, {"id": "a", "rawId": "!", "response": {}}])
def test_what_is_no_answer_at_all_is_refused(key: Authenticator, page: Page, credential: dict[str, Any]) -> None:
    other = waiting()
    challenge(other)
    assert other.send("post", CODE, passkey=credential).json()["code"] == "bad_code"
    page.send("post", f"{PASSKEYS}/registration")
    answer = page.send("post", PASSKEYS, name="x", credential=credential)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_passkey")


def test_a_passkey_made_without_a_request_or_for_another_page_is_not_kept(page: Page) -> None:
    options = page.send("post", f"{PASSKEYS}/registration").json()["public_key"]
    evil = Authenticator(origin="https://evil.example.com").make(options)
    assert page.send("post", PASSKEYS, name="x", credential=evil).json()["code"] == "bad_passkey"
    again = Authenticator().make(options)
    assert page.send("post", PASSKEYS, name="x", credential=again).json()["code"] == "bad_passkey"
    assert not Passkey.objects.exists()


def test_a_passkey_belongs_to_one_user(key: Authenticator) -> None:
    UserFactory.create(username="ben", role=Role.ADMIN)
    ben = Page()
    ben.log_in("ben")
    assert add(ben, key).json()["code"] == "passkey_known"


def test_a_challenge_is_for_those_who_have_begun_to_log_in(key: Authenticator) -> None:
    asked = Page().send("post", f"{PASSKEYS}/challenge")
    assert (asked.status_code, asked.json()["code"]) == (401, "no_log_in")


def test_a_passkey_confirms_what_is_dangerous(key: Authenticator, page: Page) -> None:
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=16), tick=False):
        assert page.send("delete", "/api/v1/secrets/none").json()["code"] == "reauthentication_required"
        proof = key.sign(challenge(page))
        assert page.send("post", PROOF, password="wrong", passkey=proof).json()["code"] == "bad_credentials"
        assert page.send("post", PROOF, password=PASSWORD, passkey=key.sign(challenge(page))).status_code == 200
        assert page.send("delete", "/api/v1/secrets/none").json()["code"] == "secret_not_found"


def test_the_last_second_factor_stays_where_one_is_required(key: Authenticator, page: Page, settings: Settings) -> None:
    settings.HEADGATE = django_settings.HEADGATE.model_copy(update={"require_mfa": "all"})
    number = Passkey.objects.get().pk
    secret, codes = page.enrol()
    assert codes == []
    assert page.send("delete", f"{PASSKEYS}/{number}").status_code == 204
    assert page.send("delete", f"{FACTOR}/totp").json()["code"] == "second_factor_required"
    other = Page()
    other.log_in()
    assert other.send("post", CODE, code=now_code(secret, steps=1)).status_code == 200
    settings.HEADGATE = django_settings.HEADGATE.model_copy(update={"require_mfa": "none"})
    assert RecoveryCode.objects.exists()
    assert page.send("delete", f"{FACTOR}/totp").status_code == 204
    assert not RecoveryCode.objects.exists()


def test_a_passkey_of_another_user_is_not_removed(key: Authenticator) -> None:
    UserFactory.create(username="ben", role=Role.ADMIN)
    ben = Page()
    ben.log_in("ben")
    assert ben.send("delete", f"{PASSKEYS}/{Passkey.objects.get().pk}").status_code == 404


@pytest.mark.parametrize(
    ("url", "available"),
    [
        ("", False),
        ("http://headgate.internal", False),
        ("https://10.0.0.1", False),
        ("https://[::1]", False),
        ("http://localhost:8000", True),
        ("https://hg.example.com:8443", True),
    ],
)
def test_passkeys_need_a_name_and_https(ana: User, settings: Settings, url: str, available: bool) -> None:
    page = Page()
    page.log_in()
    settings.HEADGATE = django_settings.HEADGATE.model_copy(update={"public_url": url})
    assert page.client.get(FACTOR).json()["passkeys_available"] is available
    answer = page.send("post", f"{PASSKEYS}/registration")
    assert answer.status_code == (200 if available else 409)
    assert page.client.get(SESSION).json()["authenticated"]
