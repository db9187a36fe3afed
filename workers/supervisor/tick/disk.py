"""The disk of this host's runs and checkpoints: figures with every heartbeat, an alert when its state changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.domain.hosts.disk import DiskSpace, DiskState, Margin
from pipelines.services.hosts import disk
from workers.ports import Now, RunDirs

EVERY = 10.0
"""Seconds between two looks at whether an alert is due, while there is less room than the margin."""


@dataclass
class HostDisk:
    """What one supervisor remembers of its host's disk. `_since`: when it was first seen in this state."""

    host: str
    rundirs: RunDirs
    margin: Margin
    _space: DiskSpace | None = None
    _state: DiskState | None = None
    _since: float = 0.0
    _reported_at: float = 0.0

    def figures(self, now: Now) -> dict[str, Any] | None:
        """Ask the kernel; None where the disk cannot be found."""
        self._space = space = self.rundirs.space()
        if space is None:
            return None
        return {
            "state": space.state(self.margin).value,
            "path": space.path,
            "free_bytes": space.free,
            "total_bytes": space.total,
            "margin_bytes": self.margin.of(space.total),
            "at": now.wall.isoformat(),
        }

    def check(self, now: Now) -> None:
        """Raise or clear the alert of what was asked last."""
        if self._space is None:
            return
        state = self._space.state(self.margin)
        if state is not self._state:
            self._since = now.boottime
        elif state is DiskState.OK or now.boottime - self._reported_at < EVERY:
            return
        disk.report(host=self.host, path=self._space.path, state=state, lasting=now.boottime - self._since)
        self._state, self._reported_at = state, now.boottime

    def forget(self) -> None:
        """Another supervisor has looked after the host meanwhile."""
        self._state = None
