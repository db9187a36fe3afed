"""No run touches anything while executors of an earlier one may still write.

Every application on a cluster leaves a note in the pipeline's directory before its first record is read. The next run
asks the cluster whether that application is gone; where the cluster cannot say, it waits until executors that lost
their driver have ended by themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from pipelines.domain.definitions.parts.launchers import PlacedLauncher
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import Document
from workers.agent.base.log import say
from workers.agent.spark import standalone

_CHECK_EVERY = 0.25


class Application(Document):
    """A note of one application. `page`: its master's, where it has one; `dead`: workers that were so when it began;
    `fence`: seconds that its executors may outlive the driver; `since`: when it was first known that the driver is dead
    (CLOCK_BOOTTIME of `boot_id`)."""

    id: str
    run: int
    page: str | None = None
    dead: frozenset[str] = frozenset()
    fence: float
    since: float | None = None
    boot_id: str | None = None


class Fence:
    """The notes of one pipeline, in `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def note(self, application: str, run: int, launcher: PlacedLauncher) -> None:
        """An application has begun."""
        self._directory.mkdir(parents=True, exist_ok=True)
        page = standalone.page(launcher.on)
        dead = standalone.dead_workers(page) if page else frozenset()
        noted = Application(id=application, run=run, page=page, dead=dead, fence=launcher.executor_fence)
        noted.store(self._directory / f"{run}.json")

    def forget(self, run: int) -> None:
        """Its executors had nothing in hand when it ended."""
        (self._directory / f"{run}.json").unlink(missing_ok=True)

    def wait(self, say_waiting: Callable[[str], None] = say) -> None:
        """Return once no earlier application can write any more; bounded by the longest fence among them."""
        for path in sorted(self._directory.glob("*.json")):
            if noted := Application.load(path):
                self._wait_for(noted, path, say_waiting)
            path.unlink(missing_ok=True)

    def _wait_for(self, noted: Application, path: Path, say_waiting: Callable[[str], None]) -> None:
        deadline = _deadline(noted, path)
        said = ""
        while (why := _why_not_gone(noted)) and protocol.boottime() < deadline:
            if why != said:
                say_waiting(f"waiting for the executors of run {noted.run} ({noted.id}): {why}")
                said = why
            time.sleep(_CHECK_EVERY)


def _deadline(noted: Application, path: Path) -> float:
    """The clock starts when a later run first looks: by then the driver is proven dead."""
    boot_id = protocol.boot_id()
    if noted.since is None or noted.boot_id != boot_id:
        noted = noted.model_copy(update={"since": protocol.boottime(), "boot_id": boot_id})
        noted.store(path)
    return (noted.since or 0.0) + noted.fence


def _why_not_gone(noted: Application) -> str:
    if noted.page is None:
        return f"up to {noted.fence:.0f} s, in which they end by themselves"
    try:
        return "" if standalone.is_gone(noted.page, noted.id, noted.dead) else "the cluster still has them"
    except standalone.Silent as silent:
        return str(silent)
