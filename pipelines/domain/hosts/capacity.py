"""How much may run on a host: slots, one for each agent, and the memory that agents take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

AGENT_OVERHEAD = 256 << 20
"""Bytes of an agent beside the heap of its JVM: the driver's Python, the keeper, buffers."""
DEFAULT_HEAP = 512 << 20
SLOTS_PER_CORE = 4
"""What a host without a limit is weighed by; it refuses nothing."""


def agent_bytes(driver_memory: str | None) -> int:
    """What an agent takes, from its canonical `driver_memory` (mebibytes as 512m)."""
    heap = int(driver_memory.removesuffix("m")) << 20 if driver_memory else DEFAULT_HEAP
    return heap + AGENT_OVERHEAD


@dataclass(frozen=True)
class Room:
    """A host as placement sees it. `slots` and `memory` are limits, None for none; `agents` and `taken` are promised to
    pipelines, running or about to; bytes."""

    host: str
    cores: int
    installed: int
    slots: int | None
    memory: int | None
    agents: int = 0
    taken: int = 0

    def lacks(self, need: int) -> str:
        """Why an agent of `need` bytes has no room, in words; empty where it has."""
        if self.slots is not None and self.agents >= self.slots:
            return f"{self.host} has {self.agents} of {self.slots} slots used"
        if self.memory is not None and self.taken + need > self.memory:
            free = max(0, self.memory - self.taken)
            return f"{self.host} has {free >> 20} MiB of {self.memory >> 20} MiB free"
        return ""

    @property
    def load(self) -> float:
        """How full it is, by what is scarcer: slots or memory."""
        slots = self.slots or SLOTS_PER_CORE * max(1, self.cores)
        memory = self.memory or self.installed
        return max(self.agents / slots, self.taken / memory if memory else 0.0)


def least_loaded(rooms: Iterable[Room], need: int) -> Room | None:
    """The host that an agent of `need` bytes goes to; None where none has room."""
    fitting = [room for room in rooms if not room.lacks(need)]
    return min(fitting, key=lambda room: (room.load, room.agents, room.host), default=None)


def lacking(rooms: Sequence[Room], need: int) -> str:
    """Why no host has room, in a sentence."""
    reasons = "; ".join(room.lacks(need) for room in rooms)
    return f"An agent of {need >> 20} MiB has no room: {reasons}."
