"""How a process ended, in words."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """A signal by its name and number."""
    try:
        return f"{signal.Signals(number).name} (signal {number})"
    except ValueError:
        return f"signal {number}"


def ended_by(status: int) -> str:
    """From an exit code, which is negative where a signal ended the process."""
    return f"was ended by {signal_name(-status)}" if status < 0 else f"exited with code {status}"
