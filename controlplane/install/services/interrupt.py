"""Ctrl-C and SIGTERM, as an event that every wait of the stack looks at: the first asks to stop, a second to hurry."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

POLL = 0.05  # seconds between two looks at a condition


def end_in_order_on_signals() -> None:
    """Let SIGTERM and SIGHUP end this process as Ctrl-C does: its children end with it, and its files go."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


class Interrupted(Exception):
    """Somebody asked the stack to stop."""


class Interrupt:
    """Set by the signals once `listen` was called."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._hurry = threading.Event()

    def listen(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._receive)

    @property
    def requested(self) -> bool:
        return self._requested.is_set()

    @property
    def hurry(self) -> bool:
        return self._hurry.is_set()

    def check(self) -> None:
        """Raise Interrupted when a stop was asked for."""
        if self.requested:
            raise Interrupted

    def wait(self, condition: Callable[[], bool], timeout: float, poll: float = POLL) -> bool:
        """Wait for the condition; False after `timeout` seconds. Raises Interrupted."""
        deadline = time.monotonic() + timeout
        while not condition():
            self.check()
            if time.monotonic() > deadline:
                return False
            self._requested.wait(poll)
        return True

    def _receive(self, *_: Any) -> None:
        (self._hurry if self.requested else self._requested).set()
