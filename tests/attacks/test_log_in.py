"""Guessing passwords, with many requests at once and with forged addresses."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import httpx2
import pytest
from django.conf import settings

from pipelines.api.http import proxies
from pipelines.domain.base.roles import Role
from pipelines.foundation import clock
from pipelines.foundation.errors import TooManyRequests
from pipelines.models import LoginCount
from pipelines.services.access import attempts
from pipelines.services.base.audit import Actor
from tests.attacks.conftest import Web
from tests.db.conftest import Server
from tests.factories import UserFactory

LOGIN = "/api/v1/session"


def guess(url: str, username: str, count: int, at_once: int, **headers: str) -> Counter[int]:
    """How often each status came back for wrong passwords."""
    with httpx2.Client(base_url=url, timeout=60) as client:
        token = client.get(LOGIN).json()["csrf_token"]

        def once(number: int) -> int:
            body = {"username": username, "password": f"wrong-{number}"}
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            return client.post(LOGIN, json=body, headers={"X-CSRFToken": token} | sent).status_code

        with ThreadPoolExecutor(at_once) as pool:
            return Counter(pool.map(once, range(count)))


def test_many_guesses_at_once_are_no_more_guesses(server: Server) -> None:
    UserFactory.create(username="ana", role=Role.ADMIN)
    answers = guess(server.url, "ana", 40, 40)
    assert answers[401] <= attempts.PER_USER_AND_NETWORK, answers
    assert answers[401] + answers[429] == 40, answers


def test_a_forged_address_gives_no_further_guesses(web: Web) -> None:
    answers: Counter[int] = Counter()
    for number in range(12):
        answers += guess(
            web.url, "viewer", 1, 1, X_Forwarded_For=f"203.0.{number}.7", Forwarded=f"for=203.0.{number}.7"
        )
    assert answers[401] <= attempts.PER_USER_AND_NETWORK, answers
    assert answers[429] == 12 - answers[401], answers


def test_the_server_answers_while_passwords_are_hashed(web: Web) -> None:
    with ThreadPoolExecutor(20) as pool:
        guesses = [pool.submit(guess, web.url, f"user-{number}", 2, 2) for number in range(15)]
        answered = 0
        while not all(each.done() for each in guesses):
            answered += httpx2.get(f"{web.url}/healthz", timeout=5).status_code == 200
    assert answered > 0
    assert sum((each.result() for each in guesses), Counter()).keys() <= {401, 429}


@pytest.mark.django_db
class TestLimits:
    def actor(self, name: str = "ana", address: str = "192.0.2.7") -> Actor:
        return Actor(name, address)

    def tries(self, actor: Actor, count: int) -> int:
        """How many of so many attempts are admitted."""
        admitted = 0
        for _ in range(count):
            try:
                attempts.admit(actor)
                admitted += 1
            except TooManyRequests:
                pass
        return admitted

    def test_neighbours_share_a_network(self) -> None:
        assert self.tries(self.actor(address="192.0.2.7"), 3) == 3
        assert self.tries(self.actor(address="192.0.2.200"), 3) == 2
        assert self.tries(self.actor(address="::ffff:192.0.2.9"), 3) == 0
        assert self.tries(self.actor(address="2001:db8::1"), 3) == 3
        assert self.tries(self.actor(address="2001:db8::2:1"), 3) == 2

    def test_letters_in_another_case_are_no_other_user(self) -> None:
        assert self.tries(self.actor("ana"), 5) == 5
        assert self.tries(self.actor("ANA"), 5) == 0

    def test_one_user_is_guessed_from_many_networks(self) -> None:
        tried = sum(self.tries(self.actor(address=f"198.51.{number}.1"), 5) for number in range(20))
        assert tried == attempts.PER_USER

    def test_many_users_are_guessed_from_one_network(self) -> None:
        tried = sum(self.tries(self.actor(f"user-{number}"), 5) for number in range(20))
        assert tried == attempts.PER_NETWORK

    def test_who_logs_in_is_not_counted(self) -> None:
        for _ in range(100):
            attempts.admit(self.actor())
            attempts.forgive(self.actor())
        assert self.tries(self.actor(), 10) == 5

    def test_the_window_ends_and_nothing_is_left(self) -> None:
        assert self.tries(self.actor(), 10) == 5
        LoginCount.objects.update(since=clock.now() - attempts.WINDOW - timedelta(seconds=1))
        assert self.tries(self.actor(), 10) == 5
        LoginCount.objects.update(since=clock.now() - 3 * attempts.WINDOW)
        attempts.admit(self.actor("bob", "203.0.113.1"))
        assert LoginCount.objects.count() == 3


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "203.0.113.9", "192.0.2.1"),
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("10.0.0.1", "10.0.0.3", "10.0.0.3"),
        ("10.0.0.1", "203.0.113.9, nonsense", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.9\r\nx, 10.0.0.2", "10.0.0.2"),
        ("::ffff:10.0.0.1", "2001:db8::7", "2001:db8::7"),
        ("", "203.0.113.9", ""),
    ],
)
def test_only_a_trusted_proxy_names_the_client(
    peer: str, forwarded: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusting: Any = settings.HEADGATE.model_copy(update={"trusted_proxies": [ip_network("10.0.0.0/8")]})
    monkeypatch.setattr(settings, "HEADGATE", trusting)
    assert proxies.client(peer, forwarded) == found
