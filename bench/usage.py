"""What a system costs: CPU time and memory of every process that carries its run's token in its environment."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import psutil

from pipelines.domain.runs.protocol import TOKEN_VARIABLE

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 2**20
_SAMPLE = 0.1
_FIND = 0.5
_KILL_TIMEOUT = 10.0


def holders(token: str) -> list[int]:
    """Living processes of this host that were started with the token."""
    mark = f"{TOKEN_VARIABLE}={token}".encode()
    found = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdigit() and mark in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
        except OSError:
            continue
    return found


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and of the children that it has waited for; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in fields[11:15]) / _TICKS


def resident_mb(pid: int) -> float:
    """Resident set of a process in MB; 0 where it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_MB
    except OSError:
        return 0.0


def proportional_mb(token: str) -> float:
    """Proportional set size of all processes of a run in MB."""
    return _of_memory(token, "Pss")


def private_mb(token: str) -> float:
    """What no other process shares with those of a run, in MB."""
    return _of_memory(token, "Private_Clean", "Private_Dirty")


def _of_memory(token: str, *fields: str) -> float:
    total = 0
    for pid in holders(token):
        try:
            found = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += sum(int(found.split(f"{field}:")[1].split()[0]) for field in fields)
        except OSError:
            continue
    return total / 1024


def total_cpu_seconds(token: str) -> float:
    """CPU time of all processes of a run so far."""
    return sum(cpu_seconds(pid) for pid in holders(token))


class Sampler(threading.Thread):
    """Looks at the processes of one run ten times a second; its block gives the peak of resident memory."""

    def __init__(self, token: str) -> None:
        super().__init__(name="usage", daemon=True)
        self._token = token
        self._over = threading.Event()
        self.peak_rss_mb = 0.0

    def run(self) -> None:
        """Sample until the block ends."""
        pids, found_at = holders(self._token), time.monotonic()
        while not self._over.wait(_SAMPLE):
            if time.monotonic() - found_at > _FIND:
                pids, found_at = holders(self._token), time.monotonic()
            self.peak_rss_mb = max(self.peak_rss_mb, sum(resident_mb(pid) for pid in pids))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join(5)


def end_all(token: str) -> None:
    """Kill whatever still carries the token; psutil sees to it that no later owner of a pid is met."""
    found = [process for pid in holders(token) if (process := _process(pid))]
    for process in found:
        if f"{TOKEN_VARIABLE}={token}" in _environment(process):
            process.kill()
    psutil.wait_procs(found, timeout=_KILL_TIMEOUT)


def wait_until(probe: Callable[[], bool], timeout: float, interval: float = 0.1) -> bool:
    """Look until it is true; False after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not probe():
        if time.monotonic() > deadline:
            return False
        time.sleep(interval)
    return True


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def _environment(process: psutil.Process) -> list[str]:
    try:
        return [f"{name}={value}" for name, value in process.environ().items()]
    except psutil.Error:
        return []
