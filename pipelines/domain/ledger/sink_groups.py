"""Sink groups at work: which members may take batches, which are out and until when.

Times between processes and for people are wall seconds; inside the agent a monotonic clock decides.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from pipelines.domain.base.positions import Frozen

RECOVERED = "accepts batches again"
_FIRST_PENALTY_MS = 1000
_HIGHEST_POWER = 40


def penalty_ms(failures: int, longest_ms: int) -> int:
    """Milliseconds that a member is out after so many failures in a row: `min(longest, 1000 * 2^failures)`.

    Source: Flume's FailoverSinkProcessor and OrderSelector; the power saturates, where Flume's integer overflows.
    """
    return min(longest_ms, _FIRST_PENALTY_MS << min(failures, _HIGHEST_POWER))


class Switch(Frozen):
    """A member of a group failed, or came back.

    `to`: the member that is tried next, or that takes batches from now on; empty where there is none. `failures`: in a
    row, 0 where the member came back. `until`: the wall time at which its penalty ends.
    """

    sink: str
    to: str = ""
    cause: str
    penalty_ms: int = Field(default=0, ge=0)
    failures: int = Field(default=0, ge=0)
    until: float = 0.0

    @property
    def recovered(self) -> bool:
        """Whether the member came back."""
        return self.failures == 0


class Penalty(BaseModel):
    """A member that failed its last `failures` attempts and is out until `until` (wall seconds)."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    sink: str
    failures: int = Field(ge=1)
    until: float
    cause: str = ""


class Pools(BaseModel):
    """Members that may take batches, and members that failed. `active`: the one whose turn it is; empty: none."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    active: str = ""
    live: list[str] = []
    failed: list[Penalty] = []


class GroupStatus(Pools):
    """The pools of a named group, as status.json has them."""

    name: str
    processor: str
