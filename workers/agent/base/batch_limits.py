"""How large the batches of a read become."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BatchLimits:
    """`most`: events of a batch, None where there is no limit. `interval`: seconds that events may wait for a fuller
    batch; one of `full` events waits for nothing, by default one of `most`."""

    most: int | None
    interval: float = 0.0
    full: int | None = None

    @property
    def enough(self) -> int | None:
        """The events that wait for nothing; None where no number of them is enough."""
        return self.most if self.full is None else self.full
