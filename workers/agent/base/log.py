"""Lines of the agent's Python processes in agent.log: time, level, component, run, and what there is to say."""

from __future__ import annotations

import contextlib
import logging
import os
import time

RUN_VARIABLE = "HEADGATE_RUN"
"""Set by the keeper to PIPELINE/NUMBER."""

_TRACE_ID = slice(3, 35)
_trace = ""


def name_trace(traceparent: str) -> None:
    """Have the further lines of this process name the trace of a `traceparent`; none where it is empty."""
    global _trace
    _trace = f" trace_id={traceparent[_TRACE_ID]}" if traceparent else ""


def say(text: str, level: str = "INFO") -> None:
    """One line on standard output, which the keeper pumps into agent.log; nobody may be there to read it any more."""
    now = time.time()
    stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z"
    run = os.environ.get(RUN_VARIABLE, "-")
    with contextlib.suppress(OSError, ValueError):
        print(f"{stamp} {level:<7} {_component} {run}: {text}{_trace}", flush=True)


def take_in_logging() -> None:
    """Have what libraries log from WARNING on become lines of this form. Py4J logs each connection that a stop closes
    under it, with its trace; what matters of that is raised, too."""
    logging.getLogger().addHandler(_Lines(logging.WARNING))


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if f"{os.sep}py4j{os.sep}" not in record.pathname:
            say(record.getMessage(), record.levelname)


def speak_as(component: str) -> None:
    """What lines of this process name from now on."""
    global _component
    _component = component


_component = "driver"
