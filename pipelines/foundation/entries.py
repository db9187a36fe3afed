"""Entries of the event stream: sealed by those who write them with a key that Redis does not have, and read only where
the seal fits, so that a client of Redis can neither make up an event nor end the tail by one that is malformed."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings

_PURPOSE = b"headgate.events.v1"
_KINDS = frozenset({"event", "live"})
_NOBODY = ""
"""In a field that is text: no team, or no pipeline."""
LARGEST = 1 << 20
"""Characters of one entry; the largest that Headgate writes are a hundredth of it."""


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


def seal(entry: Entry) -> dict[str, str]:
    """The fields of an entry with its seal."""
    team = _NOBODY if entry.team is None else str(entry.team)
    fields = (entry.kind, team, entry.pipeline or _NOBODY, entry.data)
    return dict(zip(_FIELDS, (*fields, _seal(fields)), strict=True))


_FIELDS = ("kind", "team", "pipeline", "data", "seal")


def unseal(fields: Mapping[str, Any]) -> Entry:
    """What was sealed. Raises Unsealed."""
    *content, given = (str(fields.get(name, "")) for name in _FIELDS)
    kind, team, pipeline, data = content
    if not all(isinstance(fields.get(name), str) for name in _FIELDS) or len(data) > LARGEST:
        raise Unsealed("An entry of the event stream has not the fields that Headgate writes.")
    if kind not in _KINDS or not hmac.compare_digest(given.encode("utf-8", "replace"), _seal(content).encode()):
        raise Unsealed(
            "An entry of the event stream was not written by this installation. If a process of yours wrote it, give "
            "all of them the same HEADGATE_SECRET_KEY."
        )
    return Entry(kind, int(team) if team else None, pipeline or None, data)


def _seal(content: Sequence[str]) -> str:
    message = "\n".join(content).encode("utf-8", "surrogatepass")
    return hmac.digest(_key(settings.SECRET_KEY), message, "sha256").hex()


@lru_cache(maxsize=1)
def _key(secret: str) -> bytes:
    return hmac.digest(secret.encode(), _PURPOSE, "sha256")
