"""The driver's own lines in agent.log."""

from __future__ import annotations

import contextlib

_TRACE_ID = slice(3, 35)
_trace = ""


def name_trace(traceparent: str) -> None:
    """Have the further lines of this process name the trace of a `traceparent`; none where it is empty."""
    global _trace
    _trace = f" trace_id={traceparent[_TRACE_ID]}" if traceparent else ""


def say(text: str) -> None:
    """One line on standard output, which the keeper pumps into agent.log; nobody may be there to read it any more."""
    with contextlib.suppress(OSError, ValueError):
        print(f"driver: {text}{_trace}", flush=True)
