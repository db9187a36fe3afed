"""Runs as the first process of a pid namespace of its own, where the next pid can be chosen.

A process with a run's token ends; a bystander gets its very pid; what was meant for the former must not reach it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from pipelines.domain.runs.protocol import TOKEN_VARIABLE, ProcessIdentity
from workers.adapters.processes import HostProcesses
from workers.keeper import processes as keepers

SLEEP = ["/bin/sleep", "60"]


def start(token: str | None) -> subprocess.Popen[bytes]:
    """A process, with or without a run's token."""
    return subprocess.Popen(SLEEP, env={TOKEN_VARIABLE: token} if token else {})


def bystander(former: int, token: str | None) -> subprocess.Popen[bytes]:
    """Another process with the same pid."""
    Path("/proc/sys/kernel/ns_last_pid").write_text(str(former - 1))
    found = start(token)
    assert found.pid == former, f"{found.pid} is not {former}"
    return found


def meant_for(process: subprocess.Popen[bytes], boot_id: str) -> ProcessIdentity:
    """What identity.json and the database know of it."""
    start_time = keepers.start_time(process.pid)
    assert start_time is not None
    return ProcessIdentity(pid=process.pid, start_time=start_time, boot_id=boot_id)


def check(token_of_the_bystander: str | None) -> None:
    """Signals to the former process are refused, and the bystander lives."""
    processes = HostProcesses()
    former = start("token-of-the-run")
    known = meant_for(former, processes.current().boot_id)
    former.kill()
    former.wait()
    tick = time.clock_gettime(time.CLOCK_BOOTTIME) + 2 / os.sysconf("SC_CLK_TCK")
    while time.clock_gettime(time.CLOCK_BOOTTIME) < tick:
        pass
    innocent = bystander(known.pid, token_of_the_bystander)
    assert not processes.is_alive(known)
    assert not processes.kill(known, "token-of-the-run")
    assert known not in processes.holders().get("token-of-the-run", ())
    if token_of_the_bystander != "token-of-the-run":
        assert not keepers.send(innocent.pid, "token-of-the-run", signal.SIGKILL)
        assert keepers.kill_all("token-of-the-run") == []
    assert innocent.poll() is None, "the bystander was signalled"
    innocent.kill()
    innocent.wait()


if __name__ == "__main__":
    for token in (None, "token-of-another-run", "token-of-the-run"):
        check(token)
    sys.stdout.write("every bystander lives\n")
