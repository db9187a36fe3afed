"""Ticks in a background loop: every second, sooner where something is expected to change or a wake-up arrives."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import structlog

from workers.supervisor.background.loop import BackgroundLoop
from workers.supervisor.tick.tick import Supervisor

INTERVAL = 1.0
HURRIED_INTERVAL = 0.2
QUICK_INTERVAL = 0.02
"""While data waits for a migration."""

log = structlog.get_logger(__name__)


@dataclass
class Ticker:
    """Lets a supervisor tick, and logs when it begins or ceases to supervise."""

    supervisor: Supervisor
    _supervising: bool | None = None

    def loop(self, wake: threading.Event) -> BackgroundLoop:
        """A failed tick is repeated after a second, always: other hosts watch whether this one lives."""
        return BackgroundLoop(
            "supervisor", self.turn, pause=INTERVAL, slowest=INTERVAL, close=self.supervisor.release, bell=wake
        )

    def turn(self) -> float:
        """Tick, and return the seconds until the next one."""
        ticked = self.supervisor.tick()
        if ticked.supervising != self._supervising:
            log.info("supervising" if ticked.supervising else "another_supervisor_has_this_host")
            self._supervising = ticked.supervising
        return QUICK_INTERVAL if ticked.quick else HURRIED_INTERVAL if ticked.hurry else INTERVAL
