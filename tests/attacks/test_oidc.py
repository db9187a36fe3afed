"""Signing in at a provider, as users do it and as attackers would."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import time_machine
from django.conf import settings as django_settings
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.test import Client
from joserfc.jwk import RSAKey
from pytest_django import Settings
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.foundation.sign_in import oidc as protocol
from pipelines.models import AuditRow, Identity
from pipelines.services.access import attempts, teams
from tests.factories import PipelineFactory, TeamFactory, UserFactory
from tests.fakes.oidc import CLIENT_ID, CLIENT_SECRET, FakeProvider, provider

pytestmark = pytest.mark.django_db
SESSION = "/api/v1/session"
START = "/api/v1/session/oidc"
CALLBACK = "/api/v1/session/oidc/callback"
PROFILE: dict[str, Any] = {"preferred_username": "ana", "groups": ["payments", "orders"]}


@dataclass
class Browser:
    """A browser with cookies of its own, before Headgate and the provider."""

    client: Client

    def session(self) -> dict[str, Any]:
        """What the page knows of its session."""
        found: dict[str, Any] = self.client.get(SESSION).json()
        return found

    def begin(self, then: str = "/", *, again: bool = False) -> str:
        """Press the button; returns the address at the provider."""
        headers = {"X-CSRFToken": self.session()["csrf_token"]}
        response = self.client.post(
            START, {"next": then, "again": again}, content_type="application/json", headers=headers
        )
        assert response.status_code == 200, response.json()
        url: str = response.json()["url"]
        return url

    def consent(self, address: str, subject: str = "s-1") -> str:
        """Sign in at the provider; returns the address it sends the browser back to."""
        response = httpx2.post(address, data={"sub": subject}, timeout=20)
        assert response.status_code == 302, response.text
        return response.headers["Location"]

    def come_back(self, location: str) -> str:
        """Follow the provider back; returns where Headgate sends the browser."""
        parts = urlsplit(location)
        response = self.client.get(f"{parts.path}?{parts.query}")
        assert response.status_code == 302
        return response.headers["Location"]

    def sign_in(self, subject: str = "s-1", then: str = "/") -> dict[str, Any]:
        """The whole way; returns the session that it leads to."""
        self.come_back(self.consent(self.begin(then), subject))
        return self.session()


@pytest.fixture
def idp() -> Iterator[FakeProvider]:
    """A provider that knows ana, as s-1, and an impostor with her name, as s-2."""
    with provider(**{"s-1": PROFILE, "s-2": PROFILE, "s-3": {"preferred_username": "ben"}}) as running:
        yield running


@pytest.fixture
def configured(idp: FakeProvider, settings: Settings) -> Callable[..., None]:
    """Changes settings of the environment."""

    def change(**changes: Any) -> None:
        settings.HEADGATE = django_settings.HEADGATE.model_copy(update=changes)

    change(**idp.settings())
    protocol._known.clear()
    return change


@pytest.fixture
def browser(configured: Callable[..., None]) -> Browser:
    return Browser(Client(enforce_csrf_checks=True))


def another() -> Browser:
    return Browser(Client(enforce_csrf_checks=True))


def test_a_user_signs_in_with_the_groups_of_the_provider(browser: Browser) -> None:
    assert browser.session()["provider"] == {"button": "Sign in with single sign-on"}
    assert browser.come_back(browser.consent(browser.begin("/secrets?x=1"))) == "/secrets?x=1"
    session = browser.session()
    assert (session["authenticated"], session["user"], session["role"]) == (True, "ana", None)
    user = User.objects.get(username="ana")
    assert sorted(user.groups.values_list("name", flat=True)) == ["oidc:orders", "oidc:payments"]
    assert not user.has_usable_password()
    (row,) = AuditRow.objects.filter(action="session.login")
    assert (row.actor, row.address, row.outcome) == ("ana", "127.0.0.1", "accepted")
    assert row.after is not None
    assert (row.after["method"], row.after["subject"], row.after["created"]) == ("oidc", "s-1", True)


def test_groups_follow_the_provider_and_others_stay(browser: Browser, idp: FakeProvider) -> None:
    browser.sign_in()
    user = User.objects.get(username="ana")
    user.groups.add(Group.objects.create(name="local"))
    teams.bind(team=None, user=user, role=Role.VIEWER)
    idp.claims = {"groups": ["orders", "billing"]}
    browser.sign_in()
    names = set(user.groups.values_list("name", flat=True))
    assert names == {"local", "oidc:billing", "oidc:orders"}
    assert browser.session()["role"] == "viewer"
    assert User.objects.filter(username="ana").count() == 1


def test_a_group_that_is_called_like_a_role_gives_none(browser: Browser, idp: FakeProvider) -> None:
    idp.claims = {"groups": ["admin", "operator", "oidc:x", "local"]}
    Group.objects.create(name="local")
    assert browser.sign_in()["role"] is None
    assert browser.client.get("/api/v1/pipelines").status_code == 403
    assert all(name.startswith("oidc:") for name in User.objects.get().groups.values_list("name", flat=True))


def test_a_group_gives_the_role_that_it_is_bound_to_in_a_team(browser: Browser, idp: FakeProvider) -> None:
    payments = TeamFactory.create(name="payments")
    root = APIClient()
    root.force_authenticate(UserFactory.create(role=Role.ADMIN))
    bound = {"group": "oidc:payments", "role": "operator"}
    assert root.put("/api/v1/teams/payments/bindings", bound, format="json").status_code == 201
    PipelineFactory.create(name="cards", team=payments)
    PipelineFactory.create(name="books")
    session = browser.sign_in()
    assert (session["role"], session["everywhere"]) == ("operator", None)

    def answers(*paths: str) -> list[int]:
        return [browser.client.get(f"/api/v1/{path}").status_code for path in paths]

    assert answers("pipelines/cards", "pipelines/books", "teams/payments", "teams/default") == [200, 404, 200, 404]
    headers = {"X-CSRFToken": session["csrf_token"]}
    stop = browser.client.post("/api/v1/pipelines/cards/stop", {}, content_type="application/json", headers=headers)
    assert stop.status_code in (200, 202)
    idp.claims = {"groups": ["orders"]}
    assert browser.sign_in()["role"] is None
    assert answers("pipelines/cards", "teams/payments") == [403, 403]


def test_administrators_by_a_group_are_not_the_last_ones(browser: Browser, idp: FakeProvider) -> None:
    """An installation whose administrators are members of a group has none once the group is empty at the provider."""
    root = UserFactory.create(username="root", role=Role.ADMIN)
    asked = APIClient()
    asked.force_authenticate(root)
    (own,) = asked.get("/api/v1/teams/all/bindings").json()["results"]
    bound = {"group": "oidc:payments", "role": "admin"}
    assert asked.put("/api/v1/teams/all/bindings", bound, format="json").status_code == 201
    browser.sign_in()
    ana = APIClient()
    ana.force_authenticate(User.objects.get(username="ana"))
    demoted = {"user": "root", "role": "operator"}
    refusals = [
        ana.delete(f"/api/v1/teams/all/bindings/{own['id']}"),
        ana.put("/api/v1/teams/all/bindings", demoted, format="json"),
        ana.patch("/api/v1/users/root", {"active": False}, format="json"),
    ]
    assert {(each.status_code, each.json()["code"]) for each in refusals} == {(409, "last_administrator")}
    assert "headgate teams bind all --user" in refusals[0].json()["hint"]
    idp.claims = {"groups": []}
    assert browser.sign_in()["role"] is None
    assert asked.get("/api/v1/teams/all/bindings").status_code == 200


def test_members_of_a_group_make_one_of_them_administrator_without_it(browser: Browser) -> None:
    root = UserFactory.create(username="root", role=Role.ADMIN)
    teams.bind(team=None, group=teams.group_named("oidc:payments"), role=Role.ADMIN)
    browser.sign_in()
    ana = APIClient()
    ana.force_authenticate(User.objects.get(username="ana"))
    assert ana.put("/api/v1/teams/all/bindings", {"user": "ana", "role": "admin"}, format="json").status_code == 201
    assert ana.patch("/api/v1/users/root", {"active": False}, format="json").status_code == 200
    root.refresh_from_db()
    assert not root.is_active


def test_the_last_group_of_administrators_stays_where_no_user_is_one(browser: Browser) -> None:
    teams.bind(team=None, group=teams.group_named("oidc:payments"), role=Role.ADMIN)
    browser.sign_in()
    ana = APIClient()
    ana.force_authenticate(User.objects.get(username="ana"))
    (own,) = ana.get("/api/v1/teams/all/bindings").json()["results"]
    refused = ana.delete(f"/api/v1/teams/all/bindings/{own['id']}")
    assert (refused.status_code, refused.json()["code"]) == (409, "last_administrator")


@pytest.mark.parametrize("groups", [None, 7, {"admin": True}, [["admin"], 3, "", "x" * 300, "a\nb"], "one"])
def test_groups_of_any_form_do_no_harm(browser: Browser, idp: FakeProvider, groups: Any) -> None:
    idp.claims = {"groups": groups}
    idp.userinfo = {"groups": None}
    assert browser.sign_in()["authenticated"]
    names = set(User.objects.get().groups.values_list("name", flat=True))
    assert names <= {"oidc:one"}


def test_groups_that_the_id_token_lacks_come_from_the_userinfo_endpoint(browser: Browser, idp: FakeProvider) -> None:
    idp.claims = {"groups": None}
    browser.sign_in()
    assert User.objects.get().groups.count() == 2


def test_the_userinfo_of_another_user_is_refused(browser: Browser, idp: FakeProvider) -> None:
    idp.claims, idp.userinfo = {"groups": None}, {"sub": "s-2"}
    assert browser.sign_in()["problem"]["code"] == "sign_in_not_verified"


def test_a_local_user_of_the_same_name_is_not_taken_over(browser: Browser) -> None:
    UserFactory.create(username="Ana", role=Role.ADMIN)
    session = browser.sign_in()
    assert not session["authenticated"]
    assert session["problem"]["code"] == "username_taken"
    assert "link-user" in session["problem"]["hint"]
    assert browser.session()["problem"] is None
    (row,) = AuditRow.objects.filter(action="session.login")
    assert row.after is not None
    assert (row.outcome, row.after["reason"], row.after["subject"]) == ("refused", "username_taken", "s-1")


def test_another_subject_of_the_same_name_is_not_the_same_user(browser: Browser) -> None:
    browser.sign_in("s-1")
    impostor = another().sign_in("s-2")
    assert (impostor["authenticated"], impostor["problem"]["code"]) == (False, "username_taken")


def test_the_same_subject_of_another_issuer_is_not_the_same_user(browser: Browser, configured: Any) -> None:
    browser.sign_in()
    with provider(**{"s-1": PROFILE}) as other:
        configured(**other.settings())
        assert another().sign_in()["problem"]["code"] == "username_taken"


def test_an_administrator_links_a_user(browser: Browser, capsys: pytest.CaptureFixture[str]) -> None:
    user = UserFactory.create(username="ana", role=Role.OPERATOR)
    call_command("link_user", "ana", "--subject", "s-1")
    session = browser.sign_in()
    assert (session["user"], session["role"]) == ("ana", "operator")
    assert Identity.objects.get().user == user
    UserFactory.create(username="ben")
    for words in (("ben", "--subject", "s-1"), ("nobody", "--subject", "s-9")):
        with pytest.raises(CommandError):
            call_command("link_user", *words)


def test_a_disabled_user_does_not_get_in(browser: Browser) -> None:
    assert browser.sign_in()["authenticated"]
    User.objects.update(is_active=False)
    assert not browser.session()["authenticated"]
    session = another().sign_in()
    assert (session["authenticated"], session["problem"]["code"]) == (False, "user_disabled")


def test_only_the_groups_that_are_allowed_sign_in(browser: Browser, configured: Any) -> None:
    configured(oidc_allowed_groups="payments, ops")
    assert browser.sign_in("s-1")["authenticated"]
    assert another().sign_in("s-3")["problem"]["code"] == "group_not_allowed"
    assert not User.objects.filter(username="ben").exists()


@pytest.mark.parametrize("name", [None, "", "a b", "x" * 151, "<script>", 7, "a/b"])
def test_a_name_that_no_user_can_have_is_refused(browser: Browser, idp: FakeProvider, name: Any) -> None:
    idp.claims, idp.userinfo = {"preferred_username": name}, {"preferred_username": None}
    assert browser.sign_in()["problem"]["code"] == "no_username"


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"aud": "another-client"},
        {"aud": None},
        {"aud": [CLIENT_ID, "another-client"], "azp": "another-client"},
        {"iss": "https://evil.example.com"},
        {"iss": None},
        {"exp": 1},
        {"exp": None},
        {"iat": None},
        {"nbf": 32503680000},
        {"sub": None},
        {"sub": ""},
        {"sub": ["s-1"]},
        {"azp": "another-client"},
        {"at_hash": "x"},
    ],
)
def test_an_id_token_that_was_not_made_for_this_sign_in_is_refused(
    browser: Browser, idp: FakeProvider, claims: dict[str, Any]
) -> None:
    idp.claims = claims
    session = browser.sign_in()
    assert (session["authenticated"], session["problem"]["code"]) == (False, "sign_in_not_verified")
    assert not User.objects.exists()


def test_an_unsigned_id_token_is_refused(browser: Browser, idp: FakeProvider) -> None:
    idp.algorithm = "none"
    idp.metadata = {"id_token_signing_alg_values_supported": ["none", "RS256"]}
    assert browser.sign_in()["problem"]["code"] == "sign_in_not_verified"


@pytest.mark.parametrize("secret", [CLIENT_SECRET, "the public key"])
def test_a_signature_by_a_shared_secret_is_refused(browser: Browser, idp: FakeProvider, secret: str) -> None:
    idp.shared = idp.key.as_pem(private=False) if secret == "the public key" else secret.encode()
    idp.algorithm = "HS256"
    idp.metadata = {"id_token_signing_alg_values_supported": ["HS256", "RS256"]}
    assert browser.sign_in()["problem"]["code"] == "sign_in_not_verified"


@pytest.mark.parametrize("kid", ["first", "second"])
def test_a_signature_by_a_foreign_key_is_refused(browser: Browser, idp: FakeProvider, kid: str) -> None:
    idp.published, idp.key = idp.key, RSAKey.generate_key(2048, {"kid": kid})
    assert browser.sign_in()["problem"]["code"] == "sign_in_not_verified"


def test_a_new_key_of_the_provider_is_found(
    browser: Browser, idp: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert browser.sign_in()["authenticated"]
    idp.key = RSAKey.generate_key(2048, {"kid": "second"})
    monkeypatch.setattr(protocol, "KEYS_AGAIN_SECONDS", 0.0)
    assert another().sign_in()["authenticated"]


def test_keys_are_not_read_again_and_again(browser: Browser, idp: FakeProvider) -> None:
    idp.published, idp.key = idp.key, RSAKey.generate_key(2048, {"kid": "second"})
    for _ in range(4):
        browser.sign_in()
    assert idp.requests.count("GET /jwks") == 1


def test_a_code_is_good_once(browser: Browser) -> None:
    location = browser.consent(browser.begin())
    browser.come_back(location)
    assert browser.session()["authenticated"]
    thief = another()
    thief.come_back(location)
    assert thief.session()["problem"]["code"] == "sign_in_not_begun"
    browser.come_back(location)
    assert browser.session()["problem"]["code"] == "sign_in_not_begun"


def test_a_victim_is_not_signed_in_as_the_attacker(browser: Browser) -> None:
    """Login CSRF: the attacker's answer, with its code and state, followed by the victim's browser."""
    planted = browser.consent(browser.begin())
    victim = another()
    victim.begin()
    victim.come_back(planted)
    session = victim.session()
    assert (session["authenticated"], session["problem"]["code"]) == (False, "sign_in_not_begun")


def test_another_site_cannot_begin_a_sign_in(browser: Browser) -> None:
    response = browser.client.post(START, {"next": "/"}, content_type="application/json")
    assert (response.status_code, response.json()["code"]) == (403, "csrf_failed")


def test_a_stolen_code_needs_the_verifier_of_its_sign_in(browser: Browser) -> None:
    """An attacker puts a code of the victim into a sign-in of his own."""
    stolen = parse_qs(urlsplit(browser.consent(browser.begin())).query)["code"][0]
    thief = another()
    state = parse_qs(urlsplit(thief.consent(thief.begin(), "s-3")).query)["state"][0]
    thief.come_back(f"{CALLBACK}?code={stolen}&state={state}")
    session = thief.session()
    assert (session["authenticated"], session["problem"]["code"]) == (False, "provider_unavailable")


def test_an_answer_of_another_issuer_is_refused(browser: Browser, idp: FakeProvider) -> None:
    """Mix-up: the code of one provider would be sent to another one."""
    idp.answer = {"iss": "https://evil.example.com"}
    assert browser.sign_in()["problem"]["code"] == "sign_in_not_verified"
    assert "POST /oauth2/token" not in idp.requests


def test_an_answer_without_its_issuer_is_refused_where_the_provider_names_it(
    browser: Browser, idp: FakeProvider
) -> None:
    idp.metadata = {"authorization_response_iss_parameter_supported": True}
    assert browser.sign_in()["problem"]["code"] == "sign_in_not_verified"
    idp.answer = {"iss": idp.url}
    assert another().sign_in()["authenticated"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example.com"},
        {"token_endpoint": "http://192.0.2.1/token"},
        {"jwks_uri": "http://evil.example.com/jwks"},
        {"token_endpoint": None},
        {"jwks_uri": "file:///etc/passwd"},
        {"token_endpoint": ["https://x"]},
    ],
)
def test_a_configuration_that_leads_elsewhere_is_refused(
    browser: Browser, idp: FakeProvider, metadata: dict[str, Any]
) -> None:
    idp.metadata = metadata
    headers = {"X-CSRFToken": browser.session()["csrf_token"]}
    begun = browser.client.post(START, {}, content_type="application/json", headers=headers)
    if begun.status_code == 200:
        browser.come_back(browser.consent(begun.json()["url"]))
        assert browser.session()["problem"]["code"] == "sign_in_not_verified"
    else:
        assert (begun.status_code, begun.json()["code"]) == (403, "sign_in_not_verified")
    assert not browser.session()["authenticated"]


@pytest.mark.parametrize(
    "then",
    [
        "https://evil.example.com",
        "//evil.example.com",
        "/\\evil.example.com",
        "\\\\evil",
        "javascript:alert(1)",
        "/a\tb",
        "evil",
        "/\n/evil",
        "/%09/\\evil",
    ],
)
def test_nobody_is_sent_on_to_another_site(browser: Browser, then: str) -> None:
    headers = {"X-CSRFToken": browser.session()["csrf_token"]}
    response = browser.client.post(START, {"next": then}, content_type="application/json", headers=headers)
    assert (response.status_code, response.json()["code"]) == (422, "bad_next")


def test_a_sign_in_begins_under_a_new_key(browser: Browser) -> None:
    location = browser.consent(browser.begin())
    planted = browser.client.cookies["sessionid"].value
    browser.come_back(location)
    assert browser.client.cookies["sessionid"].value != planted
    other = Client()
    other.cookies["sessionid"] = planted
    assert not other.get(SESSION).json()["authenticated"]


def test_a_sign_in_takes_ten_minutes_at_most(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    location = browser.consent(browser.begin())
    now = time.time()
    monkeypatch.setattr("pipelines.services.access.oidc.time.time", lambda: now + 601)
    browser.come_back(location)
    assert browser.session()["problem"]["code"] == "sign_in_not_begun"


def test_what_the_provider_says_of_a_failure_is_not_repeated(browser: Browser) -> None:
    state = parse_qs(urlsplit(browser.begin()).query)["state"][0]
    browser.come_back(f"{CALLBACK}?error=%3Cscript%3E&error_description=evil&state={state}")
    problem = browser.session()["problem"]
    assert problem["code"] == "refused_by_provider"
    assert "script" not in str(problem)
    assert "evil" not in str(problem)


def test_a_provider_that_is_away_is_a_failure_in_words(browser: Browser, configured: Any, idp: FakeProvider) -> None:
    configured(oidc_issuer="http://127.0.0.1:1")
    headers = {"X-CSRFToken": browser.session()["csrf_token"]}
    response = browser.client.post(START, {}, content_type="application/json", headers=headers)
    assert (response.status_code, response.json()["code"]) == (403, "provider_unavailable")


def test_without_a_provider_there_is_nothing_to_sign_in_at(browser: Browser, configured: Any) -> None:
    configured(oidc_issuer="")
    session = browser.session()
    assert session["provider"] is None
    headers = {"X-CSRFToken": session["csrf_token"]}
    response = browser.client.post(START, {}, content_type="application/json", headers=headers)
    assert (response.status_code, response.json()["code"]) == (404, "no_provider")
    browser.come_back(f"{CALLBACK}?code=1&state=2")
    assert browser.session()["problem"]["code"] == "no_provider"


def test_sessions_are_not_taken_without_end(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "SIGN_INS_PER_NETWORK", 2)
    headers = {"X-CSRFToken": browser.session()["csrf_token"]}
    answers = [
        browser.client.post(START, {}, content_type="application/json", headers=headers).status_code for _ in range(3)
    ]
    assert answers == [200, 200, 429]
    taken = Session.objects.count()
    for number in range(3):
        assert Client().get(f"{CALLBACK}?code={number}&state={number}").status_code == 429
    assert Session.objects.count() == taken


def test_a_secret_in_a_file_that_others_read_is_not_used(browser: Browser, configured: Any, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(CLIENT_SECRET + "\n")
    file.chmod(0o644)
    configured(oidc_client_secret=None, oidc_client_secret_file=file)
    headers = {"X-CSRFToken": browser.session()["csrf_token"]}
    response = browser.client.post(START, {}, content_type="application/json", headers=headers)
    assert (response.status_code, response.json()["code"]) == (403, "provider_not_set_up")
    file.chmod(0o600)
    assert browser.sign_in()["authenticated"]


def test_the_secret_goes_into_the_form_where_the_provider_takes_it_nowhere_else(
    browser: Browser, idp: FakeProvider
) -> None:
    idp.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert browser.sign_in()["authenticated"]


def dangerous(browser: Browser) -> str:
    """What the API says to a dangerous act of this browser."""
    headers = {"X-CSRFToken": browser.session()["csrf_token"]}
    code: str = browser.client.delete("/api/v1/secrets/none", headers=headers).json()["code"]
    return code


@pytest.fixture
def left_open(browser: Browser) -> Browser:
    """An administrator of the provider who has signed in twenty minutes ago."""
    with time_machine.travel(datetime.now(UTC) - timedelta(minutes=20)):
        browser.sign_in()
    teams.bind(team=None, user=User.objects.get(), role=Role.ADMIN)
    return browser


def test_a_user_of_the_provider_proves_to_be_present_there(left_open: Browser, idp: FakeProvider) -> None:
    assert dangerous(left_open) == "reauthentication_required"
    assert left_open.session()["proof"] == "provider"
    address = left_open.begin("/secrets", again=True)
    asked = parse_qs(urlsplit(address).query)
    assert (asked["prompt"], asked["max_age"]) == (["login"], ["0"])
    assert left_open.come_back(left_open.consent(address)) == "/secrets"
    assert dangerous(left_open) == "secret_not_found"
    row = AuditRow.objects.get(action="session.reauthenticated")
    assert (row.actor, row.outcome) == ("ana", "accepted")


@pytest.mark.parametrize(
    ("claims", "code"),
    [({"auth_time": 1}, "sign_in_not_fresh"), ({"auth_time": None}, "sign_in_not_verified")],
)
def test_a_provider_that_did_not_ask_proves_nothing(
    left_open: Browser, idp: FakeProvider, claims: dict[str, Any], code: str
) -> None:
    idp.claims = claims
    left_open.come_back(left_open.consent(left_open.begin(again=True)))
    assert left_open.session()["problem"]["code"] == code
    assert dangerous(left_open) == "reauthentication_required"


def test_another_user_of_the_provider_proves_nothing(left_open: Browser) -> None:
    left_open.come_back(left_open.consent(left_open.begin(again=True), "s-3"))
    session = left_open.session()
    assert (session["user"], session["problem"]["code"]) == ("ana", "another_user")
    assert dangerous(left_open) == "reauthentication_required"


@pytest.mark.parametrize("asked", [1, None])
def test_a_user_whom_the_provider_did_not_ask_has_proved_nothing(
    browser: Browser, idp: FakeProvider, asked: int | None
) -> None:
    """Whoever is at an open machine logs out and in again, without a question of the provider."""
    idp.claims = {"auth_time": asked}
    assert browser.sign_in()["authenticated"]
    teams.bind(team=None, user=User.objects.get(), role=Role.ADMIN)
    assert dangerous(browser) == "reauthentication_required"


def test_a_stranger_proves_nothing(browser: Browser) -> None:
    assert "prompt" not in parse_qs(urlsplit(browser.begin(again=True)).query)
