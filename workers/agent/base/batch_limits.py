"""How large the batches of a read become."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BatchLimits:
    """`most`: events of a batch, None where there is no limit. `interval`: seconds that events may wait for a fuller
    batch; a batch that is full waits for nothing."""

    most: int | None
    interval: float = 0.0
