"""Receivers of each kind: what they need, and everything that is wrong with one at once."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network
from typing import Any

import pytest

from pipelines.domain.monitoring.matching import Matchers
from pipelines.domain.monitoring.receivers import (
    MailOptions,
    MailServer,
    ReceiverKind,
    Wanted,
    event_of_test,
    findings,
    value_problem,
)
from pipelines.domain.monitoring.webhooks import Reach

NONE = MailServer()
USUAL = MailServer(host="mail.example.com", user="headgate", password="smtp", sender="headgate@example.com")
SECRET = ("${secret:one}",)
OURS = MailOptions(recipients=("ana@example.com",))
OWN = MailOptions(("ana@example.com",), "h@example.com", "smtp.example.com", 465, "tls", "u")


def codes(wanted: Wanted, usual: MailServer = USUAL, reach: Reach | None = None) -> list[tuple[str, str]]:
    return [(each.path, each.code) for each in findings(wanted, reach or Reach(), usual)]


def wanted(kind: str, **fields: Any) -> Wanted:
    usual = {} if kind == "email" else {"secrets": SECRET}
    given = {"events": ("alert.*",), **({"email": OURS} if kind == "email" else usual), **fields}
    return Wanted(ReceiverKind(kind), **given)


@pytest.mark.parametrize(
    "good",
    [
        wanted("webhook", url="https://a.example/", events=("*",)),
        wanted("slack"),
        wanted("slack", matchers=Matchers(labels=("team:shop",), severities=("critical",))),
        wanted("pagerduty"),
        wanted("pagerduty", url="https://events.eu.pagerduty.com/v2/enqueue"),
        wanted("email"),
        wanted("email", email=OWN, secrets=SECRET),
    ],
)
def test_what_is_complete(good: Wanted) -> None:
    assert codes(good) == []


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (wanted("slack", url="https://hooks.slack.com/x"), [("url", "address_is_a_secret")]),
        (wanted("slack", secrets=()), [("secrets", "secrets_missing")]),
        (wanted("slack", secrets=("https://hooks.slack.com/x",)), [("secrets[0]", "secret_not_a_reference")]),
        (wanted("slack", events=("alert.opened", "phase.*")), [("events[1]", "not_an_alert")]),
        (wanted("slack", email=OURS), [("email", "not_for_this_kind")]),
        (wanted("slack", matchers=Matchers(severities=("high",))), [("matchers.severities[0]", "unknown_severity")]),
        (wanted("pagerduty", secrets=SECRET * 2), [("secrets", "secrets_missing")]),
        (wanted("pagerduty", url="http://127.0.0.1/"), [("url", "https_required"), ("url", "address_not_public")]),
        (wanted("email", url="https://a.example"), [("url", "not_for_this_kind")]),
        (wanted("email", email=MailOptions()), [("email.recipients", "recipients_missing")]),
        (wanted("email", email=MailOptions(("a@b.example",) * 51)), [("email.recipients", "recipients_missing")]),
        (
            wanted("email", email=MailOptions(("Ana <ana@example.com>", "a@b.example\nBcc: x@y.example"))),
            [("email.recipients[0]", "invalid_mailbox"), ("email.recipients[1]", "invalid_mailbox")],
        ),
        (wanted("email", secrets=SECRET), [("secrets", "server_of_the_installation")]),
        (wanted("email", email=replace(OURS, user="u")), [("email.user", "server_of_the_installation")]),
        (
            wanted("email", email=MailOptions(("a@b.example",), "x", "10.0.0.1", 0, "none", "u")),
            [
                ("email.sender", "invalid_mailbox"),
                ("email.host", "address_not_public"),
                ("email.port", "out_of_range"),
                ("email.tls", "encryption_required"),
                ("secrets", "user_without_password"),
            ],
        ),
        (
            wanted("email", email=MailOptions(("a@b.example",), host="a b", tls="ssl")),
            [
                ("email.host", "invalid_host"),
                ("email.tls", "unknown_encryption"),
            ],
        ),
    ],
)
def test_every_finding_of_a_kind(bad: Wanted, expected: list[tuple[str, str]]) -> None:
    assert codes(bad) == expected


def test_mail_needs_a_server_and_a_sender_from_somewhere() -> None:
    assert codes(wanted("email"), NONE) == [("email.host", "mail_server_missing"), ("email.sender", "sender_missing")]
    assert codes(wanted("email", email=OWN, secrets=SECRET), NONE) == []


def test_a_mail_server_of_its_own_is_used_with_its_own_password() -> None:
    assert OURS.server(USUAL, ()) == USUAL
    assert OWN.server(USUAL, SECRET) == MailServer("smtp.example.com", 465, "tls", "u", "one", "h@example.com")
    assert MailOptions(sender="x@y.example").server(USUAL, ()).sender == "x@y.example"
    assert MailOptions.of(OWN.stored()) == OWN


def test_plain_text_and_private_servers_need_the_settings_of_webhooks() -> None:
    plain = MailOptions(("a@b.example",), host="10.0.0.1", tls="none")
    reach = Reach(http=True, networks=(ip_network("10.0.0.0/8"),))
    assert codes(wanted("email", email=plain), reach=reach) == []


@pytest.mark.parametrize(
    ("kind", "value", "code"),
    [
        ("slack", "https://hooks.slack.com/services/T/B/canary", None),
        ("slack", "http://hooks.slack.com/services/T/B/canary", "bad_address"),
        ("slack", "canary", "bad_address"),
        ("pagerduty", "a" * 32, None),
        ("pagerduty", "two canaries", "bad_routing_key"),
        ("pagerduty", "", "bad_routing_key"),
        ("webhook", "canary", "bad_webhook_secret"),
        ("email", "any thing", None),
    ],
)
def test_values_of_secrets_are_judged_and_never_repeated(kind: str, value: str, code: str | None) -> None:
    found = value_problem(ReceiverKind(kind), value, Reach())
    assert (found and found[0]) == code
    assert "canar" not in (found[1] if found else "")


def test_the_test_of_a_webhook_is_still_a_ping() -> None:
    assert event_of_test(ReceiverKind.WEBHOOK) == "webhook.ping"
    assert event_of_test(ReceiverKind.SLACK) == "receiver.test"
