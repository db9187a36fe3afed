"""Entries of the event stream: sealed by those who write them with a key that Redis does not have, and read only where
the seal fits, so that a client of Redis can neither make up an event nor end the tail by one that is malformed."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings

_PURPOSE = b"headgate.events.v1"
_KINDS = frozenset({"event", "live"})
LARGEST = 1 << 20
"""Characters of one entry; the largest that Headgate writes are a hundredth of it."""


class Unsealed(Exception):
    """An entry that no process of this installation has written, or that is not what its kind has to be."""


def seal(kind: str, data: str) -> dict[str, str]:
    """The fields of an entry with its seal."""
    return {"kind": kind, "data": data, "seal": _seal(kind, data)}


def unseal(fields: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Kind and content of an entry. Raises Unsealed."""
    kind, data, given = (fields.get(name) for name in ("kind", "data", "seal"))
    if not (isinstance(kind, str) and isinstance(data, str) and isinstance(given, str)) or len(data) > LARGEST:
        raise Unsealed("An entry of the event stream has not the fields that Headgate writes.")
    if kind not in _KINDS or not hmac.compare_digest(given.encode("utf-8", "replace"), _seal(kind, data).encode()):
        raise Unsealed(
            "An entry of the event stream was not written by this installation. If a process of yours wrote it, give "
            "all of them the same HEADGATE_SECRET_KEY."
        )
    return kind, _content(kind, data)


def _content(kind: str, data: str) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or (kind == "event" and type(content.get("id")) is not int):
        raise Unsealed("An entry of the event stream is malformed.")
    return content


def _seal(kind: str, data: str) -> str:
    key = hmac.digest(settings.SECRET_KEY.encode(), _PURPOSE, hashlib.sha256)
    return hmac.new(key, f"{kind}\n{data}".encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
