"""How long an agent may go on without its supervisor: a pure function of the definition.

With `on_supervisor_loss: continue` for ever; another host takes over on a recorded end, a changed boot id or a person's
word. With `fence` until the lease ends, that the supervisor renews with every tick: then the driver stops at its gate,
the keeper kills what is left after the longest write deadline, and from then on time alone is proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

OnSupervisorLoss = Literal["continue", "fence"]

TAKEOVER_MARGIN = 5.0
"""Seconds for a keeper to kill, after which nothing of a fenced run lives."""


@dataclass(frozen=True)
class Fence:
    """Seconds: `lease` from the last renewal to the gate, `grace` from there to the kill, `executors` that those of a
    cluster may outlive their driver."""

    lease: float
    grace: float
    executors: float = 0.0

    @property
    def proof(self) -> float:
        """Seconds after the last renewal from which no process of the run lives any more, on any machine."""
        return self.lease + self.grace + TAKEOVER_MARGIN + self.executors


def fence_of(definition: Mapping[str, Any]) -> Fence | None:
    """The fence of a canonical definition; None where its agent goes on without a supervisor."""
    lifecycle = definition.get("lifecycle", {})
    if lifecycle.get("on_supervisor_loss") != "fence":
        return None
    deadlines = [float(sink.get("write_deadline", 0)) for sink in definition.get("sinks", {}).values()]
    launcher = definition.get("placement", {}).get("launcher", {})
    return Fence(
        lease=float(lifecycle["lease"]),
        grace=max(deadlines, default=0.0),
        executors=float(launcher.get("executor_fence", 0.0)),
    )
