"""Flume's DefaultSinkProcessor: one sink."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.domain.ledger.sink_groups import Switch
from workers.agent.sink_processors.group import Clock, GroupProcessor


class Default(GroupProcessor):
    """The only member is tried again and again; there is nothing to switch to, so it is never penalised."""

    def __init__(self, members: Iterable[str], *, clock: Clock, wall: Clock) -> None:
        super().__init__(members, 0, clock=clock, wall=wall)
        (self._only,) = self._members

    def _round(self) -> list[str]:
        return [self._only]

    @property
    def active(self) -> str:
        """The only member."""
        return self._only

    def delivered(self, sink: str) -> list[Switch]:
        """Nothing was switched."""
        super().delivered(sink)
        return []

    def failed(self, sink: str, cause: str) -> list[Switch]:
        """Nothing is switched."""
        super().failed(sink, cause)
        return []
