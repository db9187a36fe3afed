"""Lines of the agent's Python processes in agent.log: time, level, component, run, and what there is to say."""

from __future__ import annotations

import contextlib
import os
import time

RUN_VARIABLE = "HEADGATE_RUN"
"""Set by the keeper to PIPELINE/NUMBER."""


def say(text: str, level: str = "INFO") -> None:
    """One line on standard output, which the keeper pumps into agent.log; nobody may be there to read it any more."""
    now = time.time()
    stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z"
    run = os.environ.get(RUN_VARIABLE, "-")
    with contextlib.suppress(OSError, ValueError):
        print(f"{stamp} {level:<7} {_component} {run}: {text}", flush=True)


def speak_as(component: str) -> None:
    """What lines of this process name from now on."""
    global _component
    _component = component


_component = "driver"
