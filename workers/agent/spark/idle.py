"""The JVM's memory, given back whenever the agent comes to rest."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AFTER = 3.0


class IdleCollector:
    """Collects once per rest, in a thread of its own."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._collected = False

    @property
    def resting(self) -> bool:
        """Whether the agent rested when it was looked at last."""
        return self._since is not None

    def check(self, spark: SparkSession | None, *, resting: bool) -> None:
        """Note whether the agent rests, and collect once it has rested for a while."""
        if not resting:
            self._since, self._collected = None, False
            return
        self._since = self._since or time.monotonic()
        if not self._collected and time.monotonic() - self._since > _AFTER and spark:
            self._collected = True
            threading.Thread(target=_collect, args=(spark,), name="collect", daemon=True).start()


def _collect(spark: SparkSession) -> None:
    spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]
