"""Webhooks: which events an endpoint wants, how a message is signed, when it is sent again. Pure.

Standard Webhooks 1.0.0: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from ipaddress import IPv6Address
from typing import Any
from urllib.parse import SplitResult, urlsplit

from pipelines.domain.access.secrets import NAME
from pipelines.domain.base.addresses import Address, Network, address_of, faces
from pipelines.domain.base.findings import Finding, quote

PING = "webhook.ping"
"""The event of a trial; it goes to the endpoint that is tried and to no other."""
MOST_PATTERNS = 100
MOST_SECRETS = 2
LONGEST_URL = 2_000
SECRET_PREFIX = "whsec_"  # noqa: S105 - how every secret begins
SHORTEST_KEY, LONGEST_KEY = 24, 64

DELAYS = (5.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0)
"""Seconds from one failed attempt to the next, as the specification gives them: ten attempts in three days."""
MOST_ATTEMPTS = len(DELAYS) + 1
JITTER = 0.1
LONGEST_RETRY_AFTER = DELAYS[-1]

_REFERENCE = re.compile(rf"\$\{{secret:({NAME})\}}")
_PATTERN = re.compile(r"\*|[a-z][a-z0-9_]*(\.[a-z0-9_]+)*(\.\*)?")
_LONGEST_PATTERN = 64
_URL_CHARACTERS = re.compile(r"[\x21-\x7e]+")


class DeliveryState(StrEnum):
    """WAITING for its next attempt, SENDING now, DELIVERED, FAILED for good, or SUPPRESSED by a silence."""

    WAITING = "WAITING"
    SENDING = "SENDING"
    DELIVERED = "DELIVERED"
    FAILED = "FAILED"
    SUPPRESSED = "SUPPRESSED"


OPEN = (DeliveryState.WAITING, DeliveryState.SENDING)


@dataclass(frozen=True)
class Reach:
    """Where webhooks may go: `http` without encryption too, `networks` although they are not public."""

    http: bool = False
    networks: tuple[Network, ...] = ()

    def allows(self, address: Address) -> bool:
        """Whether an address may be connected to; one that carries another one in itself only if both may be."""
        return all(_is_public(each) or self._names(each) for each in faces(address))

    def _names(self, address: Address) -> bool:
        return any(address in network for network in self.networks)


def _is_public(address: Address) -> bool:
    local = isinstance(address, IPv6Address) and address.is_site_local
    return address.is_global and not address.is_multicast and not local


def findings(url: str, events: Sequence[str], secrets: Sequence[str], reach: Reach) -> list[Finding]:
    """Everything that is wrong with an endpoint as a person describes it."""
    return [*of_address(url, reach), *of_event_types(events), *_of_secrets(secrets)]


def of_address(url: str, reach: Reach) -> Iterator[Finding]:
    """What is wrong with an address that messages are posted to."""
    parts = _split(url)
    if parts is None or not parts.hostname:
        yield Finding(
            path="url",
            code="invalid_url",
            message="It is not an address that can be called.",
            suggestion='Write "https://host:port/path" in ASCII, at most 2,000 characters.',
        )
        return
    if parts.scheme != "https" and not (reach.http and parts.scheme == "http"):
        yield Finding(
            path="url",
            code="https_required",
            message="Messages are sent with encryption alone.",
            suggestion="Use https://, or set HEADGATE_WEBHOOK_HTTP=true on web servers and workers.",
        )
    if "@" in parts.netloc or parts.fragment:
        message = "It has a user name, a password or a fragment."
        yield Finding(path="url", code="invalid_url", message=message, suggestion="Remove them.")
    literal = address_of(parts.hostname)
    if literal is not None and not reach.allows(literal):
        yield Finding(path="url", code="address_not_public", message=f"{literal} is not public.", suggestion=ALLOW)


ALLOW = "Name its network in HEADGATE_WEBHOOK_NETWORKS on web servers and workers, if it is to be reached."


def _split(url: str) -> SplitResult | None:
    if len(url) > LONGEST_URL or not _URL_CHARACTERS.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        return parts if parts.port != 0 else None
    except ValueError:
        return None


def not_public(host: str, addresses: Iterable[Address]) -> str:
    """The words where none of a host's addresses may be connected to."""
    shown = ", ".join(map(str, addresses))
    return f"{host} is {shown}, which is not public. {ALLOW}"


def of_event_types(events: Sequence[str]) -> Iterator[Finding]:
    """What is wrong with types of events."""
    if not 0 < len(events) <= MOST_PATTERNS:
        message = f"It names {len(events)} types of events; 1 to {MOST_PATTERNS} are possible."
        yield Finding(path="events", code="events_missing", message=message, suggestion='Write ["*"] for all.')
    for index, pattern in enumerate(events):
        if len(pattern) > _LONGEST_PATTERN or not _PATTERN.fullmatch(pattern):
            yield Finding(
                path=f"events[{index}]",
                code="invalid_event_type",
                message=f"{quote(pattern)} is no type of events.",
                suggestion="Write a type (phase.changed), the beginning of types (migration.*), or *.",
            )


def _of_secrets(secrets: Sequence[str]) -> Iterator[Finding]:
    if not 0 < len(secrets) <= MOST_SECRETS:
        message = f"{len(secrets)} secrets are given; one signs, and a second one while it is exchanged."
        yield Finding(path="secrets", code="secrets_missing", message=message, suggestion="Name one or two.")
    for index, each in enumerate(secrets):
        if secret_name(each) is None:
            yield not_a_reference(index)


def not_a_reference(index: int) -> Finding:
    """The finding at a secret that is none. The text itself is not repeated: it may be the secret."""
    return Finding(
        path=f"secrets[{index}]",
        code="secret_not_a_reference",
        message="It is not a reference to a secret.",
        suggestion='Store it with `headgate secrets set NAME --for receivers`, and write "${secret:NAME}".',
    )


def secret_name(reference: str) -> str | None:
    """The name in `${secret:NAME}`; None for any other text."""
    match = _REFERENCE.fullmatch(reference)
    return match[1] if match else None


def wants(patterns: Iterable[str], kind: str) -> bool:
    """Whether events of a kind match one of the patterns: a type, the beginning of types with `.*`, or `*`."""
    return any(
        pattern in {"*", kind} or (pattern.endswith(".*") and kind.startswith(pattern[:-1])) for pattern in patterns
    )


def key_of(secret: str) -> bytes:
    """The key in a secret `whsec_` and base64. Raises ValueError with words that do not repeat it."""
    if not secret.startswith(SECRET_PREFIX):
        raise ValueError(f"it does not begin with {SECRET_PREFIX}")
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"what follows {SECRET_PREFIX} is not base64") from None
    if not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
        raise ValueError(f"its key has {len(key)} bytes instead of {SHORTEST_KEY} to {LONGEST_KEY}")
    return key


def signature(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """`v1,` and the HMAC-SHA256 of id, time of the attempt in seconds, and body."""
    signed = b".".join([message_id.encode(), str(timestamp).encode(), body])
    return f"v1,{base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()}"


def signed_headers(keys: Sequence[bytes], message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """The headers of an attempt at `at`: one signature for each key, so that a receiver may know either."""
    timestamp = int(at.timestamp())
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature(key, message_id, timestamp, body) for key in keys),
    }


def payload(kind: str, at: str, data: Mapping[str, Any]) -> bytes:
    """The body of a message; `at`: when the event happened."""
    return json.dumps({"type": kind, "timestamp": at, "data": data}, separators=(",", ":")).encode()


@dataclass(frozen=True)
class DeliveryResponse:
    """What came of an attempt: the status of the answer, or why there was none. `retry_after`: its header."""

    status: int | None
    error: str = ""
    retry_after: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the receiver has it."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def gone(self) -> bool:
        """Whether the receiver wants no more messages, ever."""
        return self.status == 410


def next_delay(attempts: int, answer: DeliveryResponse, *, now: datetime, chance: float) -> float | None:
    """Seconds until the next attempt, after `attempts` failed ones; None where that was the last.

    `chance`, from 0 to 1, moves it by up to a tenth to either side. A receiver may ask for more time, up to a day.
    """
    if attempts >= MOST_ATTEMPTS:
        return None
    delay = DELAYS[attempts - 1] * (1 + JITTER * (2 * chance - 1))
    return max(delay, min(_asked_for(answer.retry_after, now), LONGEST_RETRY_AFTER))


def _asked_for(header: str, now: datetime) -> float:
    """Seconds that Retry-After asks for, which is a number or a date; 0 where it is neither."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return (parsedate_to_datetime(text) - now).total_seconds()
    except (ValueError, TypeError):
        return 0.0
