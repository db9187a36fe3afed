"""What a command leaves behind: processes that left its group, or that outlived their parent in it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path

from workers.agent.base.log import say

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 5.0
_POLL = 0.01


def adopt() -> None:
    """Become the parent of whatever a command leaves behind, instead of init."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end() -> None:
    """Kill every child and its descendants, until none is left; says so where one cannot be killed.

    A child is not reaped by anybody else, so its pid cannot be another process' yet. What loses its parent here becomes
    a child in turn.
    """
    deadline = time.monotonic() + _PATIENCE
    while _has_children():
        left = _children()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() >= deadline:
            say(f"processes {left} of the command cannot be killed", "ERROR")
            return
        time.sleep(_POLL)


def _children() -> list[int]:
    """Of all threads of this process."""
    return [int(pid) for each in Path("/proc/self/task").glob("*/children") for pid in each.read_text().split()]


def _has_children() -> bool:
    """Reap those that have ended, and say whether others are left: the list of the kernel may miss one while another
    ends, so that it does not prove that there is none."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True
