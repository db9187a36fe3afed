"""A plan of commands, run side by side where none needs the other. The output of each is printed whole when it ends."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from controlplane.install.tools.paths import PROJECT

# One more than there are processors: there is always a step that waits for a disk or a download.
JOBS = (os.cpu_count() or 1) + 1


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
    with ThreadPoolExecutor(jobs) as pool:
        while True:
            for step in [step for step in waiting if passed.issuperset(step.needs)][: jobs - len(running)]:
                waiting.remove(step)
                running[pool.submit(_execute, step)] = step
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                del running[future]
                result = future.result()
                passed.update([result.name] if result.code == 0 else [])
                failed += [result] if result.code else []
                _print(result)
                ended(result)
    _print_failures(failed, waiting)
    return failed[0].code if failed else 0


def _execute(step: Step) -> Ended:
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            step.command, cwd=PROJECT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace").rstrip()
    wall, cpu = time.monotonic() - started, usage.ru_utime + usage.ru_stime
    return Ended(step.name, process.returncode, text, wall, cpu)


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
