"""What becomes of an event under one revision. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class EventResult(StrEnum):
    """What becomes of an event as a whole."""

    DELIVERED = "delivered"
    FILTERED = "filtered"
    DEAD_LETTERED = "dead_lettered"
    UNROUTED = "unrouted"


class Origin(NamedTuple):
    """Where an event comes from; `copy` is 0 for the first event that is made of a record, then 1, 2, …"""

    topic: str
    partition: int
    offset: int
    copy: int = 0


@dataclass(frozen=True)
class Content:
    """An event. `body` may be its beginning alone: `size` and `digest` (SHA-256) are of all of it."""

    key: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    body: bytes
    size: int
    digest: str

    @property
    def is_whole(self) -> bool:
        """Whether `body` is all of it."""
        return len(self.body) == self.size


@dataclass(frozen=True)
class Outcome:
    """An event behind interceptors and selector. `verdicts`: by channel, as the ledger counts them; `component`: path
    of what has filtered or refused it, `cause` why."""

    origin: Origin
    verdicts: Mapping[str, str]
    content: Content
    component: str = ""
    cause: str = ""

    @property
    def result(self) -> EventResult:
        """Bad events stand in one channel, and in the others as routed elsewhere."""
        found = set(self.verdicts.values())
        bad = (EventResult.FILTERED, EventResult.DEAD_LETTERED, EventResult.UNROUTED)
        return next((each for each in bad if each in found), EventResult.DELIVERED)

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that deliver it, sorted."""
        return tuple(sorted(name for name, verdict in self.verdicts.items() if verdict == EventResult.DELIVERED))
