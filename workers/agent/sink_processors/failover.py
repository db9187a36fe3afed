"""Flume's FailoverSinkProcessor: the highest priority that works."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from workers.agent.sink_processors.group import Clock, GroupProcessor


class Failover(GroupProcessor):
    """The live member with the highest priority takes the batches.

    Members whose penalty is over come first, with the real batch, in the order in which the penalties ended; one that
    fails again falls through to the next and in the end to the live ones, which follow from the highest priority down.
    """

    def __init__(
        self, members: Iterable[str], priorities: Mapping[str, int], longest_ms: int, *, clock: Clock, wall: Clock
    ) -> None:
        super().__init__(members, longest_ms, clock=clock, wall=wall)
        self._ranked = sorted(self._members, key=lambda name: priorities[name], reverse=True)

    def _round(self) -> list[str]:
        due = [name for name in self._ranked if name in self._out and not self._is_out(name)]
        live = [name for name in self._ranked if name not in self._out]
        return [*sorted(due, key=lambda name: self._out[name].until), *live]

    @property
    def active(self) -> str:
        """The live member with the highest priority; empty where all have failed."""
        out = self._out
        return next((name for name in self._ranked if name not in out), "")
