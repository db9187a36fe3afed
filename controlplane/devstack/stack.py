"""The services of the local stack: started, started again when they die, stopped in the opposite order."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from controlplane.devstack.console import Console
from controlplane.install.services.child import Child, Service, end_leftover
from controlplane.install.services.interrupt import Interrupt

CHECK_INTERVAL = 0.2  # seconds between two looks at the children
RESTART_DELAY_MAX = 30.0  # seconds; the first restart comes after one, then it doubles
HEALTHY_AFTER = 60.0  # seconds of life after which the delay begins anew


@dataclass
class _Member:
    """A service with its present child. `watched` from its first readiness on; `due_at`: when it is started again."""

    service: Service
    child: Child
    started_at: float
    watched: bool = False
    failures: int = 0
    due_at: float | None = None


class Stack:
    """Children with records below `records`; a thread looks after them from the first `start` to `stop`."""

    def __init__(self, console: Console, interrupt: Interrupt, records: Path) -> None:
        self._console = console
        self._interrupt = interrupt
        self._records = records
        self._members: list[_Member] = []
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="stack", daemon=True)

    def clear_leftovers(self) -> None:
        """End the children of a stack that was killed before it could."""
        self._records.mkdir(parents=True, exist_ok=True)
        for record in sorted(self._records.glob("*.json")):
            if end_leftover(record):
                self._console.say(f"Ended {record.stem}, left by a killed stack.")

    def start(self, *services: Service) -> None:
        """Start them together and wait until all are ready. Raises SetupError or Interrupted."""
        fresh = [_Member(service, self._spawn(service), time.monotonic()) for service in services]
        self._members += fresh
        for member in fresh:
            member.child.wait_ready(self._interrupt)
            member.watched = True
        if not self._watcher.is_alive():
            self._watcher.start()

    def runs(self, name: str) -> bool:
        """Whether a service of that name was started and not stopped, though it may be between two lives."""
        return any(member.service.name == name for member in self._members)

    def stop_one(self, name: str) -> None:
        """Stop a service and leave the others. Harmless when there is none of that name."""
        for member in [each for each in self._members if each.service.name == name]:
            self._members.remove(member)
            member.child.stop(lambda: self._interrupt.hurry)

    def stop(self) -> None:
        """Stop everything, the last started first. A second Ctrl-C hurries. Harmless when it is over."""
        self._over.set()
        if self._watcher.is_alive():
            self._watcher.join()
        while self._members:
            member = self._members.pop()
            self._console.say(f"Stopping {member.service.name}.")
            member.child.stop(lambda: self._interrupt.hurry)

    def _spawn(self, service: Service) -> Child:
        child = Child(service, output=subprocess.PIPE, record=self._records / f"{service.name}.json")
        if child.process.stdout is not None:
            self._console.pump(service.name, child.process.stdout)
        return child

    def _watch(self) -> None:
        while not self._over.wait(CHECK_INTERVAL):
            for member in list(self._members):
                if member.watched and not member.child.alive:
                    self._revive(member, time.monotonic())

    def _revive(self, member: _Member, now: float) -> None:
        """First look at a dead child: bury it and set the time of its restart; later looks: restart it when due."""
        if member.due_at is None:
            member.child.bury()
            member.failures = 0 if now - member.started_at > HEALTHY_AFTER else member.failures
            delay = min(2.0**member.failures, RESTART_DELAY_MAX)
            member.due_at, member.failures = now + delay, member.failures + 1
            code = member.child.process.returncode
            self._console.say(f"{member.service.name} ended ({_describe(code)}); the next start is in {delay:.0f} s.")
        elif now >= member.due_at:
            member.due_at, member.started_at = None, now
            member.child = self._spawn(member.service)


def _describe(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
