"""The evidence of a migration: one document, and a digest over its content that anybody can check."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from pipelines.domain.ledger.ledger import COUNTERS, Counts

FORMAT = "headgate/migration-evidence/v1"
ALGORITHM = "Ed25519"


class Key(Protocol):
    """What signatures are verified by."""

    @property
    def id(self) -> str:
        """A short name of the key."""

    def verifies(self, signature: object, content: bytes) -> bool:
        """Whether it is the signature of the content."""


def canonical(content: Any) -> str:
    """One JSON text for the same content: sorted keys, no spaces."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The document: format, content, and the SHA-256 of both as canonical JSON."""
    plain = json.loads(json.dumps({"format": FORMAT, "content": content}, default=_plain))
    return {**plain, "sha256": _digest(plain)}


def signed(document: Mapping[str, Any], *, key: str, sign: Callable[[bytes], str]) -> dict[str, Any]:
    """The document with the signature of an installation, whose key has the id `key`, over format and digest."""
    return {**document, "signature": {"algorithm": ALGORITHM, "key": key, "value": sign(_signed_text(document))}}


def _signed_text(document: Mapping[str, Any]) -> bytes:
    return f"{document['format']}\n{document['sha256']}".encode()


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def text(document: Mapping[str, Any]) -> str:
    """The document as a file: readable, and without what could steer a terminal, which is escaped."""
    written = json.dumps(document, indent=2, ensure_ascii=False)
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", written) + "\n"


_STEERING = re.compile(r"[\x7f-\x9f]")


def _digest(document: Mapping[str, Any]) -> str:
    body = {"format": document.get("format"), "content": document.get("content")}
    return hashlib.sha256(canonical(body).encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Verified:
    """Whether a file is evidence that nobody has touched; `reason` why it is not. `signed_by`: the id of the key by
    which its signature was verified."""

    holds: bool
    reason: str
    sha256: str = ""
    signed_by: str = ""


def verify(text: str, key: Key | None = None) -> Verified:
    """Check a file: its digest, and by `key` its signature. A digest alone can be computed again by anybody who changes
    the content. Nothing may stand beside the content, or twice: a reader could take it for the evidence."""
    try:
        document = json.loads(text, object_pairs_hook=_each_once)
        found = _digest(document) if isinstance(document, dict) else ""
    except _Twice as twice:
        return Verified(False, f"The content was changed: it has the key {twice} twice.")
    except (ValueError, RecursionError):
        return Verified(False, "The file is not JSON.")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return Verified(False, f"The file is not a migration report: its format is not {FORMAT}.")
    if more := sorted(document.keys() - {"format", "content", "sha256", "signature"}):
        return Verified(False, f"The content was changed: there are other keys beside it: {', '.join(more)}.", found)
    named = document.get("sha256")
    if named != found:
        return Verified(
            False, f"The content was changed: its digest is {found}, and the document records {named}.", found
        )
    return Verified(True, "", found) if key is None else _by_signature(document, found, key)


def _by_signature(document: Mapping[str, Any], found: str, key: Key) -> Verified:
    given = document.get("signature")
    if not isinstance(given, dict):
        return Verified(False, "The document is not signed.", found)
    if given.keys() != {"algorithm", "key", "value"} or given["algorithm"] != ALGORITHM:
        return Verified(False, f"The signature is not one of {ALGORITHM}.", found)
    if given["key"] != key.id or not key.verifies(given["value"], _signed_text(document)):
        words = f"The signature is not of the key {key.id}; the document names the key {str(given['key'])[:64]!r}."
        return Verified(False, words, found)
    return Verified(True, "", found, key.id)


class _Twice(Exception):
    """A key that a mapping has twice."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Twice(key)
        found[key] = value
    return found


def between(stopped: Sequence[Mapping[str, Any]], started: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Per partition: where the old side stopped, where the new one began, and what lies between or doubly.

    Rows have source, channel, topic, partition and offset; a partition that only one side knows has None for the other.
    """
    ends, starts = _by_place(stopped), _by_place(started)
    return [_gap(place, ends.get(place), starts.get(place)) for place in sorted({*ends, *starts})]


Place = tuple[str, str, str, int]


def _by_place(rows: Sequence[Mapping[str, Any]]) -> dict[Place, int]:
    return {(row["source"], row["channel"], row["topic"], row["partition"]): row["offset"] for row in rows}


def _gap(place: Place, end: int | None, start: int | None) -> dict[str, Any]:
    known = end is not None and start is not None
    return {
        "source": place[0],
        "channel": place[1],
        "topic": place[2],
        "partition": place[3],
        "stopped_at": end,
        "started_at": start,
        "gap": max(0, start - end) if known else None,  # type: ignore[operator]
        "overlap": max(0, end - start) if known else None,  # type: ignore[operator]
    }


def across(translated: Sequence[Mapping[str, Any]], started: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same where the sides read different clusters: rows of a translation (cluster_move.PartitionTranslation), and
    where the new side began. Records that were announced to be skipped or to come again lie between, or doubly."""
    starts = _by_place(started)
    rows = []
    for row in translated:
        at = starts.get((row["source"], row["channel"], row["topic"], row["partition"]))
        known = at is not None and row["skip"] is not None
        rows.append(
            {
                **{name: row[name] for name in _OF_TRANSLATION},
                "translated": row["new"],
                "started_at": at,
                "gap": row["skip"] + max(0, at - row["new"]) if known else None,
                "overlap": row["replay"] + max(0, row["new"] - at) if known else None,
            }
        )
    return rows


_OF_TRANSLATION = (
    "source",
    "channel",
    "topic",
    "partition",
    "old_topic",
    "stopped_at",
    "by",
    "exact",
    "skip",
    "replay",
    "evidence",
    "cluster_id",
)


def sums(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Of rows of `between` or `across`: records that lie between, that were read twice, and rows without both sides."""
    return {
        "gap": sum(row["gap"] or 0 for row in rows),
        "overlap": sum(row["overlap"] or 0 for row in rows),
        "not_compared": sum(row["gap"] is None for row in rows),
    }


def durations(log: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How long each step took, in seconds."""
    return [
        {
            "step": row["name"],
            "stage": row["stage"],
            "state": row["state"],
            "started_at": row["intent_at"],
            "ended_at": row["done_at"],
            "seconds": _seconds(row["intent_at"], row["done_at"]),
            "tried": row["tried"],
            "message": row["message"],
        }
        for row in log
    ]


def stages(log: Sequence[Mapping[str, Any]], ended_at: str | None) -> list[dict[str, Any]]:
    """How long each stage took: from its first step's intent to that of the next stage, or to the end. What waits at a
    gate, or for a person, counts for the stage that it comes after."""
    started = [(row["stage"], row["intent_at"]) for row in log if row["intent_at"]]
    changes = [each for before, each in itertools.pairwise([(None, None), *started]) if before[0] != each[0]]
    return [
        {"stage": stage, "started_at": started, "ended_at": end, "seconds": _seconds(started, end)}
        for (stage, started), (_, end) in itertools.pairwise([*changes, (None, ended_at)])
    ]


def difference(totals: Mapping[str, int]) -> int | None:
    """Records without a verdict; None where nothing was written down."""
    known = {name: totals[name] for name in COUNTERS if name in totals}
    return Counts(**known).difference if known else None


def _seconds(started: str | None, ended: str | None) -> float | None:
    if started is None or ended is None:
        return None
    return round((datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds(), 3)
