"""Events that could not be processed: kept with what was wrong, before their batch is done."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from pipelines.domain.ledger.journal import DeadLetter, DeadLetters, Planned
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.runs.crashes import QUARANTINE
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base.findings import Blocked
from workers.agent.graph.batch import Attempt, Refusal, base64_text
from workers.agent.graph.component import DeadLetterBuilder, Place
from workers.agent.run_dir.journal_writer import Journal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LARGEST_BODY = 16 * 1024
"""Bytes of a body that the journal carries; what is longer lies whole where the dead letters go."""
_AT_A_TIME = 100


class DeadLetterQueue:
    """Takes the dead letters of all channels of an agent."""

    def __init__(self, builder: DeadLetterBuilder, journal: Journal, max_rate: int) -> None:
        self._builder = builder
        self._journal = journal
        self._max_rate = max_rate

    def take(self, planned: Planned, attempt: Attempt, sink: str) -> None:
        """Keep whatever of a delivered pass was not delivered because it is bad; on disk when this returns.

        Raises Blocked where one component has made more dead letters than `errors.max_rate`.
        """
        counts = attempt.counts
        if not counts.dead_lettered + counts.unrouted:
            return
        self._check_rate(counts)
        seen: Counter[tuple[str, int, int, str]] = Counter()
        found = _chain(attempt.dead(), [_with_component(refusal, sink) for refusal in attempt.refusals])
        listed = 0
        while group := list(islice(found, _AT_A_TIME)):
            locations = self._builder.store(planned, group)
            if listed < max(self._max_rate, _AT_A_TIME):
                self._list(planned, group, locations, seen)
            listed += len(group)

    def _check_rate(self, counts: Counts) -> None:
        """Of a batch that its sink has since an earlier version, nobody has counted by component."""
        made = {path: each.get("dead_lettered", 0) for path, each in (counts.parts or {}).items() if path != QUARANTINE}
        component = max(made, key=made.__getitem__, default="")
        if component and made[component] > self._max_rate:
            raise Blocked(_too_many(component, made[component], self._max_rate))

    def _list(
        self, planned: Planned, group: Iterable[Refusal], locations: list[str], seen: Counter[tuple[str, int, int, str]]
    ) -> None:
        at, dead_letters = time.time(), []
        for refusal, location in zip(group, locations, strict=True):
            one = (refusal.topic, refusal.partition, refusal.offset, refusal.component)
            dead_letters.append(self._dead_letter(planned, refusal, location, at, seen[one]))
            seen[one] += 1
        entry = DeadLetters(
            source=planned.source, channel=planned.channel, batch=planned.batch, dead_letters=dead_letters
        )
        self._journal.append(entry)

    def _dead_letter(self, planned: Planned, refusal: Refusal, location: str, at: float, copy: int) -> DeadLetter:
        body = refusal.body or b""
        return DeadLetter(
            id=dead_letter_id(self._builder.place, planned.source, refusal, copy),
            component=refusal.component,
            cause=refusal.cause,
            topic=refusal.topic,
            partition=refusal.partition,
            offset=refusal.offset,
            at=at,
            location=location,
            key=base64_text(refusal.key),
            headers=[(name, base64_text(value) or "") for name, value in refusal.headers],
            body=base64_text(body[:LARGEST_BODY]) or "",
            size=len(body),
            truncated=len(body) > LARGEST_BODY,
        )


def dead_letter_id(place: Place, source: str, refusal: Refusal, copy: int) -> str:
    """The same event, refused again by the same component, is the same letter; read again in a new lineage, it is
    another one, and so is each further event (`copy`) that was made of one record."""
    record = f"{source}/{refusal.topic}/{refusal.partition}/{refusal.offset}"
    origin = f"{place.pipeline}/{place.lineage}/{record}/{copy}/{refusal.component}"
    return hashlib.sha256(origin.encode()).hexdigest()[:32]


def _with_component(refusal: Refusal, sink: str) -> Refusal:
    return refusal if refusal.component else Refusal(**{**vars(refusal), "component": sink})


def _chain(frame: DataFrame | None, refusals: list[Refusal]) -> Iterator[Refusal]:
    if frame is not None:
        for row in frame.toLocalIterator():
            yield _refusal(row)
    yield from refusals


def _refusal(row: Any) -> Refusal:
    headers = [(pair["key"], bytes(pair["value"] or b"")) for pair in row["headers"] or []]
    return Refusal(
        key=_bytes(row["key"]),
        body=_bytes(row["body"]),
        headers=headers,
        topic=row["topic"],
        partition=row["partition"],
        offset=row["offset"],
        cause=row["cause"] or "",
        component=row["component"] or "",
    )


def _bytes(value: bytes | bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


def _too_many(component: str, number: int, allowed: int) -> AgentFinding:
    return AgentFinding(
        path=component,
        code="TOO_MANY_DEAD_LETTERS",
        message=f"{component} rejected {number} events of one batch; errors.max_rate allows {allowed}.",
        suggestion="Fix the component, or raise errors.max_rate; the batch is not done and is reread.",
    )
