"""Entries of the event stream: sealed by those who write them with a key that Redis does not have, and read only where
the seal fits, so that a client of Redis can neither make up an event nor end the tail by one that is malformed. What is
written together has one seal: with a seal for each, a third of a reader's work was to check them."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings

_PURPOSE = b"headgate.events.v2"
_KINDS = frozenset({"event", "live"})
_NOBODY = ""
"""In a field that is text: no team, or no pipeline."""
_FIELDS = 4
"""Of an entry, with tabs between them."""
LARGEST = 1 << 20
"""Characters of what is written together; the most that Headgate writes is a tenth of it."""


class Unsealed(Exception):
    """An entry that no process of this installation has written, or that is not what its kind has to be."""


@dataclass(frozen=True)
class Entry:
    """`kind`: `event` or `live`. `team`: the one that may see it, None where only those who see every team may.
    `pipeline`: what it is about, None for the installation. `data`: its content as JSON on one line, passed on without
    being parsed."""

    kind: str
    team: int | None
    pipeline: str | None
    data: str


def seal(entries: Sequence[Entry]) -> dict[str, str]:
    """The fields of entries that are written together, with their seal."""
    text = "\n".join(map(_line, entries))
    return {"entries": text, "seal": _seal(text)}


def unseal(fields: Mapping[str, Any]) -> list[Entry]:
    """What was sealed. Raises Unsealed."""
    text, given = fields.get("entries"), fields.get("seal")
    if not isinstance(text, str) or not isinstance(given, str) or len(text) > LARGEST:
        raise Unsealed("An entry of the event stream has not the fields that Headgate writes.")
    if not hmac.compare_digest(given.encode("utf-8", "replace"), _seal(text).encode()):
        raise Unsealed(
            "An entry of the event stream was not written by this installation. If a process of yours wrote it, give "
            "all of them the same HEADGATE_SECRET_KEY."
        )
    return [_entry(line) for line in text.split("\n")]


def _line(entry: Entry) -> str:
    """Tabs and line ends separate: names have none, and JSON escapes its own."""
    team = _NOBODY if entry.team is None else str(entry.team)
    line = "\t".join((entry.kind, team, entry.pipeline or _NOBODY, entry.data))
    if line.count("\t") != _FIELDS - 1 or "\n" in line:
        raise ValueError("An entry of the event stream is one line of four fields.")
    return line


def _entry(line: str) -> Entry:
    fields = line.split("\t")
    if len(fields) != _FIELDS or fields[0] not in _KINDS:
        raise Unsealed("An entry of the event stream is of no kind that this version of Headgate knows.")
    kind, team, pipeline, data = fields
    return Entry(kind, int(team) if team else None, pipeline or None, data)


def _seal(text: str) -> str:
    return hmac.digest(_key(settings.SECRET_KEY), text.encode("utf-8", "surrogatepass"), "sha256").hex()


@lru_cache(maxsize=1)
def _key(secret: str) -> bytes:
    return hmac.digest(secret.encode(), _PURPOSE, "sha256")
