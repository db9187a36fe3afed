"""Runs tests in processes of their own, bounded, and leaves nothing of them behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.chaos import extent, recorder
from tests.chaos.faults import belongs

PROJECT = Path(__file__).resolve().parents[2]
_SETTINGS = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
TEST_WITHIN: float = _SETTINGS["faulthandler_timeout"]
"""Seconds that a test may take, with what it needs; then its session shows where it hangs, and ends."""
ENDS_WITHIN = 120.0
"""Seconds in which the processes of a finished session may end by themselves."""
_CHECK_EVERY = 0.5


@dataclass(frozen=True)
class Outcome:
    """What became of one test; `node`: its id with its parameters. `figures`: what it told the report. One that was
    `skipped` has not passed."""

    node: str
    passed: bool
    seconds: float = 0.0
    figures: dict[str, Any] = field(default_factory=dict)
    why: str = ""
    skipped: bool = False


def run_tests(tests: Sequence[str], seeds: Sequence[int]) -> list[Outcome]:
    """Run tests, in this order, with one session per tier. Where a test hangs, its session is killed, and another one
    goes on behind it. Without seeds: the short selection of their cases."""
    run: list[Outcome] = []
    for tier in dict.fromkeys(_tier(each) for each in tests):
        left = [each for each in tests if _tier(each) == tier]
        while left:
            found = _session(left, seeds)
            run += found
            reached = [at for at, each in enumerate(left) if any(belongs(one.node, each) for one in found)]
            if not reached:
                run += [Outcome(each, False, why="the session ended before it") for each in left]
                break
            left = left[max(reached) + 1 :]
    return run


def _tier(test: str) -> str:
    """Tiers with real processes have sessions of their own."""
    tier = test.split("/")[1]
    return tier if tier in {"agent", "chaos", "e2e"} else "quick"


def _session(tests: Sequence[str], seeds: Sequence[int]) -> list[Outcome]:
    with _own_directory() as directory:
        record = directory / "record.jsonl"
        record.touch()
        environment = {
            **os.environ,
            "TMPDIR": str(directory),
            recorder.VARIABLE: str(record),
        }
        if seeds:
            environment[extent.VARIABLE] = ",".join(map(str, seeds))
        options = ["-q", "--no-header", "-p", recorder.__name__, "-p", "no:cacheprovider"]
        session = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *tests], cwd=PROJECT, env=environment, start_new_session=True
        )
        try:
            hung = not _ended(session, record)
        finally:
            _end(session, directory)
        why = f"not within {TEST_WITHIN:g} s" if hung else "its session ended in the middle of it"
        return outcomes(record, why)


@contextmanager
def _own_directory() -> Iterator[Path]:
    """Below it lies everything that a session makes, and by its name its processes are known. Others may pass through
    it: PostgreSQL runs as another user."""
    directory = Path(tempfile.mkdtemp(prefix="headgate-chaos-"))
    directory.chmod(0o711)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _ended(session: subprocess.Popen[bytes], record: Path) -> bool:
    """Wait for the session's end; False where a test takes too long and the session does not end itself."""
    size, since = -1, time.monotonic()
    while session.poll() is None:
        time.sleep(_CHECK_EVERY)
        if (now := record.stat().st_size) != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > TEST_WITHIN + ENDS_WITHIN:
            return False
    return True


def _end(session: subprocess.Popen[bytes], directory: Path) -> None:
    """End the session's process group, and what left it: all that inherited its temporary directory."""
    if session.poll() is None:
        os.killpg(session.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            session.wait(ENDS_WITHIN)
    kill_those_of(directory)
    session.wait(ENDS_WITHIN)


def kill_those_of(directory: Path) -> None:
    """Kill every other process whose temporary directory is this one."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get("TMPDIR") == str(directory):
                process.kill()


def _lines(record: Path) -> Iterator[dict[str, Any]]:
    for line in record.read_text().splitlines():
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def outcomes(record: Path, lost: str) -> list[Outcome]:
    """What the recorder has written. An error after a test that passed makes it fail, and so does the silence after one
    that was begun: `lost` says why."""
    found: dict[str, Outcome] = {}
    started: list[str] = []
    for line in _lines(record):
        if node := line.pop("finished", None):
            before = found.get(node)
            found[node] = Outcome(node, **line) if before is None or before.passed else before
        else:
            started.append(line["started"])
    return [*found.values(), *(Outcome(node, False, why=lost) for node in started if node not in found)]
