"""A standby while it waits: components that are not ready any more end it, while that costs nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.delivery.gate import Gate, Position
from workers.agent.startup.preflight import Preflight

_STAY_READY_EVERY = 20.0
"""Seconds; Spark lets an idle Python worker go after a minute."""


class Standby:
    """The wait for a promotion."""

    def __init__(self, preflight: Preflight, gate: Gate) -> None:
        self._preflight = preflight
        self._gate = gate
        self._promoted = threading.Event()

    def wait(self, on_unready: Callable[[list[AgentFinding]], None]) -> None:
        """Begin to wait, in a daemon thread."""
        threading.Thread(target=self._stay_ready, args=(on_unready,), name="standby", daemon=True).start()

    def promoted(self) -> None:
        """The wait is over."""
        self._promoted.set()

    def _stay_ready(self, on_unready: Callable[[list[AgentFinding]], None]) -> None:
        while (spark := self._preflight.session.spark) is not None and self._gate.position is not Position.STOPPED:
            findings = self._preflight.stay_ready(spark)
            if findings and not self._promoted.is_set():
                on_unready(findings)
                return
            if self._promoted.wait(_STAY_READY_EVERY):
                return
