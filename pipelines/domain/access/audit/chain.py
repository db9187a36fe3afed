"""The chain of the audit: each row's digest covers the row and the digest before it; a signed head names the last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

GENESIS = "0" * 64
HEAD_FORMAT = "headgate/audit-head/v1"
CHECK_FORMAT = "headgate/audit-check/v1"

Record = Mapping[str, Any]
"""The columns of a row that are not empty, so that a column which is added later changes no digest."""


class Key(Protocol):
    """What signatures are verified by."""

    @property
    def id(self) -> str:
        """A short name of the key."""

    def verifies(self, signature: object, content: bytes) -> bool:
        """Whether it is the signature of the content."""


@dataclass(frozen=True)
class Link:
    """A row as the chain has it."""

    sequence: int
    digest: str
    record: Record


@dataclass(frozen=True)
class Head:
    """The end of the chain, signed: what is cut off behind it is missed."""

    sequence: int
    digest: str
    at: datetime
    key: str
    signature: str

    def is_signed_by(self, key: Key) -> bool:
        """Whether the signature is that of `key`."""
        return key.verifies(self.signature, head_text(self.sequence, self.digest, self.at))


@dataclass(frozen=True)
class Verified:
    """How far the chain holds; `problem` is the first thing that does not, empty where all holds."""

    rows: int
    digest: str
    problem: str = ""

    @property
    def holds(self) -> bool:
        """Whether nothing was found."""
        return not self.problem


BEGIN = Verified(0, GENESIS)
"""Before the first row."""


@dataclass(frozen=True)
class Checked:
    """What a walk over the whole chain found, and when; signed, since it is kept beside the rows."""

    at: datetime
    sequence: int
    digest: str
    problem: str
    signature: str = ""

    @property
    def text(self) -> bytes:
        """What the signature covers."""
        at = self.at.astimezone(UTC).isoformat()
        return f"{CHECK_FORMAT}\n{at}\n{self.sequence}\n{self.digest}\n{self.problem}".encode()

    def is_signed_by(self, key: Key) -> bool:
        """Whether the signature is that of `key`."""
        return key.verifies(self.signature, self.text)


def record_of(columns: Mapping[str, Any]) -> Record:
    """What a digest covers of a row."""
    return {name: _plain(value) for name, value in columns.items() if value not in ("", None)}


def _plain(value: Any) -> Any:
    """A value as both databases give it back: PostgreSQL writes 1e3 as 1000."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def digest(before: str, sequence: int, record: Record) -> str:
    """The digest of a row that follows the digest `before`."""
    text = json.dumps([before, sequence, record], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def head_text(sequence: int, last: str, at: datetime) -> bytes:
    """What the signature of a head covers."""
    return f"{HEAD_FORMAT}\n{sequence}\n{last}\n{at.astimezone(UTC).isoformat()}".encode()


def verify(links: Iterable[Link], head: Head | None, key: Key, kept: tuple[int, str] | None = None) -> Verified:
    """Walk rows in their order from the first one, and compare their end with the head. `kept`: sequence and digest of
    an earlier head that was stored elsewhere."""
    return compared(walk(links, kept=kept), head, key, kept)


def walk(links: Iterable[Link], after: Verified = BEGIN, kept: tuple[int, str] | None = None) -> Verified:
    """Go on from `after` over the rows that follow it."""
    number, last = after.rows, after.digest
    for link in links:
        if problem := _of_link(link, number + 1, last) or _of_kept(link, kept):
            return Verified(number, last, problem)
        number, last = link.sequence, link.digest
    return Verified(number, last)


def compared(found: Verified, head: Head | None, key: Key, kept: tuple[int, str] | None = None) -> Verified:
    """What a walk over all rows found, with what its end says."""
    return found if found.problem else replace(found, problem=_of_end(found.rows, found.digest, head, key, kept))


def _of_link(link: Link, expected: int, before: str) -> str:
    if link.sequence > expected:
        return f"Row {expected} is missing: row {link.sequence} follows row {expected - 1}."
    if link.sequence < expected:
        return f"Row {link.sequence} is there twice."
    if link.digest != digest(before, link.sequence, link.record):
        named = " ".join(str(link.record.get(name, "")) for name in ("at", "actor", "action")).strip()
        return f"Row {link.sequence} was changed, or is not the row that was sealed there: {named}."
    return ""


def _of_kept(link: Link, kept: tuple[int, str] | None) -> str:
    if kept is not None and kept[0] == link.sequence and kept[1] != link.digest:
        return f"Row {link.sequence} has another digest than the head that was kept: the chain was written again."
    return ""


def _of_end(number: int, last: str, head: Head | None, key: Key, kept: tuple[int, str] | None) -> str:
    if kept is not None and number < kept[0]:
        return f"The chain ends at row {number}, before row {kept[0]} of the head that was kept."
    if head is None:
        return "The head of the chain is missing." if number else ""
    if number != head.sequence:
        return f"Rows {number + 1} to {head.sequence} are missing at the end."
    if last != head.digest:
        return f"The head names another digest than row {number} has."
    if not head.is_signed_by(key):
        return f"The head is not signed by the key {key.id}; it names the key {head.key}."
    return ""
