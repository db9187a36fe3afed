"""The machine's clocks."""

from __future__ import annotations

from datetime import UTC, datetime

from pipelines.domain.runs.protocol import boot_id, boottime
from workers.ports import Now


class SystemClock:
    """`workers.ports.Clock`; the boot id is read once, since it outlives no process."""

    def __init__(self) -> None:
        self._boot_id = boot_id()

    def now(self) -> Now:
        return Now(wall=datetime.now(UTC), boottime=boottime(), boot_id=self._boot_id)
