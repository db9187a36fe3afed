"""A plan of commands, run side by side where none needs the other. The output of each is printed whole when it ends.

Each has a process group of its own. Ctrl-C reaches the plan alone, which passes it on once and waits for their ends: a
second one would disturb them while they clean up.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass

# One more than there are processors: there is always a step that waits for a disk or a download.
JOBS = (os.cpu_count() or 1) + 1
PATIENCE = 15.0  # seconds without a word


@dataclass(frozen=True)
class Step:
    """A command under a name, and the names of the steps that must have passed before it."""

    name: str
    command: Sequence[str]
    needs: Sequence[str] = ()


@dataclass(frozen=True)
class Ended:
    """How a step ended: exit code, everything that it printed, wall and CPU seconds with those of its children."""

    name: str
    code: int
    output: str
    wall: float
    cpu: float


def chosen(plan: Iterable[Step], names: Collection[str]) -> list[Step]:
    """The named steps of a plan and everything that they need, in the plan's order."""
    steps = {step.name: step for step in plan}
    found: set[str] = set()
    missing = list(names)
    while missing:
        name = missing.pop()
        found.add(name)
        missing += [need for need in steps[name].needs if need not in found]
    return [step for name, step in steps.items() if name in found]


def run(plan: Iterable[Step], *, jobs: int = JOBS, ended: Callable[[Ended], None] = lambda _: None) -> int:
    """Run every step, `jobs` at a time. A failure stops only what needs it; its output comes last.

    Returns the exit code of the first step that failed, or 0.
    """
    waiting = list(plan)
    running: dict[Future[Ended], Step] = {}
    passed: set[str] = set()
    failed: list[Ended] = []
    started = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool, _interrupted_together() as groups:
        while True:
            for step in [step for step in waiting if passed.issuperset(step.needs)][: jobs - len(running)]:
                waiting.remove(step)
                running[pool.submit(_execute, step, groups)] = step
            if not running:
                break
            done = wait(running, timeout=PATIENCE, return_when=FIRST_COMPLETED).done
            if not done:
                _print_running(running.values(), time.monotonic() - started)
            for future in done:
                del running[future]
                result = future.result()
                passed.update([result.name] if result.code == 0 else [])
                failed += [result] if result.code else []
                _print(result)
                ended(result)
    _print_failures(failed, waiting)
    return failed[0].code if failed else 0


class _Groups:
    """The process groups that run. After `interrupt`, one that is added is interrupted at once: its process may have
    started before its number was known here."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pids: set[int] = set()
        self._interrupted = False

    def add(self, pid: int) -> None:
        with self._lock:
            self._pids.add(pid)
            if self._interrupted:
                _interrupt(pid)

    def remove(self, pid: int) -> None:
        with self._lock:
            self._pids.remove(pid)

    def interrupt(self) -> None:
        with self._lock:
            self._interrupted = True
            for pid in self._pids:
                _interrupt(pid)


def _interrupt(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGINT)


@contextmanager
def _interrupted_together() -> Iterator[_Groups]:
    """The process groups that run: an exception in the block interrupts them."""
    groups = _Groups()
    try:
        yield groups
    except BaseException:
        groups.interrupt()
        raise


def _execute(step: Step, groups: _Groups) -> Ended:
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            step.command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, process_group=0
        )
        groups.add(process.pid)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        groups.remove(process.pid)  # before it is reaped, while its number can belong to no other
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace").rstrip()
    wall, cpu = time.monotonic() - started, usage.ru_utime + usage.ru_stime
    return Ended(step.name, process.returncode, text, wall, cpu)


def _print_running(steps: Iterable[Step], seconds: float) -> None:
    print(f"  still running       {', '.join(step.name for step in steps)}  ({seconds:.0f} s)", flush=True)


def _print(result: Ended) -> None:
    """On one line where what the step printed fits there."""
    outcome, more = ("passed", result.output) if "\n" in result.output else (result.output or "passed", "")
    if result.code:
        outcome, more = f"failed with exit code {result.code}", ""
    print(f"  {result.name:<20}{outcome}  ({result.wall:.1f} s)", flush=True)
    if more:
        print(more, flush=True)


def _print_failures(failed: Sequence[Ended], never_run: Iterable[Step]) -> None:
    for step in never_run:
        print(f"  {step.name:<20}not run", flush=True)
    for result in reversed(failed):
        print(f"\n{result.name}:\n{result.output}", flush=True)
