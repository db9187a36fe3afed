"""`python -m workers.agent.push.push`: takes events in, in a process of its own.

Its standard input is one line of JSON, and then the cord to the agent: when it closes, or the agent's thread that holds
it ends, this process ends, too, with every command that it started. Secrets come by this way and no other.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from pipelines.domain.definitions.components.source.exec import ExecSource
from pipelines.domain.definitions.components.source.http import HttpSource
from workers.agent.base.log import say, speak_as
from workers.agent.push import command_state, orphans
from workers.agent.push.command import CommandPump, die_with_parent
from workers.agent.push.http import serve
from workers.agent.push.log import IngestBuffer, Limits, LogBusy

_BUSY_TIMEOUT = 20.0


def main() -> int:
    """Take in until told to end."""
    die_with_parent(signal.SIGTERM)
    speak_as("ingest")
    options = json.loads(sys.stdin.readline())
    if options["type"] == "http":
        _watch_cord(lambda: os.kill(os.getpid(), signal.SIGTERM))
        spec = HttpSource.model_validate(options["spec"])
        serve(spec, _open(options, spec))
        return 0
    return _run_command(options, ExecSource.model_validate(options["spec"]))


def _run_command(options: dict[str, Any], spec: ExecSource) -> int:
    report = partial(command_state.write, Path(options["directory"]))
    pump = CommandPump(spec, _open(options, spec), report, orphans.end)
    orphans.adopt()
    # In a thread: a handler that interrupts the pump inside its event would wait for that event's lock for ever.
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=pump.stop, name="stop", daemon=True).start())
    _watch_cord(pump.stop)
    pump.run()
    return 0


def _watch_cord(cut: Any) -> None:
    def wait() -> None:
        sys.stdin.read()
        cut()

    threading.Thread(target=wait, name="cord", daemon=True).start()


def _open(options: dict[str, Any], limits: Limits) -> IngestBuffer:
    """The log; a writer of the run before may still be on its way out."""
    deadline = time.monotonic() + _BUSY_TIMEOUT
    while True:
        try:
            return IngestBuffer(
                Path(options["directory"]), limits, durable=options["durable"], extent=Path(options["extent"])
            )
        except LogBusy:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    code = 1
    try:
        code = main()
    except BaseException as error:
        say(f"the ingest process ends: {error!r}", "ERROR")
    os._exit(code)
