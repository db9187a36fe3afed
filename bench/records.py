"""The records of a benchmark: JSON objects of 200 bytes that carry their number and the instant they were sent.

A number that arrives twice or never is seen when the sink is read back; an instant gives the latency.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

SIZE = 200
PATTERN = r'^\{"n":"[0-9]{10}"'
"""What the regex filter of every system looks for; all records match, so that all systems deliver the same."""
SHOPS = ("a", "b", "c")
SHOP_HEADER = "shop"

_PLAIN = b'{"n":"'
_SENT = b'","sent":"'
_NUMBER = re.compile(rb'"n": ?"(\d{10})"')
_SENT_AT = re.compile(rb'"sent": ?"(\d{19})"')
_NOTE = b"left at the door, the neighbour has the key; please ring twice and wait, the bell is slow in winter"


def shop(number: int) -> str:
    """Where a record belongs, by turns."""
    return SHOPS[number % len(SHOPS)]


def body(number: int, sent_ns: int = 0) -> bytes:
    """Record `number`, sent at `sent_ns` nanoseconds since 1970, in exactly 200 bytes."""
    head = b'{"n":"%010d","sent":"%019d","shop":"%s","amount":%d,"ref":"%08x","note":"' % (
        number,
        sent_ns,
        shop(number).encode(),
        1_000_000 + number * 7919 % 9_000_000,
        number * 2_654_435_761 & 0xFFFFFFFF,
    )
    return head + _NOTE[: SIZE - len(head) - 2].ljust(SIZE - len(head) - 2) + b'"}'


def number_of(value: bytes) -> int:
    """The number of a record, also of one that was parsed and written again. Raises ValueError where it has none."""
    if value.startswith(_PLAIN):
        return int(value[6:16])
    match = _NUMBER.search(value)
    if match is None:
        raise ValueError(f"not a record of this benchmark: {value[:60]!r}")
    return int(match[1])


def sent_ns_of(value: bytes) -> int:
    """When it was sent, in nanoseconds since 1970. Raises ValueError where it does not say."""
    if value[16:26] == _SENT:
        return int(value[26:45])
    match = _SENT_AT.search(value)
    if match is None:
        raise ValueError(f"not a record of this benchmark: {value[:60]!r}")
    return int(match[1])


@dataclass
class Delivered:
    """What a sink holds of `count` records: how often each number, and how many were appended at each millisecond."""

    count: int
    arrivals: Counter[int] = field(default_factory=Counter)
    total: int = 0
    latencies_ms: list[float] = field(default_factory=list)
    strangers: int = 0

    def __post_init__(self) -> None:
        self._seen = bytearray(self.count)

    def add(self, value: bytes, appended_ms: int) -> None:
        """One record and the instant of the log at which it was appended."""
        number = number_of(value)
        self.total += 1
        self.arrivals[appended_ms] += 1
        if number >= self.count:
            self.strangers += 1
        elif self._seen[number] < 255:
            self._seen[number] += 1

    @property
    def missing(self) -> int:
        """Numbers that never arrived."""
        return self._seen.count(0)

    @property
    def duplicates(self) -> int:
        """Records that are there more often than once."""
        return self.total - self.strangers - (self.count - self.missing)

    @property
    def exact(self) -> bool:
        """Every record once, and no other."""
        return not (self.missing or self.duplicates or self.strangers)
