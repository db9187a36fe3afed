"""A thread that looks at directories again and again, and says when it cannot."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from workers.agent.base.log import say


class Scanner:
    """Calls `scan` every `interval` seconds from `start` on."""

    def __init__(self, name: str, scan: Callable[[], None], interval: float) -> None:
        self._name = name
        self._scan = scan
        self._interval = max(0.01, interval)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.failure = ""

    def start(self) -> None:
        """Begin, once."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"files of {self._name}", daemon=True)
                self._thread.start()

    def check(self) -> None:
        """Raises RuntimeError where the last look failed."""
        if self.failure:
            raise RuntimeError(self.failure)

    def _run(self) -> None:
        while True:
            try:
                self._scan()
                self.failure = ""
            except Exception as error:
                if not self.failure:
                    say(f"{self._name}: the files cannot be scanned: {error}", "WARNING")
                self.failure = f"The files cannot be scanned: {error}"
            time.sleep(self._interval)
