"""Why a run ends, and the bounded steps of its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pipelines.domain.base.positions import FINDING_CODES
from pipelines.domain.runs.protocol import AgentFinding, Exit
from workers.agent.base.log import say
from workers.agent.delivery.delivery import cause_of
from workers.agent.delivery.real_time import Query


@dataclass(frozen=True)
class Ending:
    """Why the run ends. `deadline` (monotonic): when batches in hand are not waited for any longer."""

    code: int
    reason: str
    findings: list[AgentFinding] = field(default_factory=list)
    deadline: float = float("inf")


def code_for(findings: Sequence[AgentFinding]) -> int:
    """10 where a person has to decide about a position, 11 where a component did not initialise."""
    return Exit.PREFLIGHT_BLOCKED if any(finding.code in FINDING_CODES for finding in findings) else Exit.INIT_FAILED


def stop_queries(queries: Sequence[Query], seconds: float) -> None:
    """Stop all of them side by side, and wait that long at most."""
    stopping = [threading.Thread(target=_quietly_stop, args=(query,), daemon=True) for query in queries]
    deadline = time.monotonic() + seconds
    for thread in stopping:
        thread.start()
    for thread in stopping:
        thread.join(max(0.0, deadline - time.monotonic()))


def _quietly_stop(query: Query) -> None:
    try:
        query.stop()
    except Exception as error:
        say(f"query {query.name} did not stop: {cause_of(error)}", "WARNING")


def bounded(seconds: float, action: Callable[[], None]) -> None:
    """Do something that may hang, and leave it behind where it takes longer."""
    thread = threading.Thread(target=action, name="leave", daemon=True)
    thread.start()
    thread.join(seconds)
