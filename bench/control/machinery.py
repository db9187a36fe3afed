"""What a measured supervisor gets instead of a machine of its own: a clock that skips the waiting between ticks, and
processes of which it sees its own host's alone."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from pipelines.domain.runs.protocol import TOKEN_VARIABLE, ProcessIdentity, boot_id, boottime
from workers.adapters.processes import HostProcesses
from workers.ports import Now

_STARTED_WITHIN = 60.0
_SLEEPER = ("/bin/sleep", "infinity")


class SkippingClock:
    """`workers.ports.Clock`: real time, and what was skipped on top of it."""

    def __init__(self) -> None:
        self._boot_id = boot_id()
        self._skipped = 0.0

    def now(self) -> Now:
        wall = datetime.now(UTC) + timedelta(seconds=self._skipped)
        return Now(wall=wall, boottime=boottime() + self._skipped, boot_id=self._boot_id)

    def skip_to(self, boottime: float) -> None:
        """Let time pass up to this reading, if it has not passed already."""
        self._skipped += max(0.0, boottime - self.now().boottime)


class Sleepers:
    """Real processes that carry run tokens and do nothing; they end with the block."""

    def __init__(self) -> None:
        self._children: list[subprocess.Popen[bytes]] = []
        self._host = HostProcesses()

    def __enter__(self) -> Sleepers:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.kill()
        for child in self._children:
            child.wait(30)

    def start(self, token: str) -> int:
        """One more; returns its pid."""
        child = subprocess.Popen(
            _SLEEPER, env={"PATH": os.defpath, TOKEN_VARIABLE: token}, stdin=subprocess.DEVNULL, close_fds=False
        )
        self._children.append(child)
        return child.pid

    def identities(self) -> dict[int, ProcessIdentity]:
        """All of them by pid, as the supervisor will know them. One that is not through its exec yet is waited for."""
        deadline = time.monotonic() + _STARTED_WITHIN
        while True:
            known = {process.pid: process for found in self._host.holders().values() for process in found}
            if all(child.pid in known for child in self._children):
                return known
            if time.monotonic() > deadline:
                raise RuntimeError("not every simulated process has started")


class OwnProcesses(HostProcesses):
    """The processes of one simulated host among several on this machine."""

    def __init__(self, pids: list[int]) -> None:
        super().__init__()
        self._own = pids

    def pids(self) -> Iterator[int]:
        return iter(self._own)
