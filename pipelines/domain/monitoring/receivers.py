"""Receivers: who gets messages, of which kind, and what is wrong with one as a person describes it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from pipelines.domain.base.addresses import address_of
from pipelines.domain.base.findings import Finding, did_you_mean, quote
from pipelines.domain.monitoring import matching, webhooks
from pipelines.domain.monitoring.matching import Matchers
from pipelines.domain.monitoring.webhooks import Reach, key_of, of_address, of_event_types, secret_name

PAGERDUTY_URL = "https://events.pagerduty.com/v2/enqueue"
TEST = "receiver.test"
"""The event of a test; it goes to the receiver that is tested and to no other. That of a webhook is `webhook.ping`."""
MOST_RECIPIENTS = 50
LONGEST_ROUTING_KEY = 100
_MAILBOX = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
_SERVER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})|[0-9A-Fa-f:.]{2,45}")
_PRINTABLE = re.compile(r"[\x21-\x7e]+")


class ReceiverKind(StrEnum):
    """WEBHOOK gets events, signed. SLACK, PAGERDUTY and EMAIL get alerts as messages."""

    WEBHOOK = "webhook"
    SLACK = "slack"
    PAGERDUTY = "pagerduty"
    EMAIL = "email"


class MailTls(StrEnum):
    """STARTTLS after connecting in plain text, TLS from the start, or NONE."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


ALERT_EVENTS = ("alert.opened", "alert.acknowledged", "alert.resolved")
DEFAULT_EVENTS: dict[ReceiverKind, tuple[str, ...]] = {
    ReceiverKind.WEBHOOK: ("*",),
    ReceiverKind.SLACK: ("alert.opened", "alert.resolved"),
    ReceiverKind.PAGERDUTY: ("alert.*",),
    ReceiverKind.EMAIL: ("alert.opened", "alert.resolved"),
}


def event_of_test(kind: ReceiverKind) -> str:
    """The type of the event that tests a receiver of a kind."""
    return webhooks.PING if kind is ReceiverKind.WEBHOOK else TEST


@dataclass(frozen=True)
class MailServer:
    """Where mail goes out, and as whom. `password`: the name of a secret. No `host`: there is none."""

    host: str = ""
    port: int = 587
    tls: str = MailTls.STARTTLS
    user: str = ""
    password: str = ""
    sender: str = ""


@dataclass(frozen=True)
class MailOptions:
    """What a receiver of kind email adds: `recipients`, and a server of its own where it has a `host`."""

    recipients: tuple[str, ...] = ()
    sender: str = ""
    host: str = ""
    port: int = 587
    tls: str = MailTls.STARTTLS
    user: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> MailOptions:
        """Those that were stored or sent."""
        known = {name: value for name, value in (given or {}).items() if name in cls.__dataclass_fields__}
        return cls(**{**known, "recipients": tuple(known.get("recipients", ()))})

    def stored(self) -> dict[str, Any]:
        """As JSON holds them."""
        return {**asdict(self), "recipients": list(self.recipients)}

    def server(self, usual: MailServer, secrets: Sequence[str]) -> MailServer:
        """The server that it uses: its own, or the usual one of the installation."""
        if not self.host:
            return MailServer(**{**asdict(usual), "sender": self.sender or usual.sender})
        password = (secret_name(secrets[0]) or "") if secrets else ""
        return MailServer(self.host, self.port, self.tls, self.user, password, self.sender or usual.sender)


@dataclass(frozen=True)
class Wanted:
    """A receiver as somebody wants it. `secrets`: references."""

    kind: ReceiverKind
    url: str = ""
    events: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    matchers: Matchers = field(default_factory=Matchers)
    email: MailOptions = field(default_factory=MailOptions)


def findings(wanted: Wanted, reach: Reach, usual: MailServer) -> list[Finding]:
    """Everything that is wrong with a receiver."""
    return [*_BY_KIND[wanted.kind](wanted, reach, usual), *matching.findings(wanted.matchers)]


def _of_webhook(wanted: Wanted, reach: Reach, usual: MailServer) -> Iterator[Finding]:
    yield from webhooks.findings(wanted.url, wanted.events, wanted.secrets, reach)
    yield from _no_mail(wanted)


def _of_slack(wanted: Wanted, reach: Reach, usual: MailServer) -> Iterator[Finding]:
    if wanted.url:
        yield Finding(
            path="url",
            code="address_is_a_secret",
            message="The address of an incoming webhook is enough to post there, so it is a secret.",
            suggestion='Store it: `headgate secrets set NAME --for receivers`; write "${secret:NAME}" into secrets.',
        )
    yield from _of_alert_events(wanted.events)
    yield from _one_secret(wanted.secrets, "the address of the incoming webhook")
    yield from _no_mail(wanted)


def _of_pagerduty(wanted: Wanted, reach: Reach, usual: MailServer) -> Iterator[Finding]:
    if wanted.url:
        yield from of_address(wanted.url, reach)
    yield from _of_alert_events(wanted.events)
    yield from _one_secret(wanted.secrets, "the integration key (routing key) of the service")
    yield from _no_mail(wanted)


def _of_email(wanted: Wanted, reach: Reach, usual: MailServer) -> Iterator[Finding]:
    email = wanted.email
    if wanted.url:
        message = "A receiver of kind email has no address of this kind."
        yield Finding(path="url", code="not_for_this_kind", message=message, suggestion="Use email.host.")
    yield from _of_alert_events(wanted.events)
    yield from _of_recipients(email.recipients)
    server = email.server(usual, wanted.secrets)
    if not server.host:
        yield Finding(
            path="email.host",
            code="mail_server_missing",
            message="No mail server is set.",
            suggestion="Set HEADGATE_SMTP_HOST on web servers and workers, or email.host.",
        )
    if not _MAILBOX.fullmatch(server.sender):
        yield Finding(
            path="email.sender",
            code="sender_missing" if not server.sender else "invalid_mailbox",
            message="The messages have no valid sender.",
            suggestion="Set HEADGATE_SMTP_SENDER on web servers and workers, or email.sender.",
        )
    yield from _of_own_server(wanted, reach)


def _of_recipients(recipients: Sequence[str]) -> Iterator[Finding]:
    if not 0 < len(recipients) <= MOST_RECIPIENTS:
        message = f"It names {len(recipients)} recipients; 1 to {MOST_RECIPIENTS} are possible."
        suggestion = "Name at least one." if not recipients else "Use a distribution list."
        yield Finding(path="email.recipients", code="recipients_missing", message=message, suggestion=suggestion)
    yield from matching.misshapen(
        recipients,
        _MAILBOX,
        "email.recipients",
        code="invalid_mailbox",
        words="is no mail address",
        suggestion="Write name@example.com, without a display name.",
    )


def _of_own_server(wanted: Wanted, reach: Reach) -> Iterator[Finding]:
    email, signed = wanted.email, len(wanted.secrets)
    if not email.host:
        if email.user or signed:
            yield Finding(
                path="email.user" if email.user else "secrets",
                code="server_of_the_installation",
                message="The mail server of the installation has its own user and password.",
                suggestion="Remove user and secrets, or set email.host.",
            )
        return
    yield from _of_host(email.host, reach)
    if not 1 <= email.port <= 65535:
        message = f"{email.port} is no port."
        yield Finding(path="email.port", code="out_of_range", message=message, suggestion="Use 1 to 65535.")
    if email.tls not in set(MailTls):
        message = f"{quote(email.tls)} is no kind of encryption."
        suggestion = did_you_mean(email.tls, list(MailTls))
        yield Finding(path="email.tls", code="unknown_encryption", message=message, suggestion=suggestion)
    if email.tls == MailTls.NONE and not reach.http:
        yield Finding(
            path="email.tls",
            code="encryption_required",
            message="Mail is sent with encryption alone.",
            suggestion="Use starttls or tls, or set HEADGATE_WEBHOOK_HTTP=true on web servers and workers.",
        )
    if bool(email.user) != bool(signed):
        message = "A user and the secret with the password go together."
        suggestion = "Give both, or none of them."
        yield Finding(path="secrets", code="user_without_password", message=message, suggestion=suggestion)
    if signed:
        yield from _one_secret(wanted.secrets, "the password of the user")


def _of_host(host: str, reach: Reach) -> Iterator[Finding]:
    literal = address_of(host)
    if not _SERVER.fullmatch(host):
        message = f"{quote(host)} is no host."
        yield Finding(path="email.host", code="invalid_host", message=message, suggestion="Write mail.example.com.")
    elif literal is not None and not reach.allows(literal):
        message = f"{literal} is not public."
        yield Finding(path="email.host", code="address_not_public", message=message, suggestion=webhooks.ALLOW)


def _of_alert_events(events: Sequence[str]) -> Iterator[Finding]:
    yield from of_event_types(events)
    for index, pattern in enumerate(events):
        if pattern != "alert.*" and pattern not in ALERT_EVENTS:
            yield Finding(
                path=f"events[{index}]",
                code="not_an_alert",
                message=f"{quote(pattern)} is no event of an alert, and only a webhook receives others.",
                suggestion=f"Write alert.*, or of: {', '.join(ALERT_EVENTS)}.",
            )


def _one_secret(secrets: Sequence[str], what: str) -> Iterator[Finding]:
    if len(secrets) != 1:
        yield Finding(
            path="secrets",
            code="secrets_missing",
            message=f"{len(secrets)} secrets are given; one is needed: {what}.",
            suggestion='Store it with `headgate secrets set NAME --for receivers`, and write "${secret:NAME}".',
        )
    for index, each in enumerate(secrets):
        if secret_name(each) is None:
            yield webhooks.not_a_reference(index)


def _no_mail(wanted: Wanted) -> Iterator[Finding]:
    if wanted.email != MailOptions():
        message = f"A receiver of kind {wanted.kind} sends no mail."
        yield Finding(path="email", code="not_for_this_kind", message=message, suggestion="Remove email.")


_BY_KIND: dict[ReceiverKind, Callable[[Wanted, Reach, MailServer], Iterator[Finding]]] = {
    ReceiverKind.WEBHOOK: _of_webhook,
    ReceiverKind.SLACK: _of_slack,
    ReceiverKind.PAGERDUTY: _of_pagerduty,
    ReceiverKind.EMAIL: _of_email,
}


def value_problem(kind: ReceiverKind, value: str, reach: Reach) -> tuple[str, str] | None:
    """What is wrong with the value of a secret, as a code and words that do not repeat it; None where nothing is."""
    if kind is ReceiverKind.WEBHOOK:
        try:
            key_of(value)
        except ValueError as error:
            return "bad_webhook_secret", f"cannot sign: {error}"
    if kind is ReceiverKind.SLACK and (wrong := next(of_address(value, reach), None)):
        return "bad_address", f"is not the address of an incoming webhook ({wrong.code})"
    if kind is ReceiverKind.PAGERDUTY and not (len(value) <= LONGEST_ROUTING_KEY and _PRINTABLE.fullmatch(value)):
        return "bad_routing_key", "is not an integration key"
    return None
