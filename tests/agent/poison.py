"""An interceptor whose process dies of one event."""

from __future__ import annotations

import os

from workers.agent.interceptors.api import Event

POISON = 1234


class Dies:
    """Ends its process, without a word, when it sees the event with the number POISON."""

    def intercept(self, event: Event) -> Event:
        if event.body == f"n{POISON}".encode():
            os._exit(7)
        return event
