"""What is recorded: one line of JSON for each step of a run, and for each module of tests in each worker of pytest."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

VARIABLE = "TEST_TIMES"
"""Names the directory of the records; without it nothing is recorded."""


@dataclass
class Module:
    """Tests of one module in one worker: seconds are those of the tests, set-up of fixtures included, `cpu` those of
    the worker and all that it started; `started` counts processes by kind."""

    path: str
    session: str
    tests: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    started: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """A step of the run; or a session of pytest, named for what it ran, without the CPU seconds of its modules."""

    name: str
    wall: float
    cpu: float


def directory() -> Path | None:
    return Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None


def write(to: Path, *records: Module | Step) -> None:
    """Append to the file of this process."""
    to.mkdir(parents=True, exist_ok=True)
    with (to / f"{os.getpid()}.jsonl").open("a") as file:
        file.writelines(json.dumps({"type": type(each).__name__, **asdict(each)}) + "\n" for each in records)


def read(directory: Path) -> Iterator[Module | Step]:
    """Everything, in the order in which the processes began to write."""
    for file in sorted(directory.glob("*.jsonl"), key=lambda file: file.stat().st_mtime):
        for line in file.read_text().splitlines():
            plain = json.loads(line)
            yield {"Module": Module, "Step": Step}[plain.pop("type")](**plain)
