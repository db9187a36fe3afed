"""How often a pushed source answered what: counted in the process that listens, read by the agent."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from pathlib import Path

from workers.agent.base.log import say

FILE = "answers.json"
_INTERVAL = 1.0


class Answers(threading.Thread):
    """Counts, and writes what it has counted beside the log once a second; a crash loses that second's counts only."""

    def __init__(self, directory: Path) -> None:
        super().__init__(name="answers", daemon=True)
        self._directory = directory
        self._counts = Counter(read(directory))
        self._written = self._counts.copy()
        self._lock = threading.Lock()

    def note(self, status: int) -> None:
        """One more answer with this status."""
        with self._lock:
            self._counts[str(status)] += 1

    def run(self) -> None:
        """Write for as long as the process lives."""
        while True:
            time.sleep(_INTERVAL)
            try:
                self.write()
            except OSError as error:
                say(f"the counts of answers cannot be written: {error}", "WARNING")

    def write(self) -> None:
        """Replace the file where something was counted."""
        with self._lock:
            counts = self._counts.copy()
        if counts != self._written:
            draft = self._directory / f".{FILE}"
            draft.write_text(json.dumps(counts))
            draft.replace(self._directory / FILE)
            self._written = counts


def read(directory: Path) -> dict[str, int]:
    """Answers by status since the log began; empty where nothing was counted, or the file is none."""
    try:
        found = json.loads((directory / FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    counts = found if isinstance(found, dict) else {}
    return {status: count for status, count in counts.items() if isinstance(count, int)}
