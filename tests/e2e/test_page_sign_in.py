"""People sign in at a provider and with a second factor, in a browser; the web server is all that runs."""

from __future__ import annotations

import base64
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from controlplane.devstack.services import web_argv
from pipelines.foundation.sign_in import totp
from tests.db.conftest import Server
from tests.db.test_event_stream import SECONDS, Listener, listening
from tests.e2e.conftest import Stack
from tests.e2e.page import in_every_theme, log_in, opened
from tests.fakes.oidc import CLIENT_ID, CLIENT_SECRET, FakeProvider, provider
from tests.waiting import wait_for

PASSWORD = "correct horse battery"
REAUTH_SECONDS = 20
"""A test waits for it, and sets a second factor up within it."""
ENDS_WITHIN = 5.0
DEFINITION = """\
api_version: headgate/v1
name: {name}
sources:
  shop:
    type: kafka
    bootstrap_servers: broker.example.com:9092
    topics: [orders]
    group_id: headgate.{name}
    start_from: earliest
channels:
  main: {{type: direct}}
sinks:
  out: {{type: logger, channel: main}}
"""


@dataclass(frozen=True)
class Site:
    """A web server of its own, its provider, and the commands of its installation."""

    url: str
    provider: FakeProvider
    environment: dict[str, str]

    def manage(self, *arguments: str, **variables: str) -> str:
        """Run one command of `manage.py`."""
        argv = [sys.executable, "manage.py", *arguments]
        environment = self.environment | variables
        return subprocess.run(
            argv, env=environment, check=True, capture_output=True, text=True, timeout=120
        ).stdout.strip()

    def stack(self, user: str) -> Stack:
        """The site for a user with a password."""
        return Stack(self.url, user, PASSWORD, "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    state = tmp_path_factory.mktemp("sign-in")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ana = {"preferred_username": "ana", "groups": ["payments"]}
    eva = {"preferred_username": "eva", "groups": ["amber"]}
    with provider(**{"s-1": ana, "s-2": eva}) as idp:
        url = f"http://localhost:{port}"  # passkeys need a name
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADGATE_")} | {
            "HEADGATE_STATE": str(state / "state"),
            "HEADGATE_REDIS_URL": "redis://127.0.0.1:1/0",
            "HEADGATE_PUBLIC_URL": url,
            "HEADGATE_OIDC_ISSUER": idp.url,
            "HEADGATE_OIDC_CLIENT_ID": CLIENT_ID,
            "HEADGATE_OIDC_CLIENT_SECRET": CLIENT_SECRET,
            "HEADGATE_OIDC_BUTTON": "Sign in with Example",
            "HEADGATE_REAUTH_SECONDS": str(REAUTH_SECONDS),
            "HEADGATE_REQUIRE_MFA": "admins",
            "DJANGO_SETTINGS_MODULE": "controlplane.settings",
        }
        made = Site(url, idp, environment)
        made.manage("migrate", "--verbosity", "0")
        made.manage("add_secret_key")
        with Path(state / "log").open("wb") as log:
            argv = web_argv(address="127.0.0.1", port=port)
            process = subprocess.Popen(argv, env=environment, stdout=log, stderr=log)
            try:
                wait_for(lambda: _answers(url), "the web server answers", timeout=60)
                yield made
            finally:
                process.terminate()
                process.wait(20)


def _answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/healthz", timeout=2).status_code == 200
    except httpx2.HTTPError:
        return False


def at_the_provider(page: Page, subject: str) -> None:
    """Sign in at the provider, which has a page of its own."""
    expect(page.get_by_role("heading", name="Authorize Client")).to_be_visible()
    page.get_by_role("button", name=subject, exact=True).click()


def main(page: Page) -> None:
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()


def test_a_user_of_a_provider_signs_in_and_needs_a_role(browser: Browser, site: Site) -> None:
    with opened(browser, site.stack("ana"), "/hosts") as page:
        assert in_every_theme(page) == []
        page.get_by_role("button", name="Sign in with Example").click()
        at_the_provider(page, "s-1")
        expect(page.get_by_role("heading", name="You have no role yet")).to_be_visible()
        assert in_every_theme(page) == []
        site.manage("create_user", "ana", "--role", "operator", "--no-password")
        page.get_by_role("button", name="Log out").click()
        page.get_by_role("button", name="Sign in with Example").click()
        at_the_provider(page, "s-1")
        main(page)
        expect(page.get_by_role("button", name=re.compile("^ana"))).to_contain_text("Operator")
        assert page.url == f"{site.url}/hosts"


def test_a_taken_name_is_refused_in_words(browser: Browser, site: Site) -> None:
    site.manage("create_user", "ben", "--role", "admin", HEADGATE_PASSWORD=PASSWORD)
    site.provider.claims = {"preferred_username": "ben", "sub": "s-ben"}
    try:
        with opened(browser, site.stack("ben")) as page:
            page.get_by_role("button", name="Sign in with Example").click()
            at_the_provider(page, "s-1")
            expect(page.get_by_role("alert")).to_contain_text("There is a user ben")
            expect(page.get_by_role("alert")).to_contain_text("headgate link-user ben")
    finally:
        site.provider.claims = {}


def test_an_administrator_sets_up_a_second_factor_and_confirms_what_is_dangerous(browser: Browser, site: Site) -> None:
    site.manage("create_user", "carl", "--role", "admin", HEADGATE_PASSWORD=PASSWORD)
    stack = site.stack("carl")
    with opened(browser, stack) as page:
        log_in(page, stack)
        expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()
        secret = enrol(page)
        main(page)
        page.goto("/secrets")
        page.get_by_role("button", name=re.compile("^carl")).click()
        page.get_by_role("button", name="Log out").click()

        log_in(page, stack)
        page.get_by_label("Code").fill("000000")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_contain_text("The code is wrong")
        next_step(secret)
        page.get_by_label("Code").fill(code(secret))
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Secrets", level=1)).to_be_visible()

        old = time.monotonic() + REAUTH_SECONDS
        wait_for(lambda: time.monotonic() > old, "the log-in is old", timeout=2 * REAUTH_SECONDS)
        page.get_by_role("button", name="Set secret").first.click()
        page.get_by_role("dialog").get_by_label("Name").fill("db")
        page.get_by_role("dialog").get_by_label("Pipelines").fill("orders")
        page.get_by_role("dialog").get_by_label("Destinations").fill("broker:9093")
        page.get_by_role("dialog").get_by_role("textbox", name="Value").fill("value")
        page.get_by_role("dialog").get_by_role("button", name="Set secret").click()
        proof = page.get_by_role("dialog", name="Confirm that it is you")
        expect(proof).to_be_visible()
        next_step(secret)
        proof.get_by_role("textbox", name="Password").fill(PASSWORD)
        proof.get_by_label("Code").fill(code(secret))
        proof.get_by_role("button", name="Confirm").click()
        expect(page.get_by_role("table", name="Secrets").get_by_text("db", exact=True)).to_be_visible()
        page.goto("/account")
        expect(page.get_by_text("Your authenticator application is set up.")).to_be_visible()
        assert in_every_theme(page) == []


@pytest.fixture(scope="module")
def root(site: Site) -> Iterator[httpx2.Client]:
    """An administrator of two teams with a pipeline each; the provider's group `amber` has a role in one of them."""
    token = site.manage("create_token", "root", "--role", "admin")
    headers = {"Authorization": f"Token {token}"}
    with httpx2.Client(base_url=f"{site.url}/api/v1", headers=headers, timeout=60) as api:
        for team in ("amber", "cobalt"):
            api.post("/teams", json={"name": team}).raise_for_status()
            definition = DEFINITION.format(name=f"{team}-orders")
            api.post("/pipelines", json={"definition": definition, "team": team}).raise_for_status()
        bind(api, "operator")
        yield api


def bind(root: httpx2.Client, role: str) -> None:
    """Give the group of the provider a role in its team."""
    root.put("/teams/amber/bindings", json={"group": "oidc:amber", "role": role}).raise_for_status()


def sign_in(page: Page) -> None:
    page.get_by_role("button", name="Sign in with Example").click()
    at_the_provider(page, "s-2")


def test_a_group_of_the_provider_has_its_role_in_one_team(browser: Browser, site: Site, root: httpx2.Client) -> None:
    try:
        with opened(browser, site.stack("eva")) as page:
            sign_in(page)
            main(page)
            user = page.get_by_role("button", name=re.compile("^eva"))
            expect(user).to_contain_text("Operator")
            expect(page.get_by_role("link", name="amber-orders")).to_be_visible()
            expect(page.get_by_text(re.compile("cobalt"))).to_have_count(0)
            page.goto("/access")
            expect(page.get_by_role("row", name=re.compile("^amber Operator"))).to_be_visible()
            expect(page.get_by_text(re.compile("cobalt"))).to_have_count(0)
            page.goto("/pipelines/cobalt-orders")
            expect(page.get_by_role("heading", name="There is no pipeline named cobalt-orders")).to_be_visible()

            page.goto("/pipelines/amber-orders")
            start = page.get_by_role("button", name="Start", exact=True)
            expect(start).not_to_have_attribute("aria-disabled", "true")
            bind(root, "viewer")
            page.reload()
            expect(start).to_have_attribute("aria-disabled", "true")
            bind(root, "operator")
            page.reload()
            start.click()
            wait_for(lambda: of_pipeline(root, "amber-orders")["desired_state"] == "RUNNING", "it is to run")

            site.provider.claims = {"groups": []}
            user.click()
            page.get_by_role("button", name="Log out").click()
            sign_in(page)
            expect(page.get_by_role("heading", name="You have no role yet")).to_be_visible()
    finally:
        site.provider.claims = {}


def of_pipeline(root: httpx2.Client, name: str) -> Any:
    return root.get(f"/pipelines/{name}").raise_for_status().json()


def test_a_stream_ends_within_seconds_of_its_token_and_of_the_user_of_its_session(
    browser: Browser, site: Site, root: httpx2.Client, record_property: Callable[[str, object], None]
) -> None:
    with opened(browser, site.stack("eva")) as page:
        sign_in(page)
        main(page)
        token = site.manage("create_token", "eva", "--name", "stream")
        with listening(Server(site.url, token)) as streamed, listening(_as(root, site)) as other:
            page.goto("/access")
            with page.expect_response(lambda answer: answer.request.method == "DELETE") as revoked:
                page.get_by_role("row", name=re.compile("stream")).get_by_role("button", name="Revoke").click()
                page.get_by_role("dialog").get_by_role("button", name="Revoke token").click()
            since = time.monotonic()
            assert revoked.value.status == 204
            record_property("token_seconds", ended(streamed, since))
            assert not other.ended.is_set()
        asked = {"Authorization": f"Token {token}"}
        assert httpx2.get(f"{site.url}/api/v1/events", headers=asked, timeout=60).status_code == 401

        cookies = "; ".join(f"{each['name']}={each['value']}" for each in page.context.cookies())
        with listening(Server(site.url, ""), Authorization="", Cookie=cookies) as own:
            since = time.monotonic()
            root.patch("/users/eva", json={"active": False}).raise_for_status()
            record_property("session_seconds", ended(own, since))
        try:
            expect(page.get_by_role("button", name="Sign in with Example")).to_be_visible()
            sign_in(page)
            expect(page.get_by_role("alert")).to_contain_text("The user eva is disabled")
        finally:
            root.patch("/users/eva", json={"active": True}).raise_for_status()


def _as(root: httpx2.Client, site: Site) -> Server:
    return Server(site.url, root.headers["Authorization"].removeprefix("Token "))


def ended(listener: Listener, since: float) -> float:
    """Seconds from `since` until the server ended a stream."""
    assert listener.ended.wait(SECONDS)
    seconds = time.monotonic() - since
    print(f"The stream ended after {seconds:.2f} s.")
    assert seconds < ENDS_WITHIN
    return seconds


def test_a_passkey_stands_in_for_the_code(browser: Browser, site: Site) -> None:
    site.manage("create_user", "dora", "--role", "operator", HEADGATE_PASSWORD=PASSWORD)
    stack = site.stack("dora")
    with opened(browser, stack, "/account") as page:
        devtools = page.context.new_cdp_session(page)
        devtools.send("WebAuthn.enable")
        key = {
            "protocol": "ctap2",
            "transport": "usb",
            "hasUserVerification": False,
            "automaticPresenceSimulation": True,
        }
        devtools.send("WebAuthn.addVirtualAuthenticator", {"options": key})
        log_in(page, stack)
        page.get_by_label("Name of the new passkey").fill("blue key")
        page.get_by_role("button", name="Add passkey").click()
        page.get_by_role("button", name="I have kept the codes").click()
        expect(page.get_by_role("button", name="Remove passkey blue key")).to_be_visible()
        assert in_every_theme(page) == []
        page.get_by_role("button", name=re.compile("^dora")).click()
        page.get_by_role("button", name="Log out").click()

        log_in(page, stack)
        expect(page.get_by_label("Code")).to_be_visible()
        assert in_every_theme(page) == []
        page.get_by_role("button", name="Use passkey").click()
        main(page)


def enrol(page: Page) -> bytes:
    """Set up an authenticator application; its secret."""
    page.get_by_role("button", name="Set up authenticator application").click()
    shown = page.locator("code").first
    expect(shown).to_have_text(re.compile("^[A-Z2-7]{32}$"))
    expect(page.get_by_role("img", name="Secret to scan")).to_be_visible()
    assert page.get_by_role("img", name="Secret to scan").evaluate("image => image.naturalWidth") > 0
    assert in_every_theme(page) == []
    text = shown.inner_text()
    secret = base64.b32decode(text + "=" * (-len(text) % 8))
    page.get_by_label("Code").fill(code(secret))
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("group", name="Recovery codes")).to_have_text(
        re.compile("^([a-z2-9]{5}-[a-z2-9]{5}\n?){10}$")
    )
    page.get_by_role("button", name="I have kept the codes").click()
    return secret


used: dict[bytes, int] = {}


def code(secret: bytes) -> str:
    """The code of the moment; none is taken twice."""
    used[secret] = int(time.time() // totp.SECONDS)
    return totp.code_of(secret, used[secret])


def next_step(secret: bytes) -> None:
    """Wait until there is another code than the last one."""
    wait_for(lambda: int(time.time() // totp.SECONDS) > used[secret], "the next code", timeout=60)
