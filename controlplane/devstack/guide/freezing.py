"""A process that is halted for a bounded time: `python -m controlplane.devstack.guide.freezing IDENTITY SECONDS`.

A process of its own continues it, whatever becomes of the stack, the worker and the web server meanwhile.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil

from controlplane.install.services.child import identified, recorded
from pipelines.domain.runs.protocol import ProcessIdentity

POLL = 0.2
GRACE = 5.0
"""Seconds in which a process has to be halted once it is watched."""


def freeze(record: Path, seconds: float) -> ProcessIdentity:
    """Halt the process of a record for so long at most. Raises LookupError where it is not alive."""
    identity = recorded(record)
    if identity is None or identified(identity) is None:
        raise LookupError(f"The process of {record.name} is not alive.")
    subprocess.Popen(
        [sys.executable, "-m", __name__, identity.model_dump_json(), str(seconds)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    process = identified(identity)
    if process is not None:
        process.suspend()
    return identity


def thaw(identity: ProcessIdentity) -> None:
    """Continue the process, if it is still that very one. Harmless when it runs."""
    process = identified(identity)
    if process is not None:
        process.resume()


def _is_halted(identity: ProcessIdentity) -> bool:
    process = identified(identity)
    try:
        return process is not None and process.status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return False


def watch(identity: ProcessIdentity, seconds: float) -> None:
    """Continue the process after so long. Returns earlier where it is continued or gone before."""
    started = time.monotonic()
    halted = False
    while time.monotonic() < started + seconds:
        now_halted = _is_halted(identity)
        if not now_halted and (halted or time.monotonic() > started + GRACE):
            return
        halted = now_halted
        time.sleep(POLL)
    thaw(identity)


if __name__ == "__main__":
    watch(ProcessIdentity.model_validate_json(sys.argv[1]), float(sys.argv[2]))
