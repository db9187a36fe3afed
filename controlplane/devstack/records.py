"""The numbered records of the demo: what is produced, what the filter keeps, and how a number is found again."""

from __future__ import annotations

import json

NOISE_EVERY = 20
KEPT = r"^\{"
_COUNTRIES = ("CZ", "DE", "FR", "IN", "US")


def body(number: int) -> bytes:
    """Record `number` as bytes: an order in JSON, every twentieth a keep-alive line that the demo's filter drops."""
    if is_noise(number):
        return f"# keep-alive {number}".encode()
    order = {"number": number, "country": _COUNTRIES[number % len(_COUNTRIES)], "amount": number * 37 % 10_000 / 100}
    return json.dumps(order).encode()


def is_noise(number: int) -> bool:
    return number % NOISE_EVERY == 0


def number_in(record: bytes) -> int:
    """The number of any record, that of a keep-alive line included. Raises ValueError for what is neither."""
    head, _, number = record.rpartition(b" ")
    return int(number) if head == b"# keep-alive" else number_of(record)


def number_of(record: bytes) -> int:
    """The number of a record that the filter kept. Raises ValueError for anything else."""
    content = json.loads(record)
    if not isinstance(content, dict) or not isinstance(content.get("number"), int):
        raise ValueError("not an order")
    return int(content["number"])
