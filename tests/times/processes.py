"""The processes that tests start: how many of which kind, and their CPU seconds, as /proc shows them."""

from __future__ import annotations

import os
import resource
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

KINDS = ("stacks", "brokers", "agent JVMs", "Spark sessions", "Chromium", "PostgreSQL", "Redis")
MARK = "TEST_TIMES_OF"
"""In the environment of everything that a worker starts, unless it is taken away."""
_GATEWAY = "org.apache.spark.api.python.PythonGatewayServer"
_TICKS = os.sysconf("SC_CLK_TCK")


def kind(argv: Sequence[str]) -> str | None:
    """What is counted of a process, by its command line."""
    program = Path((argv[0].split() or [""])[0]).name
    if "kafka.Kafka" in argv:
        return "brokers"
    if _GATEWAY in argv:
        return "agent JVMs" if any("/runs/" in part for part in argv if "java.io.tmpdir" in part) else "Spark sessions"
    if argv[1:3] == ["manage.py", "up"]:
        return "stacks"
    if program in {"chromium", "chrome"} and not any(part.startswith("--type=") for part in argv):
        return "Chromium"
    if program == "postgres" and argv[1:2] == ["-D"]:
        return "PostgreSQL"
    return "Redis" if program == "redis-server" else None


@dataclass
class Process:
    """A process that belongs to the tests. `cpu`: its seconds and those of children that it has waited for."""

    pid: int
    parent: int
    cpu: float
    argv: list[str]
    settled: bool = False


class Sampler:
    """Everything that this process started: by descent, by the mark in its environment, or, where a run cleaned that
    and left its parents, by a command line that names the directory `tmp` of the tests."""

    def __init__(self, mark: str, tmp: str, proc: Path = Path("/proc")) -> None:
        self._mark, self._tmp = f"{MARK}={mark}".encode(), tmp.encode()
        self._proc, self._self = proc, os.getpid()
        self._seen: set[int] = set()
        self._owned: dict[int, Process] = {}
        self._lost = 0.0

    def sample(self) -> tuple[Counter[str], float]:
        """Processes that were found since the last call, by kind, and the CPU seconds of all processes so far."""
        there = set(self._pids())
        for pid in sorted(there - self._seen):
            self._adopt(pid)
        self._seen = there
        for process in list(self._owned.values()):
            self._refresh(process)
        return self._newly_started(), self._lost + self._cpu()

    def _cpu(self) -> float:
        usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        own = sum(usage.ru_utime + usage.ru_stime for usage in usages)
        return own + sum(process.cpu for process in self._owned.values())

    def _pids(self) -> Iterator[int]:
        return (int(name) for name in os.listdir(self._proc) if name.isdigit())  # noqa: PTH208 - four times a second

    def _adopt(self, pid: int) -> None:
        found = self._look(pid)
        if found and pid != self._self and (self._is_child(found) or self._is_marked(pid)):
            self._owned[pid] = found

    def _is_child(self, process: Process) -> bool:
        return process.parent == self._self or process.parent in self._owned

    def _is_marked(self, pid: int) -> bool:
        return self._mark in self._read(pid, "environ") or self._tmp in self._read(pid, "cmdline")

    def _refresh(self, process: Process) -> None:
        now = self._look(process.pid)
        if now is not None:
            process.parent, process.cpu = now.parent, now.cpu
            process.argv = now.argv or process.argv
            return
        if not self._is_waited_for(process):
            self._lost += process.cpu
        del self._owned[process.pid]

    def _is_waited_for(self, process: Process) -> bool:
        """Whether its seconds are among those of this process' children; the seconds of an orphan are nobody's."""
        parent = process.parent
        while parent in self._owned:
            parent = self._owned[parent].parent
        return parent == self._self

    def _newly_started(self) -> Counter[str]:
        """A process that was forked has its parent's command line until it gets its own."""
        started: Counter[str] = Counter()
        for process in self._owned.values():
            parent = self._owned.get(process.parent)
            if process.settled or not process.argv or (parent and parent.argv == process.argv):
                continue
            if found := kind(process.argv):
                process.settled = True
                started[found] += 1
        return started

    def _look(self, pid: int) -> Process | None:
        fields = self._read(pid, "stat").rpartition(b")")[2].split()
        if not fields:
            return None
        argv = self._read(pid, "cmdline").decode(errors="replace").rstrip("\0").split("\0")
        return Process(pid, int(fields[1]), sum(map(int, fields[11:15])) / _TICKS, argv if argv != [""] else [])

    def _read(self, pid: int, name: str) -> bytes:
        try:
            return (self._proc / str(pid) / name).read_bytes()
        except OSError:
            return b""
