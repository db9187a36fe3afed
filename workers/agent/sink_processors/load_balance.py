"""Flume's LoadBalancingSinkProcessor: in turn, or at random."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Literal

from pipelines.domain.ledger.sink_groups import Switch
from workers.agent.sink_processors.group import Clock, GroupProcessor


class LoadBalance(GroupProcessor):
    """Every batch begins with another member; a member whose back-off is running is left out.

    `longest_ms` 0: without back-off. A delivery ends a row of failures; Flume waits an hour before it forgets them.
    """

    def __init__(
        self,
        members: Iterable[str],
        selector: Literal["round_robin", "random"],
        longest_ms: int,
        *,
        clock: Clock,
        wall: Clock,
        rng: random.Random | None = None,
    ) -> None:
        super().__init__(members, longest_ms, clock=clock, wall=wall)
        self._selector = selector
        self._rng = rng or random.Random()  # noqa: S311 - it shares out work, it keeps no secret
        self._head = 0
        self._last = ""

    def _round(self) -> list[str]:
        ready = [name for name in self._members if not self._is_out(name)]
        if self._selector == "random":
            return self._rng.sample(ready, len(ready))
        return self._in_turn(ready)

    def _in_turn(self, ready: list[str]) -> list[str]:
        """The head moves over the members that are ready, as in Flume's RoundRobinOrderSelector."""
        start = self._head if self._head < len(ready) else 0
        self._head = start + 1 if start + 1 < len(ready) else 0
        return [*ready[start:], *ready[:start]]

    @property
    def active(self) -> str:
        """The member that took the last batch; empty before the first, and where it has failed since."""
        return "" if self._last in self._out else self._last

    def delivered(self, sink: str) -> list[Switch]:
        """It took the last batch."""
        self._last = sink
        return super().delivered(sink)
