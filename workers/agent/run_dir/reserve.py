"""Room that a run has set aside on its disk, for its last words on a full one."""

from __future__ import annotations

import os
import time
from pathlib import Path

from pipelines.domain.hosts.disk import DiskSpace, is_disk_full
from workers.agent.base.log import say

SIZE = 256 * 1024
"""A status, the journal's last entries and the exit record are a few KiB; a done batch of many partitions is more."""
_BETWEEN_REFILLS = 2.0


class Reserve:
    """A file that takes room for as long as there is some. Where a write finds none, `release` frees it; the file is
    empty from then on, which is how others know. `refill` takes the room again once an agent could start on the disk.
    """

    def __init__(self, path: Path, size: int = SIZE) -> None:
        self._path = path
        self._size = size
        self._checked_at = time.monotonic()
        self.released = not self._take()

    def release(self) -> bool:
        """Free the room; False where that is done already."""
        if self.released:
            return False
        self.released = True
        try:
            os.truncate(self._path, 0)
        except OSError:
            return False
        say(
            "The disk of the run directory is full: the run's reserve is released, and no further batch starts.",
            "ERROR",
        )
        return True

    def refill(self) -> None:
        """Take the room again, where there is enough; asks the disk every other second at most."""
        now = time.monotonic()
        if not self.released or now - self._checked_at < _BETWEEN_REFILLS:
            return
        self._checked_at = now
        space = DiskSpace.of(self._path.parent)
        if space is not None and space.startable and self._take():
            self.released = False
            say("The disk of the run directory has room again.")

    def _take(self) -> bool:
        """False where there is no room for all of it; nothing of it is kept then. A file system that cannot set room
        aside is none without room."""
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            return not is_disk_full(error)
        try:
            os.posix_fallocate(descriptor, 0, self._size)
        except OSError as error:
            os.ftruncate(descriptor, 0)
            if is_disk_full(error):
                return False
            self._path.unlink()  # an empty one would say that the disk is full
        finally:
            os.close(descriptor)
        return True
