"""Whether the agents of a host run as users of their own."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

_RANGE = re.compile(r"(\d{1,10})-(\d{1,10})")
_LEAST = 1000
_MOST = 2**32 - 2


@dataclass(frozen=True)
class AgentUids:
    """Numbers of users, the first of which is the group of all. `required`: no agent is started without them."""

    first: int = 60578
    last: int = 61183
    required: bool = False

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


def parse_uids(text: str) -> AgentUids | None:
    """`auto`, `none`, or a range such as 200000-200999. Raises ValueError."""
    if text == "none":
        return None
    if text in {"", "auto"}:
        return AgentUids()
    found = _RANGE.fullmatch(text)
    if found is None or not _LEAST <= int(found[1]) < int(found[2]) <= _MOST:
        raise ValueError(f"is not auto, none, or a range of user numbers from {_LEAST} on such as 200000-200999")
    return AgentUids(int(found[1]), int(found[2]), required=True)


class IsolationState(StrEnum):
    """USER: each pipeline's agents run as a user of their own. NONE: they run as the worker's user, or not at all."""

    USER = "USER"
    NONE = "NONE"


@dataclass(frozen=True)
class Isolation:
    """What a host offers. `detail` says why not; `hint` what to do."""

    state: IsolationState
    detail: str
    hint: str = ""

    @classmethod
    def on(cls, uids: str, group: int) -> Self:
        """Every pipeline has a user."""
        words = f"Each pipeline's agents run as a user of their own, out of {uids}, with the group {group}."
        return cls(IsolationState.USER, words)

    @classmethod
    def none(cls, reason: str, hint: str, *, required: bool = False) -> Self:
        """Agents may open whatever the worker may; where users of their own are `required`, none is started."""
        effect = "No agent is started here" if required else "Agents share the worker's user"
        return cls(IsolationState.NONE, f"{effect}. {reason}", hint)

    def stored(self) -> dict[str, Any]:
        """As the host's row has it."""
        return asdict(self)
