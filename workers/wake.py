"""The bells between tasks and the background loops that wait for them. Both live in one worker process."""

from __future__ import annotations

import threading
from collections.abc import Callable

WAKE = threading.Event()
"""Rung by the task that says "look now"."""

LOOK = threading.Event()
"""The same for whoever looks at positions."""

PREVIEW = threading.Event()
"""The same for what makes previews."""

CONNECT = threading.Event()
"""The same for what tests connections to clusters."""

CANARY_SECONDS = 5.0
"""How long a canary waits in a queue before it is dropped."""


class _Bell:
    """Passes a canary that was heard on to whoever has sent it, if anybody has."""

    def __init__(self) -> None:
        self.listener: Callable[[str, float], None] | None = None

    def __call__(self, queue: str, sent_at: float) -> None:
        if self.listener is not None:
            self.listener(queue, sent_at)


CANARIES = _Bell()
