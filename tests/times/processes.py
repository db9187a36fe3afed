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
_LARGE = 256 * 1024
LOOKS = 8
"""At a process' command line, before it is taken for its last: a wrapper script becomes the program soon."""


def kind(argv: Sequence[str]) -> str | None:
    """What is counted of a process, by its command line."""
    if not argv:
        return None
    words = " ".join(argv).split()  # a browser's processes have all of theirs in the first
    program = Path((words or [""])[0]).name
    if "kafka.Kafka" in argv:
        return "brokers"
    if _GATEWAY in argv:
        return "agent JVMs" if any("/runs/" in part for part in argv if "java.io.tmpdir" in part) else "Spark sessions"
    if argv[1:3] == ["manage.py", "up"] or [Path(part).name for part in argv[1:3]] == ["headgate", "demo"]:
        return "stacks"
    if program in {"chromium", "chrome"} and not any(word.startswith("--type=") for word in words):
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
    looks: int = LOOKS


class Sampler:
    """Everything that this process started: by descent, by the mark in its environment, or, where a run cleaned that
    and left its parents, by a command line that names the directory `tmp` of the tests."""

    def __init__(self, mark: str, tmp: str, proc: str = "/proc") -> None:
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
        found = self._check(pid)
        if found and pid != self._self and (self._is_child(found) or self._is_marked(pid)):
            self._owned[pid] = found

    def _is_child(self, process: Process) -> bool:
        return process.parent == self._self or process.parent in self._owned

    def _is_marked(self, pid: int) -> bool:
        return self._mark in self._read(pid, "environ") or self._tmp in self._read(pid, "cmdline")

    def _refresh(self, process: Process) -> None:
        now = self._check(process.pid)
        if now is not None:
            process.parent, process.cpu = now.parent, now.cpu
            return
        if not self._is_waited_for(process):
            self._lost += process.cpu
        del self._owned[process.pid]

    def _is_waited_for(self, process: Process) -> bool:
        """Whether its seconds are among those of its parent now; the seconds of an orphan are in no other process'."""
        return process.parent == self._self or process.parent in self._owned

    def _newly_started(self) -> Counter[str]:
        """A process that was forked has its parent's command line until it gets its own."""
        started: Counter[str] = Counter()
        for process in self._owned.values():
            if not process.looks:
                continue
            process.looks -= 1
            process.argv = self._command_line(process.pid) or process.argv
            parent = self._owned.get(process.parent)
            if (not parent or parent.argv != process.argv) and (found := kind(process.argv)):
                process.looks = 0
                started[found] += 1
        return started

    def _check(self, pid: int) -> Process | None:
        fields = self._read(pid, "stat").rpartition(b")")[2].split()
        if not fields:
            return None
        return Process(pid, int(fields[1]), sum(map(int, fields[11:15])) / _TICKS, [])

    def _command_line(self, pid: int) -> list[str]:
        text = self._read(pid, "cmdline").decode(errors="replace").rstrip("\0")
        return text.split("\0") if text else []

    def _read(self, pid: int, name: str) -> bytes:
        """The file as far as one read gives it, which is all of a line of numbers and of most command lines."""
        try:
            descriptor = os.open(f"{self._proc}/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return os.read(descriptor, _LARGE)
        except OSError:
            return b""
        finally:
            os.close(descriptor)
