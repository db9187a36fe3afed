"""The ways to receivers without a network, secrets without a store, and a clock that a test sets."""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pipelines.domain.monitoring.receivers import MailServer
from pipelines.domain.monitoring.webhooks import DeliveryResponse, Reach
from pipelines.foundation import clock
from pipelines.models import Event, Receiver
from pipelines.selectors.monitoring.events import newest_event
from tests.factories import EventFactory
from workers.ports import Mail, SecretValue, Unreadable
from workers.supervisor.background.sending.attempts import Attempts
from workers.supervisor.background.sending.deliveries import DeliverySender

NEW, OLD = (f"whsec_{base64.b64encode(byte * 32).decode()}" for byte in (b"n", b"o"))


@dataclass(frozen=True)
class Sent:
    """A message as an endpoint got it."""

    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """Its webhook-id."""
        return self.headers["webhook-id"]


@dataclass
class FakePosts:
    """`workers.ports.Posts`: `answer` says what an endpoint answers to a message."""

    answer: Callable[[Sent], DeliveryResponse] = lambda _: DeliveryResponse(200)
    sent: list[Sent] = field(default_factory=list)

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> DeliveryResponse:
        """Take the message."""
        message = Sent(url, headers, body)
        self.sent.append(message)
        return self.answer(message)


@dataclass
class FakeMails:
    """`workers.ports.Mails`."""

    answer: Callable[[Mail], DeliveryResponse] = lambda _: DeliveryResponse(250)
    sent: list[tuple[MailServer, str, Mail]] = field(default_factory=list)

    def send(self, server: MailServer, password: str, mail: Mail) -> DeliveryResponse:
        """Take the message."""
        self.sent.append((server, password, mail))
        return self.answer(mail)


@dataclass
class FakeSecrets:
    """`workers.ports.Secrets`; `reads` counts."""

    values: dict[str, str] = field(default_factory=lambda: {"new": NEW, "old": OLD})
    reads: int = 0

    def read(self, names: Collection[str]) -> Mapping[str, SecretValue | Unreadable]:
        """All at once."""
        self.reads += 1
        gone = Unreadable("there is no such secret.", "Store it.")
        return {name: SecretValue(self.values[name]) if name in self.values else gone for name in names}


class FreeLock:
    """`workers.ports.Exclusive` that nobody else wants."""

    def acquire(self) -> bool:
        """Always free."""
        return True

    def release(self) -> None:
        """Nothing to give back."""


class Time:
    """Wall and monotonic clock of everything in the test."""

    def __init__(self, monkeypatch: Any) -> None:
        self.wall = datetime(2026, 1, 1, tzinfo=UTC)
        self.monotonic = 1_000.0
        monkeypatch.setattr(clock, "now", lambda: self.wall)

    def pass_(self, seconds: float) -> None:
        """Let time pass."""
        self.wall += timedelta(seconds=seconds)
        self.monotonic += seconds


USUAL = MailServer(host="mail.example.com", user="headgate", password="smtp", sender="headgate@example.com")
PUBLIC = "https://headgate.example.com"


def sender(
    posts: FakePosts,
    time: Time,
    secrets: FakeSecrets | None = None,
    mails: FakeMails | None = None,
) -> DeliverySender:
    """The sender of a worker; a test gives it its turns. Chance never moves a delay."""
    attempts = Attempts(posts, mails or FakeMails(), USUAL, Reach())
    return DeliverySender(
        attempts,
        secrets or FakeSecrets(),
        public_url=PUBLIC,
        monotonic=lambda: time.monotonic,
        chance=lambda: 0.5,
    )


def turn(*senders: DeliverySender) -> None:
    """One turn of each, and the wait for what they sent."""
    for each in senders:
        each.turn()
        each.finish()


def receiver(
    *events: str, url: str = "https://a.example/hook", secrets: Collection[str] = ("new",), **more: Any
) -> Receiver:
    """A receiver, by default a webhook, that gets what happens from now on."""
    now = clock.now()
    stamps = {"created_at": now, "created_by": "ana", "updated_at": now, "updated_by": "ana"}
    references = [f"${{secret:{name}}}" for name in secrets]
    fields = {"position": newest_event(), **stamps, **more}
    return Receiver.objects.create(url=url, events=list(events or ["*"]), secrets=references, **fields)


def happen(*kinds: str) -> list[Event]:
    """Events of these kinds."""
    return [EventFactory.create(kind=kind, pipeline=None, at=clock.now(), message=f"It is {kind}.") for kind in kinds]
