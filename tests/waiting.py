"""Waiting for conditions."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], what: str, seconds: float = 30.0) -> None:
    """Look again and again until the condition holds; fails after so many seconds, naming what did not happen."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.02)
