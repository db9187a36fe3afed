"""Waiting for conditions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(probe: Callable[[], T | None], what: str, timeout: float = 120.0) -> T:
    """Look again and again until there is an answer that is not None or False, and return it. No more than a quarter of
    the time goes into looking: the machine is there for what is waited for.

    Raises AssertionError after `timeout` seconds, naming what did not happen.
    """
    deadline = time.monotonic() + timeout
    while True:
        started = time.monotonic()
        if found := probe():
            return found
        now = time.monotonic()
        assert now < deadline, f"waited {timeout:.0f} s for {what}"
        time.sleep(max(0.02, 3 * (now - started)))
