"""Task slots: how many a run has, how they are shared, and whether they are enough."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.parts.launchers import SparkLauncher
from pipelines.domain.runs.protocol import AgentFinding


@dataclass(frozen=True)
class Slots:
    """Task slots of a run. In its own JVM every channel has as many as `cores` says: a slot whose task waits costs
    nothing, and a sink that hangs leaves those of its neighbours alone. Those of a cluster are divided."""

    total: int
    channels: int

    @classmethod
    def of(cls, definition: Definition) -> Slots:
        """As the definition asks for them; in real-time mode tasks never end, and `cores` is what there is."""
        launcher = definition.placement.launcher
        channels = sum(len(read.channels) for read in definition.reads())
        fixed = isinstance(launcher, SparkLauncher) or definition.delivery.mode == "real_time"
        return cls(launcher.cores if fixed else launcher.cores * channels, channels)

    @property
    def share(self) -> int:
        """Of one channel."""
        return max(1, self.total // self.channels)


def too_few(definition: Definition, partitions: int) -> list[AgentFinding]:
    """In real-time mode every partition keeps a task busy, all at once."""
    cores = definition.placement.launcher.cores
    if definition.delivery.mode != "real_time" or partitions <= cores:
        return []
    return [
        AgentFinding(
            path="placement.launcher.cores",
            code="INSUFFICIENT_SLOTS",
            message=f"Real-time mode needs a slot for each of {partitions} partitions; there are {cores}.",
            suggestion=f"Set placement.launcher.cores to {partitions} or more; tasks that wait cost little.",
        )
    ]
