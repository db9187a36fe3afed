"""Webhooks without a database and a network: signatures, types, the schedule, and where messages may go."""

from __future__ import annotations

import base64
import ipaddress
import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from ipaddress import ip_network
from pathlib import Path

import pytest

from pipelines.domain.monitoring.webhooks import (
    DELAYS,
    JITTER,
    MOST_ATTEMPTS,
    DeliveryResponse,
    Reach,
    findings,
    key_of,
    next_delay,
    payload,
    secret_name,
    signature,
    signed_headers,
    wants,
)

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLOSED, REFERENCES = Reach(), ["${secret:hooks/ops}"]


def codes(url: str = "https://hooks.example.com/x", reach: Reach = CLOSED) -> list[str]:
    return [finding.code for finding in findings(url, ["*"], REFERENCES, reach)]


def test_the_signature_is_that_of_the_published_example() -> None:
    signed = signature(key_of(SECRET), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_two_keys_give_two_signatures_and_each_is_that_of_its_key() -> None:
    keys = [b"n" * 32, b"o" * 32]
    headers = signed_headers(keys, "msg_1", NOW, b"{}")
    assert headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    assert headers["webhook-signature"].split() == [signature(k, "msg_1", int(NOW.timestamp()), b"{}") for k in keys]


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        ("canary", "begin with whsec_"),
        ("whsec_canary!", "base64"),
        ("whsec_" + base64.b64encode(b"canary").decode(), "6 bytes"),
        ("whsec_" + base64.b64encode(b"c" * 65).decode(), "65 bytes"),
    ],
)
def test_a_secret_that_cannot_sign_is_refused_without_repeating_it(secret: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as refused:
        key_of(secret)
    assert secret not in str(refused.value)


@pytest.mark.parametrize(
    ("pattern", "kind", "wanted"),
    [
        ("*", "phase.changed", True),
        ("phase.changed", "phase.changed", True),
        ("phase.*", "phase.changed", True),
        ("migration.*", "migration.step.done", True),
        ("phase.*", "phases.changed", False),
        ("phase.*", "phase", False),
        ("phase", "phase.changed", False),
    ],
)
def test_types_match_whole_or_by_their_beginning(pattern: str, kind: str, wanted: bool) -> None:
    assert wants(["alert.opened", pattern], kind) is wanted


def test_the_schedule_is_that_of_the_specification_and_ends() -> None:
    failed = DeliveryResponse(500)
    middle = [next_delay(attempt, failed, now=NOW, chance=0.5) for attempt in range(1, MOST_ATTEMPTS)]
    assert middle == list(DELAYS)
    assert sum(DELAYS) == timedelta(hours=75, minutes=35, seconds=5).total_seconds()
    assert next_delay(MOST_ATTEMPTS, failed, now=NOW, chance=0.5) is None


def test_chance_moves_a_delay_by_a_tenth_at_most() -> None:
    early, late = (next_delay(2, DeliveryResponse(500), now=NOW, chance=chance) for chance in (0.0, 1.0))
    assert early == pytest.approx(300 * (1 - JITTER))
    assert late == pytest.approx(300 * (1 + JITTER))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        ("1", 5.0),
        ("999999999", 86_400.0),
        ("soon", 5.0),
        ("-5", 5.0),
        ("", 5.0),
        (format_datetime(NOW + timedelta(minutes=10), usegmt=True), 600.0),
        (format_datetime(NOW - timedelta(minutes=10), usegmt=True), 5.0),
    ],
)
def test_a_receiver_may_ask_for_more_time_up_to_a_day(header: str, seconds: float) -> None:
    assert next_delay(1, DeliveryResponse(503, "", header), now=NOW, chance=0.5) == seconds


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.1.2.3",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "::1",
        "::",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:7f00:1::",
        "2001:0:a00:1::",
    ],
)
def test_an_address_that_is_not_public_is_not_reached(address: str) -> None:
    assert not CLOSED.allows(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34", "64:ff9b::5db8:d822"]
)
def test_a_public_address_is_reached(address: str) -> None:
    assert CLOSED.allows(ipaddress.ip_address(address))


def test_a_network_that_was_allowed_is_reached_and_its_neighbour_is_not() -> None:
    reach = Reach(networks=(ip_network("10.1.0.0/16"), ip_network("::1/128")))
    assert all(reach.allows(ipaddress.ip_address(each)) for each in ("10.1.2.3", "::ffff:10.1.2.3", "::1"))
    assert not reach.allows(ipaddress.ip_address("10.2.0.1"))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://hooks.example.com:8443/a?b=c", []),
        ("http://hooks.example.com", ["https_required"]),
        ("ftp://hooks.example.com", ["https_required"]),
        ("https://user:pw@hooks.example.com", ["invalid_url"]),
        ("https://hooks.example.com/#part", ["invalid_url"]),
        ("https://169.254.169.254/latest", ["address_not_public"]),
        ("http://[::1]:80/", ["https_required", "address_not_public"]),
        ("https://", ["invalid_url"]),
        ("hooks", ["invalid_url"]),
        ("https://host:99999/", ["invalid_url"]),
        ("https://host name/", ["invalid_url"]),
        ("https://hööks.example.com/", ["invalid_url"]),
        ("https://h/" + "x" * 2000, ["invalid_url"]),
        ("https://h/\r\nX: y", ["invalid_url"]),
    ],
)
def test_an_address_is_judged_before_it_is_stored(url: str, expected: list[str]) -> None:
    assert codes(url) == expected


def test_settings_open_what_is_closed() -> None:
    open_reach = Reach(http=True, networks=(ip_network("127.0.0.0/8"),))
    assert codes("http://127.0.0.1:9000/", open_reach) == []


def test_all_findings_come_at_once_and_a_secret_in_the_clear_is_not_repeated() -> None:
    found = findings("nowhere", ["Phase", "phase.*", "*.changed"], [SECRET, "${secret:a}", "x"], CLOSED)
    assert [(f.path, f.code) for f in found] == [
        ("url", "invalid_url"),
        ("events[0]", "invalid_event_type"),
        ("events[2]", "invalid_event_type"),
        ("secrets", "secrets_missing"),
        ("secrets[0]", "secret_not_a_reference"),
        ("secrets[2]", "secret_not_a_reference"),
    ]
    assert SECRET not in str(found)
    assert all(finding.suggestion for finding in found)


def test_a_reference_is_the_whole_text() -> None:
    assert secret_name("${secret:hooks/ops}") == "hooks/ops"
    assert secret_name("x${secret:hooks/ops}") is None
    assert secret_name("${env:HOOKS}") is None


def test_the_example_in_the_documentation_verifies_what_is_sent() -> None:
    text = (Path(__file__).parents[4] / "docs" / "guides" / "webhooks.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102 - our own documentation
    verify = names["verify"]
    assert callable(verify)
    body, at = payload("phase.changed", "2026-01-01T00:00:00Z", {"id": 1}), datetime.now(UTC)
    other = "whsec_" + base64.b64encode(b"o" * 32).decode()
    headers = signed_headers([key_of(other), key_of(SECRET)], "msg_1", at, body)
    assert verify(SECRET, headers, body)
    assert not verify("whsec_" + base64.b64encode(b"x" * 32).decode(), headers, body)
    assert not verify(SECRET, headers, body + b" ")
    old = signed_headers([key_of(SECRET)], "msg_1", at - timedelta(minutes=6), body)
    assert not verify(SECRET, old, body)
