"""HTTP/1.1 of the web server, with a bound on how long the head of a request may take."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 15.0


class BoundedProtocol(H11Protocol):
    """Closes connections whose next request has no whole head after `HEAD_SECONDS`."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._await_head()

    def on_response_complete(self) -> None:
        """Begin to wait for the next head."""
        self._await_head()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = self.loop.call_later(HEAD_SECONDS, self._close_if_late)

    def _close_if_late(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
