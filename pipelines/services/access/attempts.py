"""How often one may try to log in. Attempts are counted before a password is hashed, in the database, so that neither
many requests at once nor many processes give more of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from ipaddress import IPv4Address, ip_address, ip_network
from threading import BoundedSemaphore

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from pipelines.foundation import clock
from pipelines.foundation.errors import TooManyRequests
from pipelines.models import LoginCount
from pipelines.services.base.audit import Actor

WINDOW = timedelta(minutes=5)
PER_USER_AND_NETWORK = 5
PER_USER = 30
PER_NETWORK = 50
SIGN_INS_PER_NETWORK = 300

HASHES_AT_ONCE = max(1, (os.cpu_count() or 1) // 2)
"""A password hash takes a processor for a good while: other requests need the rest of them."""
SECONDS_FOR_A_TURN = 5.0
_hashing = BoundedSemaphore(HASHES_AT_ONCE)


def admit(actor: Actor) -> None:
    """Count an attempt of the actor's name from its network. Raises TooManyRequests where a limit is reached."""
    now = clock.now()
    with transaction.atomic():
        counts = [(_count(key, now), most) for key, most in _limits(actor)]
    if any(count > most for count, most in counts):
        raise _too_many("Too many failed attempts to log in.")


def admit_sign_in(address: str) -> None:
    """Count a sign-in that begins at a provider, since each takes a session. Raises TooManyRequests."""
    with transaction.atomic():
        count = _count(_key("sign-in", network_of(address)), clock.now())
    if count > SIGN_INS_PER_NETWORK:
        raise _too_many("Too many sign-ins were started in your network.")


def counted(*parts: str) -> int:
    """Count something else by its name; returns how often the window has it. In the caller's transaction."""
    return _count(_key(*parts), clock.now())


def forgive(actor: Actor, *, of: int = 1) -> None:
    """Take back what the last attempts counted, since they were right: only wrong ones are counted."""
    (own, _), *shared = _limits(actor)
    LoginCount.objects.filter(key=own).update(attempts=0)
    keys = [key for key, _ in shared]
    LoginCount.objects.filter(key__in=keys).update(attempts=Greatest(F("attempts") - of, 0))


@contextmanager
def turn_to_hash() -> Iterator[None]:
    """Hold one of the places for hashing a password. Raises TooManyRequests after `SECONDS_FOR_A_TURN`."""
    if not _hashing.acquire(timeout=SECONDS_FOR_A_TURN):
        raise TooManyRequests("Many users log in right now.", code="busy_logins", hint="Try again.", retry_after=2)
    try:
        yield
    finally:
        _hashing.release()


def network_of(address: str) -> str:
    """The network that one subscriber has: /24 of IPv4, /64 of IPv6; the text itself where it is no address."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    found = getattr(found, "ipv4_mapped", None) or found
    return str(ip_network((found, 24 if isinstance(found, IPv4Address) else 64), strict=False))


def _too_many(text: str) -> TooManyRequests:
    seconds = int(WINDOW.total_seconds())
    hint = f"Wait {seconds // 60} minutes."
    return TooManyRequests(text, code="too_many_logins", hint=hint, retry_after=seconds)


def _limits(actor: Actor) -> list[tuple[str, int]]:
    """Keys and the most attempts of each, that of user and network first. The order is that in which rows are locked,
    the same for every attempt."""
    user, network = actor.name.casefold(), network_of(actor.address)
    return [
        (_key("both", user, network), PER_USER_AND_NETWORK),
        (_key("user", user), PER_USER),
        (_key("network", network), PER_NETWORK),
    ]


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _count(key: str, now: datetime) -> int:
    """Add one attempt and return how many the window has; the caller's transaction holds the row until it ends."""
    over = now - WINDOW
    _, is_new = LoginCount.objects.get_or_create(key=key, defaults={"since": now})
    if is_new:
        LoginCount.objects.filter(since__lt=over - WINDOW).delete()
    rows = LoginCount.objects.filter(key=key)
    rows.filter(since__lt=over).update(attempts=0, since=now)
    rows.update(attempts=F("attempts") + 1)
    return rows.values_list("attempts", flat=True).get()
