"""The driver's own lines in agent.log."""

from __future__ import annotations

import contextlib


def say(text: str) -> None:
    """One line on standard output, which the keeper pumps into agent.log; nobody may be there to read it any more."""
    with contextlib.suppress(OSError, ValueError):
        print(f"driver: {text}", flush=True)
